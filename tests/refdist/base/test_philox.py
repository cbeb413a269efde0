import jax
import jax.numpy as jnp
import numpy as np
import pytest

from refdist._core.base import philox

# The published vectors of Philox 4x32 of ten rounds: counter, key, and the block.
VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
FLOAT = np.dtype(np.float32)


@pytest.mark.parametrize(("counter", "key", "block"), VECTORS)
def test_blocks_are_the_published_ones(counter, key, block):
    given = np.array([*key, *counter], np.uint32)

    assert list(block) == philox.encrypted(tuple(given), np.zeros((), np.uint32)).tolist()
    assert list(block) == jax.jit(lambda words: philox.words(tuple(words), 4))(jnp.asarray(given)).tolist()


@pytest.mark.parametrize("draw", [philox.uniform, philox.normal, philox.truncated_normal])
def test_a_program_has_the_same_numbers(draw):
    given = philox.stream(5, 2**64 - 2, 2**64 - 1)  # a counter that wraps around
    traced = jax.jit(lambda words: draw(tuple(words), 9, FLOAT))(jnp.asarray(given))

    assert np.allclose(draw(given, 9, FLOAT), traced, atol=1e-6)


@pytest.mark.parametrize("times", [0, 1, 2**31, 2**32 - 1])
def test_skipping_adds_to_the_counter(times):
    given = philox.stream(1, 2**64 - 5, 7)
    words = [int(word) for word in philox.skipped(given, np.uint32(times), 3)]
    total = 2**64 - 5 + (7 << 64) + 3 * times

    assert [1, 0, *(total >> 32 * place & 0xFFFFFFFF for place in range(4))] == words


def test_truncated_numbers_lie_within_two_deviations():
    drawn = philox.truncated_normal(philox.stream(1, 2), 20_000, FLOAT)

    assert 1.9 < abs(drawn).max() < 2
    assert abs(drawn.mean()) < 0.02


def test_a_permutation_has_every_number_once():
    assert list(range(50)) == sorted(philox.permutation(philox.stream(1, 2), 50).tolist())
    assert [] == philox.permutation(philox.stream(1, 2), 0).tolist()

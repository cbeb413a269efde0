"""Branches and loops of programs, made from pieces that were written once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from refdist._core.compilers.control_flow import choose, choose_among, number_of_steps, repeat, stirred, strong, written


def test_a_piece_is_written_once_and_reads_what_is_around_it():
    calls = []

    def program(x):
        piece = written(lambda y: calls.append(1) or [x + y], [x])
        return piece(x)[0] + piece(2 * x)[0]

    assert 10.0 == float(jax.jit(program)(2.0))
    assert [1] == calls


def test_a_piece_knows_which_inputs_matter():
    def program(x):
        piece = written(lambda a, b, c: [a * 2, c], [x, x, x])
        assert [True, False, True] == [piece.reads(place) for place in range(3)]
        return x

    jax.jit(program)(1.0)


def test_values_keep_their_dtype():
    assert not strong(jnp.asarray(1.0)).weak_type
    assert jnp.int16 == strong(np.int16(3)).dtype


def test_one_of_two_and_one_of_several():
    def program(x):
        two = choose(x > 0, lambda: [x, x + 1], lambda: [-x, x])
        return two, choose_among(x.astype(int), [lambda: [x * 0], lambda: [x * 10], lambda: [x * 20]])

    assert [[2.0, 3.0], [40.0]] == [[float(one) for one in made] for made in jax.jit(program)(2.0)]
    assert [[1.0, -1.0], [0.0]] == [[float(one) for one in made] for made in jax.jit(program)(-1.0)]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("tested", [True, False])
@pytest.mark.parametrize("count", [0, 1, 6])
def test_a_body_is_repeated(known, tested, count):
    rows = jnp.arange(6.0)

    def program(count):
        return repeat(
            lambda turn, own, now: [now[0] * 2 + own[0] + turn],
            [jnp.float32(1)],
            count=count,
            test=(lambda now: now[0] < 20) if tested else None,
            rows=[rows[:count] if known else rows],
        )

    expected = 1.0
    for turn in range(count):
        if not tested or expected < 20:
            expected = expected * 2 + 2 * turn

    assert expected == float((program(count) if known else jax.jit(program)(count))[0])


@pytest.mark.parametrize(
    "bounds", [(0, 5, 1), (0, 0, 1), (5, 0, 1), (7, 0, -2), (0, 7, -2), (2, 11, 3), (0.0, 2.0, 0.5), (0.0, 1.0, 0.3)]
)
def test_the_length_of_a_range(bounds):
    assert len(np.arange(*bounds)) == int(number_of_steps(*bounds))


def test_random_numbers_of_turns_have_sources_of_their_own():
    entropy = np.array([1, 2, 3], np.uint32)
    sources = [np.asarray(stirred(entropy, np.int32(turn), 5)).tolist() for turn in range(5)]

    assert [[1, 2, runs] for runs in range(15, 20)] == sources
    assert (3 << 16) + 2 == stirred(entropy, np.int32(2), None)[2]


def test_what_a_body_makes_beyond_the_state_is_stacked():
    last, stacked = repeat(
        lambda turn, own, now: [now[0] + 1, own[0] * now[0]], [jnp.float32(1)], count=3, rows=[jnp.arange(3.0)]
    )

    assert 4.0 == float(last)
    assert [0.0, 2.0, 6.0] == stacked.tolist()


def test_another_array_can_take_the_place_of_one_that_a_piece_has_found():
    around = jnp.arange(3.0)

    def program(x):
        piece = written(lambda y: [around + y], [x])
        return piece(x)[0], piece(x, instead={id(around): around * 10})[0]

    assert [[1.0, 2.0, 3.0], [1.0, 11.0, 21.0]] == [one.tolist() for one in jax.jit(program)(1.0)]

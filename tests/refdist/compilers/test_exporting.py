import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from refdist._core.compilers import exporting
from refdist._core.compilers.meshes import AXIS

F32 = np.dtype("float32")


def test_a_program_runs_again_from_its_bytes_for_every_size():
    (rows,) = exporting.shapes_of([(None, 3)], shared=False)
    program = exporting.imported(exporting.exported(lambda x: [x.sum(0)], [(rows, F32)], wide=False), wide=False)

    assert [[2.0] * 3, [5.0] * 3] == [program(np.ones((count, 3), F32))[0].tolist() for count in (2, 5)]


@pytest.mark.parametrize("shared", [True, False])
def test_sizes_of_one_dimension_are_one_size_only_if_they_are_shared(shared):
    one, other, known = exporting.shapes_of([(None,), (None, 2), ()], shared=shared)

    assert shared is (one[0] is other[0] or str(one[0]) == str(other[0]))
    assert (2, ()) == (other[1], known)


def test_an_error_about_sizes_is_told_from_others():
    (sizes,) = exporting.shapes_of([(None,)], shared=False)
    with pytest.raises(Exception, match="ymbolic") as caught:
        int(sizes[0])

    assert exporting.is_about_sizes(caught.value)
    assert not exporting.is_about_sizes(ValueError("odd"))


def test_replicas_become_one_program_in_which_the_first_has_the_sum():
    def one(total, each):
        return [lax.psum(total, AXIS), lax.psum(each, AXIS) / 3, lax.axis_index(AXIS) >= 0]

    program = exporting.of_all_replicas(one, 3, [True, False], [None, None, 0])
    total, mean, flags = program(jnp.float32(7.0), jnp.float32(2.0))

    assert (7.0, 2.0, [True] * 3) == (float(total), float(mean), flags.tolist())
    assert one is exporting.of_all_replicas(one, 1, [True, False], [None, None, 0])


def test_64_bits_stay_64_bits():
    data = exporting.exported(lambda x: [x + 1], [((), np.dtype("int64"))], wide=True)

    assert 2**40 + 1 == int(exporting.imported(data, wide=True)(np.int64(2**40))[0])

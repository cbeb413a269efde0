"""The compiler of real devices: replicas are spread over a mesh."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.base.enums import ReduceOp

FLOAT = np.dtype(np.float32)


@pytest.fixture(params=[1, 2])
def compiler(request):
    with tf.using("jax", cpus=8):
        yield tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(request.param)]).extended.compiler()


@pytest.mark.parametrize("shape", [(), (3,), (2, 0)], ids=["scalar", "vector", "empty"])
def test_what_each_replica_has_goes_in_and_comes_out_in_its_shape(compiler, shape):
    tensors = [np.full(shape, index + 1, np.float32) for index in range(compiler.count)]
    several = compiler.count > 1
    program = compiler.write(lambda x: ([x * 2], [several]), [(shape, FLOAT)], [several])
    (output,) = compiler.compile(program)(compiler.lift_each(tensors))
    lowered = compiler.lower_each(output, (shape, FLOAT)) if several else [compiler.lower(output)]

    assert [(tensor * 2).tolist() for tensor in tensors] == [np.asarray(one).tolist() for one in lowered]


def test_what_is_combined_is_one_for_all(compiler):
    several = compiler.count > 1
    body = lambda x: ([compiler.combine(ReduceOp.SUM, x)], [False])  # noqa: E731
    program = compiler.write(body, [((), FLOAT)], [several])
    (output,) = compiler.compile(program)(compiler.lift_each([np.float32(2)] * compiler.count))

    assert 2 * compiler.count == float(compiler.lower(output))


def test_numbers_that_jax_would_cut_are_refused(compiler):
    compiler.require_room(np.float64(1))
    with pytest.raises(OverflowError, match="float32"):
        compiler.require_room(np.float64(1e300))
    compiler.require_room(np.complex128(1 + 2j))
    with pytest.raises(OverflowError, match=r"complex128 goes from 0.0 to 1e\+300; expected what fits into complex64"):
        compiler.require_room(np.complex128(1e300j))


def test_a_sum_of_complex_numbers_that_the_compiler_knows_does_not_end_the_process(compiler):
    several, dtype = compiler.count > 1, np.dtype("complex64")
    body = lambda x: ([compiler.combine(ReduceOp.SUM, x.sum(axis=1) + 1j)], [False])  # noqa: E731
    program = compiler.write(body, [((2, 0), dtype)], [several])
    (output,) = compiler.compile(program)(compiler.lift_each([np.zeros((2, 0), dtype)] * compiler.count))

    assert [1j * compiler.count] * 2 == np.asarray(compiler.lower(output)).tolist()

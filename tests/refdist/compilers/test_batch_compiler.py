"""The compiler of virtual devices: replicas are rows of a batch."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.base.enums import ReduceOp
from refdist._core.seam.draft import NeedsWide

FLOAT = np.dtype(np.float32)


@pytest.fixture
def compiler():
    with tf.using("simulator", gpus=4):
        yield tf.distribute.MirroredStrategy().extended.compiler()


def run(compiler, body, inputs):
    """Write, compile and run a program; inputs of the shape (4, ...) are one for each replica."""
    arrays = [np.asarray(one, np.float32) for one in inputs]
    own = [array.shape[:1] == (4,) for array in arrays]
    specs = [(array.shape[1:] if mine else array.shape, FLOAT) for array, mine in zip(arrays, own, strict=True)]
    program = compiler.write(body, specs, own)
    outputs = compiler.compile(program)(*[arrays[index] for index in program.used])
    return program, [np.asarray(output).tolist() for output in outputs]


def test_each_replica_has_a_row_and_what_is_combined_is_one_for_all(compiler):
    def body(x):
        return [x + compiler.replica_number(), compiler.combine(ReduceOp.SUM, x)], [True, False]

    _, outputs = run(compiler, body, [[1, 2, 3, 4]])

    assert [[1, 3, 5, 7], 10] == outputs


def test_the_mean_of_all_replicas_is_the_sum_divided_by_their_number(compiler):
    _, outputs = run(compiler, lambda x: ([compiler.combine(ReduceOp.MEAN, x)], [False]), [[1, 2, 3, 4]])

    assert [2.5] == outputs


def test_only_the_inputs_that_matter_are_taken(compiler):
    program, outputs = run(compiler, lambda x, y: ([y * 2], [False]), [1, 2])

    assert (1,) == program.used
    assert [4] == outputs


def test_a_sum_of_what_is_equal_on_all_replicas_needs_no_exchange(compiler):
    def body(x):
        return [compiler.combine(ReduceOp.SUM, x)], [False]

    program, outputs = run(compiler, body, [3])

    assert frozenset({0}) == program.needless_sums
    assert [12] == outputs
    assert frozenset() == run(compiler, body, [[1, 2, 3, 4]])[0].needless_sums


@pytest.mark.parametrize(("rows", "different"), [([5, 5, 5, 5], 0), ([5, 5, 7, 6], 2)])
def test_what_should_be_equal_is_compared_and_that_of_the_first_replica_is_returned(compiler, rows, different):
    program, outputs = run(compiler, lambda x: ([x], [False]), [rows])

    assert (0,) == program.compared
    assert [5, [different]] == outputs


def test_products_of_matrices_are_written_out_with_the_same_result(compiler):
    x = np.arange(16, dtype=np.float32).reshape(4, 2, 2)

    _, (products, total, different) = run(
        compiler, lambda x: ([x @ x, compiler.combine(ReduceOp.SUM, x), x], [True, False]), [x]
    )

    assert (x @ x).tolist() == products
    assert x.sum(0).tolist() == total
    assert [1] == different


def test_values_come_back_from_the_compiled_form_on_their_devices(compiler):
    tensors = [np.full((2,), index, np.float64) for index in range(4)]
    array = compiler.lift_each(tensors)
    lowered = compiler.lower_each(array, ((2,), np.float64))

    assert (4, 2) == array.shape
    assert [[0, 0], [1, 1], [2, 2], [3, 3]] == [tensor.tolist() for tensor in lowered]
    assert list(compiler.devices) == [tensor.device for tensor in lowered]


@pytest.mark.parametrize(("wide", "narrow"), [(np.float64(1), np.float32(1)), (np.complex128(1), np.complex64(1))])
def test_numbers_of_64_bits_ask_for_room_where_jax_would_cut_them(compiler, wide, narrow):
    compiler.require_room(narrow)
    with pytest.raises(NeedsWide):
        compiler.require_room(wide)
    with compiler.widened(True):
        compiler.require_room(wide)

"""A step is written as a program twice, and nothing runs."""

import pytest

import refdist as tf
from refdist._core.testing.lint_trace import traced


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def shapes(program):
    return [var.aval.shape for var in program.written.jaxpr.jaxpr.invars if var.aval.shape]


def test_the_second_program_is_for_twice_the_rows(strategy):
    found = traced(tf.reduce_sum, strategy, (tf.TensorSpec([4, 3]),), {})

    assert (4,) == found.sizes
    assert (4, 3) in shapes(found.program)
    assert (8, 3) in shapes(found.doubled)


def test_a_step_for_one_size_has_no_second_program(strategy):
    found = traced(lambda x: tf.reshape(x, (2, 2)), strategy, (tf.TensorSpec([4]),), {})

    assert found.program is not None
    assert found.doubled is None


def test_batches_of_an_iterator_are_doubled_and_given_back(strategy):
    dataset = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0, 4.0]).batch(4)
    iterator = iter(strategy.experimental_distribute_dataset(dataset))

    @tf.function
    def main(batches):
        return strategy.reduce("SUM", strategy.run(tf.reduce_sum, (next(batches),)), axis=None)

    found = traced(main, None, (iterator,), {})

    assert (2,) == found.sizes
    assert (4,) in shapes(found.doubled)
    assert main(iterator).numpy() == 10.0


def test_values_of_different_sizes_are_noted(strategy):
    given = strategy.experimental_distribute_values_from_function(
        lambda ctx: tf.ones((2 - ctx.replica_id_in_sync_group,))
    )
    found = traced(lambda x: strategy.run(tf.reduce_sum, (x,)), None, (given,), {})

    assert (2, 1) == found.uneven
    assert (2,) == found.sizes

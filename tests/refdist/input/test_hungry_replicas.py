"""Tests of what is told of replicas that get no rows."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from tests.lines import line_of
from tests.zoo.ways import mirrored


def _steps(strategy, rows, batch, fn):
    data = tf.data.Dataset.from_tensor_slices(np.arange(rows, dtype=np.float32)).batch(batch)
    return [strategy.run(fn, (x,)) for x in strategy.experimental_distribute_dataset(data)]  # a loop


def test_a_replica_that_never_gets_rows_is_told_at_the_end_of_the_loop():
    with pytest.warns(RuntimeWarning, match=r"Replica 3 got no rows in any of the 2 steps") as warned:
        _steps(mirrored(4), 12, 6, tf.reduce_sum)

    assert 1 == len(warned)
    assert f"test_hungry_replicas.py:{line_of(__file__, '# a loop')}" in str(warned[0].message)


def test_an_endless_loop_is_judged_after_some_steps():
    strategy = mirrored(4)
    data = tf.data.Dataset.range(6).repeat().batch(6)
    steps = iter(strategy.experimental_distribute_dataset(data))

    for _ in range(15):
        next(steps)
    with pytest.warns(RuntimeWarning, match="any of the 16 steps"):
        next(steps)


@pytest.mark.parametrize(("rows", "batch"), [(8, 4), (9, 4), (1, 4), (5, 4)])
def test_a_last_batch_that_is_smaller_is_no_matter(rows, batch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _steps(mirrored(4), rows, batch, tf.reduce_sum)


def test_an_error_names_the_batch_of_which_the_replica_got_nothing():
    with pytest.raises(IndexError) as raised:
        _steps(mirrored(2), 5, 4, lambda x: x[0])

    assert (
        "raised in replica 1 of 2, on GPU:1, which got an empty piece of batch 2 of its loop (of 1 rows)"
        == (raised.value.__notes__[0])
    )


def _steps_of_a_function(strategy, rows, batch, fn):
    data = tf.data.Dataset.from_tensor_slices(np.arange(rows, dtype=np.float32)).batch(batch)
    batches = iter(strategy.experimental_distribute_dataset(data))

    @tf.function
    def step():
        return strategy.run(fn, (next(batches),))

    return [step() for _ in range(-(-rows // batch))]


WAYS = pytest.mark.parametrize("steps", [_steps, _steps_of_a_function], ids=["eager", "function"])
UNFED = r"Replica 1 of 2, which got an empty piece of batch 2 of the loop \(of 1 rows\), "


@WAYS
def test_the_mean_of_nothing_names_replica_batch_and_line(steps):
    with pytest.warns(RuntimeWarning, match=f"{UNFED}returned") as warned:
        steps(mirrored(2), 5, 4, lambda x: tf.reduce_mean(x))  # of nothing

    assert 1 == len(warned)
    assert f"test_hungry_replicas.py:{line_of(__file__, '# of nothing')}" in str(warned[0].message)


SPOILED = {
    "jnp.mean": lambda x: jnp.mean(jnp.asarray(x)),
    "jnp.var": lambda x: jnp.var(jnp.asarray(x)),
    "a sum divided by the own number of rows": lambda x: jnp.asarray(x).sum() / x.shape[0],
}


@WAYS
@pytest.mark.parametrize("loss", SPOILED.values(), ids=SPOILED)
def test_what_is_not_a_number_is_told_where_it_leaves_a_replica_without_rows(steps, loss):
    with pytest.warns(RuntimeWarning, match=f"{UNFED}returned"):
        steps(mirrored(2), 5, 4, loss)


@WAYS
def test_what_is_not_a_number_is_told_where_replicas_meet(steps):
    def step(x):
        tf.distribute.get_replica_context().all_reduce("SUM", tf.reduce_max(x))

    with pytest.warns(RuntimeWarning, match=rf"{UNFED}brought to all_reduce\(SUM\)"):
        steps(mirrored(2), 5, 4, step)


def test_what_is_not_a_number_is_told_where_it_would_be_written():
    strategy = mirrored(2)
    with strategy.scope():
        total = tf.Variable(0.0, name="total", aggregation=tf.VariableAggregation.MEAN)
    with pytest.warns(RuntimeWarning, match=f"{UNFED}brought to assign_add\\(\\) of 'total:0'"):
        _steps(strategy, 5, 4, lambda x: total.assign_add(jnp.mean(jnp.asarray(x))) and None)


HANDLED = {
    "replaced": lambda x: tf.where(tf.math.is_nan(mean := tf.reduce_mean(x)), 0.0, mean),
    "replaced with jnp": lambda x: jnp.nan_to_num(jnp.mean(jnp.asarray(x))),
    "not taken": lambda x: tf.reduce_mean(x) if x.shape[0] else tf.constant(0.0),
    "the largest of nothing": lambda x: tf.reduce_max(x),
    "nan everywhere": lambda x: tf.reduce_sum(x) + np.float32("nan"),
}


@WAYS
@pytest.mark.parametrize("loss", HANDLED.values(), ids=HANDLED)
def test_replicas_that_deal_with_empty_pieces_are_left_in_peace(steps, loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps(mirrored(2), 5, 4, loss)


def test_an_error_in_a_full_batch_says_nothing_of_pieces():
    def fails(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as raised:
        _steps(mirrored(2), 4, 4, fails)

    assert "raised in replica 0 of 2, on GPU:0" == raised.value.__notes__[0]

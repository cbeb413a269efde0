"""Tests of what is told of replicas that get no rows."""

import warnings

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


def test_the_mean_of_nothing_names_replica_batch_and_line():
    with pytest.warns(RuntimeWarning, match=r"replica 1 of 2, which got an empty piece of batch 2") as warned:
        _steps(mirrored(2), 5, 4, lambda x: tf.reduce_mean(x))  # of nothing

    assert f"test_hungry_replicas.py:{line_of(__file__, '# of nothing')}" in str(warned[0].message)


def test_an_error_in_a_full_batch_says_nothing_of_pieces():
    def fails(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as raised:
        _steps(mirrored(2), 4, 4, fails)

    assert "raised in replica 0 of 2, on GPU:0" == raised.value.__notes__[0]

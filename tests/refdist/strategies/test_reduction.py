"""Reducing along axes of each component too: every example counts once, in the dtype of the pages, in every mode."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from tests.generators import DTYPES

ctx = tf.distribute.get_replica_context
MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


def host(count, backend="host"):
    with tf.using(backend, gpus=count):
        return tf.distribute.MirroredStrategy()


def per_replica(strategy, arrays):
    return strategy.run(lambda: tf.constant(arrays[ctx().replica_id_in_sync_group]))


@MODES
@pytest.mark.parametrize("count", [1, 3, 7])
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), [1, 0], (-2,)])
def test_sums_and_means_are_those_of_the_whole_batch(names, any_backend, mode, count, axis):
    strategy = tf.distribute.MirroredStrategy(names[:count])
    arrays = [np.arange(6, dtype=np.float32).reshape(2, 3) + index for index in range(count)]
    value = per_replica(strategy, arrays)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    over = (0, *(one % 2 + 1 for one in axes))

    for op, whole in (("SUM", np.sum(arrays, axis=over)), ("MEAN", np.mean(arrays, axis=over))):
        result = mode(lambda x, op=op: strategy.reduce(op, x, axis=axis))(value)
        np.testing.assert_allclose(whole, np.asarray(result), rtol=1e-6)
        assert np.float32 == result.dtype


@given(
    sizes=generators.lists(generators.integers(0, 4), min_size=1, max_size=7),
    dtype=generators.sampled_from(DTYPES),
)
@settings(max_examples=60)
def test_a_mean_divides_by_the_number_of_examples_that_there_are(sizes, dtype):
    strategy = host(len(sizes))
    arrays = [np.full((size, 2), index % 3, dtype) for index, size in enumerate(sizes)]
    mean = np.asarray(strategy.reduce("MEAN", per_replica(strategy, arrays), axis=0))
    whole = np.concatenate(arrays).astype(np.float64)

    assert (np.dtype(np.float64) if dtype.kind == "i" else dtype) == mean.dtype
    if len(whole):
        np.testing.assert_allclose(
            whole.mean(axis=0), mean.astype(np.float64), rtol=1e-2 if dtype.itemsize == 2 else 1e-6
        )
    else:
        assert np.isnan(mean.astype(np.float64)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 3])
def test_a_sum_keeps_the_dtype(dtype, count):
    strategy = host(count)
    total = strategy.reduce("SUM", per_replica(strategy, [np.ones((2, 2), dtype)] * count), axis=0)

    assert (dtype, [2.0 * count] * 2) == (total.dtype, np.asarray(total, np.float64).tolist())


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_narrow_integers_are_not_widened_by_a_sum(dtype):
    strategy = host(2)

    assert dtype == strategy.reduce("SUM", per_replica(strategy, [np.ones(2, dtype)] * 2), axis=0).dtype


def test_nothing_along_an_axis_sums_to_zero():
    strategy = host(3)
    value = per_replica(strategy, [np.zeros((0, 2), np.float32)] * 3)

    assert [0.0, 0.0] == strategy.reduce("SUM", value, axis=0).tolist()


def test_a_mean_over_a_dimension_of_no_elements_is_not_a_number_and_no_warning():
    strategy = host(2)
    value = per_replica(strategy, [np.zeros((2, 0), np.float32)] * 2)

    assert np.isnan(float(strategy.reduce("MEAN", value, axis=(0, 1))))


@pytest.mark.parametrize("op", ["SUM", "MEAN"])
def test_nests_are_reduced_leaf_by_leaf(op):
    strategy = host(2)
    value = strategy.run(lambda: {"a": tf.constant([1.0, 3.0]), "b": [tf.constant([[2.0]])]})
    result = strategy.reduce(op, value, axis=0)

    expected = (8.0, [4.0]) if op == "SUM" else (2.0, [2.0])
    assert expected == (float(result["a"]), result["b"][0].tolist())


@pytest.mark.parametrize(
    ("axis", "shape", "message"),
    [
        (0, (), "expected None, because a scalar has no dimensions"),
        (2, (2, 2), "expected None, or dimensions from -2 to 1"),
        (-3, (2, 2), "expected None, or dimensions from -2 to 1"),
        ((0, 2), (2, 2), r"axis=\(0, 2\)[\s\S]*from -2 to 1"),
        ("0", (2,), "axis='0'"),
        (0.0, (2,), "axis=0.0"),
        (True, (2,), "axis=True"),
        ((0, -1), (2,), "names a dimension twice"),
        ([1, 1], (2, 2), "names a dimension twice"),
    ],
)
@MODES
def test_an_axis_that_is_not_there_is_refused(mode, axis, shape, message):
    strategy = host(2)
    value = per_replica(strategy, [np.zeros(shape, np.float32)] * 2)
    with pytest.raises(ValueError, match=message):
        mode(lambda x: strategy.reduce("SUM", x, axis=axis))(value)


def test_the_replica_whose_value_has_no_such_axis_is_named():
    strategy = host(3)
    value = per_replica(strategy, [np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2)])
    with pytest.raises(ValueError, match=r"shape \(2,\) on replica 2"):
        strategy.reduce("SUM", value, axis=1)


def test_values_of_another_rank_are_refused_where_all_have_the_axis():
    strategy = host(3)
    value = per_replica(strategy, [np.zeros((2, 2)), np.zeros(2), np.zeros((2, 2))])
    with pytest.raises(ValueError, match=r"shapes \(2, 2\), \(2,\), \(2, 2\); expected the same number of dimensions"):
        strategy.reduce("SUM", value, axis=0)


def test_what_is_left_must_have_one_shape():
    strategy = host(2)
    value = per_replica(strategy, [np.zeros((2, 2)), np.zeros((2, 3))])
    with pytest.raises(ValueError, match="expected one shape"):
        strategy.reduce("SUM", value, axis=0)


@pytest.mark.parametrize("axis", [np.int64(0), np.int32(-1)])
def test_an_axis_may_be_an_integer_of_numpy(axis):
    strategy = host(2)

    assert 4.0 == float(strategy.reduce("SUM", per_replica(strategy, [np.ones(2)] * 2), axis=axis))


@pytest.mark.parametrize("op", ["SUM", "MEAN"])
def test_the_default_strategy_reduces_along_an_axis_without_replicas(op):
    result = tf.distribute.get_strategy().reduce(op, tf.constant([[1, 2], [3, 4]]), axis=1)

    assert ([3, 7] if op == "SUM" else [1.5, 3.5]) == result.tolist()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_many_narrow_numbers_do_not_lose_their_sum(dtype):
    strategy = host(2)
    value = per_replica(strategy, [np.full(512, 1, dtype)] * 2)

    assert (1024.0, dtype) == (
        float(strategy.reduce("SUM", value, axis=0)),
        strategy.reduce("SUM", value, axis=0).dtype,
    )


def test_a_mean_of_large_halves_does_not_overflow_on_its_way():
    strategy = host(2)
    value = per_replica(strategy, [np.full(4, 60000, np.float16)] * 2)

    assert 60000.0 == pytest.approx(float(strategy.reduce("MEAN", value, axis=0)), rel=1e-3)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.strategies.mirrored import mirrored_plan
from tests.generators import replica_counts

ctx = tf.distribute.get_replica_context


def mirrored(count, backend="simulator"):
    with tf.using(backend, gpus=count):
        return tf.distribute.MirroredStrategy()


@given(parts=generators.lists(generators.lists(generators.integers(-50, 50), max_size=6), min_size=1, max_size=7))
def test_reducing_along_the_batch_equals_one_computation_on_the_whole_batch(parts):
    strategy = mirrored(len(parts))
    value = strategy.run(lambda: tf.constant(np.array(parts[ctx().replica_id_in_sync_group], np.float64)))
    whole = np.concatenate([np.array(part, np.float64) for part in parts])

    assert whole.sum() == strategy.reduce("SUM", value, axis=0)
    if whole.size:
        np.testing.assert_allclose(whole.mean(), strategy.reduce("MEAN", value, axis=0), rtol=1e-15)
    else:
        assert np.isnan(strategy.reduce("MEAN", value, axis=0))


@given(
    count=replica_counts(),
    shape=generators.tuples(*[generators.integers(1, 3)] * 3),
    axes=generators.sets(generators.integers(-3, 2), min_size=1),
)
def test_any_axes_can_be_reduced(count, shape, axes):
    chosen = tuple({axis % 3: axis for axis in axes}.values())
    strategy = mirrored(count)
    parts = [np.random.default_rng(index).integers(0, 9, shape).astype(np.float64) for index in range(count)]
    value = strategy.run(lambda: tf.constant(parts[ctx().replica_id_in_sync_group]))

    np.testing.assert_allclose(sum(parts).sum(axis=chosen), strategy.reduce("SUM", value, axis=chosen))
    np.testing.assert_allclose(
        np.mean(parts, axis=(0, *[a % 3 + 1 for a in chosen])), strategy.reduce("MEAN", value, axis=list(chosen))
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_mean_in_sixteen_bits_does_not_overflow_in_its_sum(dtype):
    strategy = mirrored(2)
    value = strategy.run(lambda: tf.ones([1000], getattr(tf, dtype)) * 100)
    result = strategy.reduce("MEAN", value, axis=0)

    assert getattr(tf, dtype) == result.dtype
    assert 100 == float(result)


def test_integers_keep_their_dtype_in_a_sum_and_become_floats_in_a_mean():
    strategy = mirrored(2)
    value = strategy.run(lambda: tf.constant([1, 2]))

    assert tf.int32 == strategy.reduce("SUM", value, axis=0).dtype
    assert (tf.float64, 1.5) == (strategy.reduce("MEAN", value, axis=0).dtype, strategy.reduce("MEAN", value, axis=0))
    assert (tf.float64, [1.0, 2.0]) == (
        strategy.reduce("MEAN", value, axis=None).dtype,
        strategy.reduce("MEAN", value, axis=None).tolist(),
    )


def test_a_nest_is_reduced_leaf_by_leaf(any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    value = strategy.run(lambda: {"a": tf.constant(1.0), "b": (tf.constant([2.0]),)})
    result = strategy.reduce("SUM", value, axis=None)

    assert (2.0, [4.0]) == (float(result["a"]), result["b"][0].tolist())


def test_a_mirrored_variable_is_reduced_copy_by_copy(any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:3])
    with strategy.scope():
        variable = tf.Variable(2.0)

    assert 6.0 == float(strategy.reduce("SUM", variable, axis=None))
    assert 2.0 == float(strategy.reduce("MEAN", variable, axis=None))


@pytest.mark.parametrize("axis", [1, -2, "0", 1.0, True, (0, 1), (0, 0)])
def test_an_axis_that_is_not_there_is_refused(axis):
    strategy = mirrored(2)
    with pytest.raises(ValueError, match="axis"):
        strategy.reduce("SUM", strategy.run(lambda: tf.ones([2])), axis=axis)


@pytest.mark.parametrize("value", [0, 1.0, "tensor"])
def test_a_plain_value_is_refused_on_several_replicas(value):
    strategy = mirrored(2)
    given_value = tf.constant(1.0) if value == "tensor" else value
    with pytest.raises(ValueError, match="expected a per-replica value"):
        strategy.reduce("SUM", given_value, axis=None)


def test_parts_of_different_shape_need_an_axis():
    strategy = mirrored(2)
    value = strategy.run(lambda: tf.ones([2 + ctx().replica_id_in_sync_group]))
    with pytest.raises(ValueError, match=r"shape \(2,\) on replica 0, float32 of shape \(3,\) on replica 1"):
        strategy.reduce("SUM", value, axis=None)


@pytest.mark.parametrize(
    ("choice", "error"), [("PROD", ValueError), (None, TypeError), (object(), TypeError), (3, TypeError)]
)
def test_what_is_no_operator_is_refused(choice, error):
    strategy = mirrored(2)
    with pytest.raises(error, match="reduce_op"):
        strategy.reduce(choice, strategy.run(lambda: tf.constant(1.0)), axis=None)


@given(count=replica_counts(), size=generators.integers(0, 3))
@settings(max_examples=25)
def test_gathering_joins_in_replica_order(count, size):
    strategy = mirrored(count)
    value = strategy.run(lambda: tf.ones([size, 2]) * ctx().replica_id_in_sync_group)

    np.testing.assert_array_equal(
        np.repeat(np.arange(count), size)[:, None] * np.ones((1, 2)), strategy.gather(value, axis=0)
    )


def test_gathering_needs_a_dimension():
    strategy = mirrored(2)
    with pytest.raises(ValueError, match="expected tensors with a dimension"):
        strategy.gather(strategy.run(lambda: tf.constant(1.0)), axis=0)


@pytest.mark.parametrize("count", [1, 3, 7, 1000])
def test_n_replicas_train_like_one(count):
    data = np.random.default_rng(0).standard_normal((count * 2, 3)).astype(np.float64)

    def train(strategy, batches):
        with strategy.scope():
            weights = tf.Variable(np.zeros(3))

        def step():
            x = batches[ctx().replica_id_in_sync_group]
            gradient = 2 * x.T @ (x @ weights - 1)
            weights.assign_sub(0.001 * ctx().all_reduce("sum", gradient))

        for _ in range(3):
            strategy.run(step)
        return weights.numpy()

    alone = train(tf.distribute.OneDeviceStrategy("/cpu:0"), [data])

    np.testing.assert_allclose(alone, train(mirrored(count), np.split(data, count)), rtol=1e-9)


def test_two_strategies_do_not_disturb_each_other():
    first, second = mirrored(2), mirrored(3)
    with first.scope():
        variable = tf.Variable(1.0)
    with pytest.raises(RuntimeError, match="one strategy at a time"):
        second.run(lambda: variable.assign(2.0))
    with second.scope(), pytest.raises(RuntimeError, match="one strategy at a time"):
        variable.assign(2.0)

    assert 1.0 == variable.numpy()
    assert [2.0] * 3 == [float(part) for part in second.run(lambda: variable + 1.0).values]


def test_a_value_of_another_strategy_is_refused():
    with pytest.raises(ValueError, match="2 components met a strategy of 3 replicas"):
        mirrored(3).run(lambda x: x, args=(mirrored(2).run(lambda: tf.constant(1.0)),))


def test_a_scope_inside_the_scope_of_another_strategy_is_refused():
    first, second = mirrored(2), mirrored(2)
    for attempt in (
        second.scope().__enter__,
        lambda: second.run(lambda: 1),
        lambda: second.reduce("SUM", 1, axis=None),
    ):
        with first.scope(), pytest.raises(RuntimeError, match="one strategy at a time"):
            attempt()


def test_cross_replica_methods_are_refused_in_a_replica_by_their_names():
    strategy = mirrored(2)
    for verb, attempt in {
        "scope": lambda: strategy.scope().__enter__(),
        "run": lambda: strategy.run(lambda: 1),
        "reduce": lambda: strategy.reduce("SUM", 1, axis=None),
        "gather": lambda: strategy.gather(1, axis=0),
        "reduce_to": lambda: strategy.extended.reduce_to("SUM", 1, "CPU:0"),
        "update": lambda: strategy.extended.update(tf.Variable(1.0), lambda v: v),
    }.items():
        with pytest.raises(RuntimeError, match=rf"^{verb}\(\) was called in replica 0; expected cross-replica context"):
            strategy.run(attempt)


def test_scopes_left_in_the_wrong_order_are_an_error():
    strategy = mirrored(2)
    outer, inner = strategy.scope(), strategy.scope()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="reverse order"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)

    assert not tf.distribute.has_strategy()


def test_a_strategy_can_be_set_without_a_scope():
    strategy = mirrored(2)
    tf.distribute.experimental_set_strategy(strategy)
    try:
        assert tf.distribute.get_strategy() is strategy
        assert type(tf.Variable(1.0)).__name__ == "MirroredVariable"
        with strategy.scope(), pytest.raises(RuntimeError, match="inside a scope"):
            tf.distribute.experimental_set_strategy(strategy)
    finally:
        tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()


@pytest.mark.parametrize(
    "attempt",
    [
        lambda s: s.run(3),
        lambda s: s.run(lambda: 1, options=3),
        lambda s: tf.distribute.Strategy(s),
        lambda s: s.extended.update(3, lambda v: v),
        lambda s: s.extended.reduce_to("SUM", s.run(lambda: tf.constant(1.0)), object()),
    ],
)
def test_a_wrong_type_is_refused(attempt):
    with pytest.raises(TypeError, match="expected"):
        attempt(mirrored(2))


@pytest.mark.parametrize(("args", "kwargs"), [(1, None), ("ab", None), ((), 3), (None, None)])
def test_arguments_that_are_none_are_refused(args, kwargs):
    with pytest.raises(ValueError, match="expected a"):
        mirrored(2).run(lambda *a, **k: 1, args=args, kwargs=kwargs)


def test_an_odd_argument_is_passed_on_with_a_warning_at_the_users_line():
    thing = object()
    with pytest.warns(UserWarning, match="argument of type object") as caught:
        result = mirrored(2).run(lambda x: x, args=(thing,))

    assert thing is result
    assert __file__ == caught[0].filename


def test_a_list_argument_is_not_shared_between_replicas():
    strategy = mirrored(2)

    def body(numbers):
        numbers.append(ctx().replica_id_in_sync_group)
        return len(numbers)

    given_list = [1, 2]

    assert 3 == strategy.run(body, args=(given_list,))
    assert [1, 2] == given_list


def test_an_error_in_a_replica_names_it_and_leaves_the_scope():
    strategy = mirrored(4)

    def body():
        if ctx().replica_id_in_sync_group == 2:
            raise KeyError("x")
        return ctx().all_reduce("sum", 1.0)

    with pytest.raises(KeyError) as raised:
        strategy.run(body)

    assert ["raised in replica 2 of 4, on GPU:2"] == raised.value.__notes__[:1]
    assert not tf.distribute.has_strategy()


def test_arrays_of_other_libraries_come_back_on_the_replicas_device(any_backend, names):
    import jax.numpy as jnp

    strategy = tf.distribute.MirroredStrategy(names[:2])
    for make in (lambda: np.ones(2, np.float32), lambda: jnp.ones(2), lambda: np.float32(3)):
        parts = strategy.run(lambda make=make: (make(),))[0].values
        assert [name[-5:] for name in names[:2]] == [tf.device_name(part)[-5:] for part in parts]


def test_plans_are_values_and_compare():
    with tf.using("host", gpus=2):
        ops = tf.distribute.ReductionToOneDevice()
        assert mirrored_plan(None, ops) == mirrored_plan(["/gpu:0", "GPU:1"], ops)
        assert mirrored_plan(None, ops) != mirrored_plan(["GPU:0"], ops)


def test_it_says_what_it_is():
    assert "<MirroredStrategy on GPU:0, GPU:1, GPU:2, GPU:3, ...>" == repr(mirrored(9))


@pytest.mark.parametrize("count", [1, 2])
def test_slices_that_are_no_per_replica_value_are_not_gathered(count):
    strategy, slices = mirrored(count), tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([2]))
    for gather in (strategy.gather, tf.function(strategy.gather)):
        with pytest.raises(NotImplementedError, match="got IndexedSlices"):
            gather(slices, axis=0)


def test_values_that_do_not_join_are_invalid_arguments():
    strategy = mirrored(2)
    value = strategy.run(lambda: tf.ones([1] * (ctx().replica_id_in_sync_group + 1)))

    with pytest.raises(tf.errors.InvalidArgumentError, match="do not join along axis 0"):
        strategy.gather(value, axis=0)


def test_replicas_get_sparse_and_ragged_tensors():
    strategy = mirrored(2)
    sparse = strategy.experimental_distribute_values_from_function(
        lambda context: tf.SparseTensor([[0, 1]], [context.replica_id_in_sync_group + 1], [1, 2])
    )
    ragged = strategy.experimental_distribute_values_from_function(lambda _: tf.ragged.constant([[1], [2, 3]]))
    for run in (strategy.run, tf.function(strategy.run)):
        dense = run(tf.sparse.to_dense, args=(sparse,))
        padded = run(lambda rows: rows.to_tensor(), args=(ragged,))

        assert [[[0, 1]], [[0, 2]]] == [one.numpy().tolist() for one in strategy.experimental_local_results(dense)]
        assert [[1, 0], [2, 3]] == strategy.experimental_local_results(padded)[1].numpy().tolist()

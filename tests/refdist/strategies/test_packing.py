import numpy as np
import pytest

import refdist as tf
import simulator
from refdist._core.strategies.packing import exchanged_together, packs_of

Options = tf.distribute.experimental.CommunicationOptions
ctx = tf.distribute.get_replica_context
STAR = simulator.Cluster.star(4, bandwidth_bytes_per_second=1e9, latency_seconds=1e-4)
MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


# As TensorFlow groups tensors of so many float32 (group_by_size of cross_device_utils.py, the last first).
@pytest.mark.parametrize(
    ("sizes", "limit", "packs"),
    [
        ([1, 1, 1, 1], 4, [[3, 2], [1, 0]]),
        ([1, 1, 1, 1], 3, [[3], [2], [1], [0]]),
        ([1, 2, 3, 4], 16, [[3, 2], [1, 0]]),
        ([1, 2, 3, 4], 8, [[3], [2], [1, 0]]),
        ([100, 1, 1], 8, [[2, 1, 0]]),
        ([1, 1, 100], 8, [[2], [1, 0]]),
        ([5], 1, [[0]]),
        ([0, 1, 2], 4, [[2], [1, 0]]),
        ([1, 2, 3], 1e9, [[2, 1, 0]]),
    ],
)
def test_packs_are_those_of_tensorflow(sizes, limit, packs):
    assert packs == packs_of([np.zeros(size, np.float32) for size in sizes], limit, [None] * len(sizes))


def test_only_tensors_of_one_dtype_and_kind_are_in_a_pack():
    tensors = [np.zeros(1, dtype) for dtype in (np.float32, np.int32, np.float32, np.float32)]

    assert [[3], [2, 0], [1]] == packs_of(tensors, 100, ["a", "a", "a", "b"])


def test_what_was_exchanged_together_has_its_shapes_again():
    tensors = [np.arange(6.0).reshape(2, 3), np.float64(7.0), np.zeros([0, 2])]
    calls = []
    doubled = exchanged_together(tensors, lambda row: calls.append(row.shape) or row * 2)

    assert [(7,)] == calls
    for before, after in zip(tensors, doubled, strict=True):
        np.testing.assert_array_equal(before * 2, after)


VALUES = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "number": np.float32(3),
    "integers": np.arange(4, dtype=np.int32),
    "nothing": np.zeros([0], np.float32),
}


@pytest.mark.parametrize(
    ("backend", "op", "limit"),
    [
        ("simulator", "sum", 1),
        ("simulator", "mean", 8),
        ("simulator", "sum", 1 << 20),
        ("jax", "sum", 8),
        ("jax", "mean", 99),
    ],
)
@MODES
def test_packs_change_no_result(backend, mode, op, limit):
    with tf.using(backend, cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def body(number):
        given = {name: tf.constant(value) * tf.cast(number, value.dtype) for name, value in VALUES.items()}
        if mode is not tf.function:  # slices are joined, and stay out of the packs
            given["slices"] = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([2, 2]))
        return ctx().all_reduce(op, given, options=Options(bytes_per_pack=limit))

    numbers = strategy.experimental_distribute_values_from_function(
        lambda c: tf.constant(c.replica_id_in_sync_group + 1)
    )
    found = mode(lambda: strategy.run(body, args=(numbers,)))()
    for name, value in VALUES.items():
        total = value * 3 if op == "sum" else value * 1.5
        for part in strategy.experimental_local_results(found[name]):
            np.testing.assert_allclose(np.asarray(part, np.float64), total.astype(np.float64))
            assert part.shape == value.shape


def seconds(strategy, mode, options, count=8):
    """How long it takes to add up so many small tensors."""

    def body():
        return ctx().all_reduce("sum", [tf.ones([2]) for _ in range(count)], options=options)

    step = mode(lambda: strategy.run(body))
    step()  # a function is traced
    before = simulator.now()
    step()
    return simulator.now() - before


@MODES
def test_a_pack_is_one_exchange_on_the_clock(mode):
    alone = simulator.predict_all_reduce(STAR, 8, "ring").seconds
    with tf.using("simulator", cluster=STAR):
        strategy = tf.distribute.MirroredStrategy()
        taken = {limit: seconds(strategy, mode, Options(limit)) for limit in (0, 1, 8, 100)}

    assert 8 * alone == pytest.approx(taken[0], rel=1e-3)
    assert taken[0] == pytest.approx(taken[1], rel=1e-3)
    assert 4 * alone == pytest.approx(taken[8], rel=1e-3)
    assert alone == pytest.approx(taken[100], rel=1e-3)


@MODES
def test_batches_are_packed_where_their_destinations_are_the_same(mode):
    def batch(strategy, value, there):
        pairs = [(value, value), (value, there), (value, value)]
        return strategy.extended.batch_reduce_to("sum", pairs, Options(100))

    with tf.using("simulator", cluster=STAR):
        strategy = tf.distribute.MirroredStrategy()
        value = strategy.run(lambda: tf.ones([2]))
        with strategy.scope():
            found = mode(lambda: batch(strategy, value, "GPU:1"))()

    assert [4, 1, 4] == [len(strategy.experimental_local_results(one)) for one in found]
    assert all((np.asarray(strategy.experimental_local_results(one)[0]) == 4).all() for one in found)


def test_replicas_whose_tensors_differ_are_named_before_anything_is_packed():
    with tf.using("host", cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        uneven = strategy.experimental_distribute_values_from_function(
            lambda c: tf.ones([1 + c.replica_id_in_sync_group])
        )
        even = strategy.experimental_distribute_values_from_function(lambda c: tf.ones([2]))
    with pytest.raises(ValueError, match=r"different values to reduce: float32 of shape \(1,\) on replica 0"):
        strategy.extended.batch_reduce_to("sum", [(even, even), (uneven, even)], Options(100))


def test_the_packs_of_tpus_are_not_the_users_choice():
    with tf.using("simulator", tpus=2):
        strategy = tf.distribute.TPUStrategy()

    assert 0 == strategy.extended.communication(Options(100, 2.0), "run()").bytes_per_pack
    assert 2.0 == strategy.extended.communication(Options(100, 2.0), "run()").timeout_seconds


def test_a_users_own_algorithm_gets_each_value_as_it_is():
    class Own(tf.distribute.CrossDeviceOps):
        def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
            seen.append((per_replica_value.values[0].shape, options.bytes_per_pack))
            return super().reduce_implementation(reduce_op, per_replica_value, destinations, options)

    seen = []
    with tf.using("host", cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], Own())
    strategy.run(lambda: ctx().all_reduce("sum", [tf.ones([2]), tf.ones([3])], options=Options(100)))
    strategy.run(lambda: ctx().all_reduce("sum", tf.ones([4])))

    assert [((2,), 100), ((3,), 100), ((4,), 0)] == seen

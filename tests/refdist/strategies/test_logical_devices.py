import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.devices.logical_layout import cut
from tests.refdist.strategies.test_tpu_strategy import eight_cores, strategy

__all__ = ["eight_cores"]
BY_EIGHT = [1, 2, 4, 1]
IMAGES = np.arange(2 * 4 * 8 * 3, dtype=np.float32).reshape(2, 4, 8, 3)


def pieces(tensor):
    return [(device, np.asarray(piece).tolist()) for device, piece in tf.logical_pieces(tensor)]


@given(partition=generators.lists(generators.integers(1, 3), max_size=4), data=generators.data())
def test_pieces_put_together_are_the_whole(partition, data):
    sizes = data.draw(generators.tuples(*[generators.integers(0, 3)] * len(partition)))
    whole = np.arange(math.prod(sizes) * math.prod(partition)).reshape(np.multiply(sizes, partition).astype(int))

    parts = np.empty(partition, object)
    for place, piece in zip(np.ndindex(*partition), cut(whole, partition), strict=True):
        parts[place] = piece
    np.testing.assert_array_equal(whole, np.block(parts.tolist()) if partition else parts[()])


def test_each_replica_has_pieces_on_its_own_cores(eight_cores):
    four = strategy([1, 1, 1, 2], replicas=4)

    def step():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return four.experimental_split_to_logical_devices(tf.constant([number, -number]), [2])

    for number, part in enumerate(four.run(step).values):
        first, second = four.extended.plan.logical[number]
        assert [(first, [number]), (second, [-number])] == pieces(part)


def test_operations_go_where_the_tensor_is(eight_cores):
    one = strategy([1, 2, 2, 2])
    (cores,) = one.extended.plan.logical

    def step(x):
        assigned = one.experimental_assign_to_logical_device(x, 3)
        split = one.experimental_split_to_logical_devices(x, [8])
        replicated = one.experimental_replicate_to_logical_devices(x)
        return [assigned * 2, tf.identity(assigned), tf.reduce_sum(assigned), assigned[0], tf.stack([assigned] * 2)], [
            split * 2 + 1,
            tf.identity(split),
            2.0 * replicated,
            tf.reduce_sum(split),
            replicated[1:],
            tf.concat([replicated, replicated], 0),
        ]

    on_one, on_all = one.run(step, args=(tf.range(8.0),))
    for tensor in on_one:
        assert [cores[3]] == [device for device, _ in pieces(tensor)]
    for tensor in on_all:
        assert list(cores) == [device for device, _ in pieces(tensor)]
    assert [[2.0 * k + 1] for k in range(8)] == [piece for _, piece in pieces(on_all[0])]
    assert [28.0] * 8 == [piece for _, piece in pieces(on_all[3])]


def test_an_operation_with_an_ordinary_tensor_goes_where_the_annotated_one_is():
    with tf.using("simulator", tpus=2):
        two = strategy([1, 1, 1, 2])
        (cores,) = two.extended.plan.logical

        def step():
            plain, assigned = tf.constant(1.0), two.experimental_assign_to_logical_device(2.0, 1)
            return plain + assigned, assigned + plain, plain + plain

        first, second, third = two.run(step)
        assert [cores[1], cores[1], cores[0]] == [tensor.device for tensor in (first, second, third)]
        with tf.device("CPU:0"):
            moved = first + 1.0
        assert [(tf.constant(0.0).device, 4.0)] == pieces(moved)
        assert moved.layout is None
        assert (moved + 1.0).device == moved.device
        assert [(cores[1], 4.0)] == pieces(first + 1.0)


def test_a_result_of_another_library_lies_on_the_first_core():
    with tf.using("simulator", tpus=2):
        two = strategy([1, 1, 1, 2])
        result = two.run(lambda: jnp.exp(two.experimental_assign_to_logical_device(0.0, 1)))

        assert [(two.extended.worker_devices[0], 1.0)] == pieces(result)


def test_replicas_reduce_what_is_laid_out(eight_cores):
    four = strategy([1, 1, 1, 2], replicas=4)

    def step():
        replica = tf.distribute.get_replica_context()
        split = four.experimental_split_to_logical_devices(tf.constant([1.0, 2.0]), [2])
        assigned = four.experimental_assign_to_logical_device(tf.constant(3.0), 1)
        return replica.all_reduce("sum", split), replica.all_reduce("mean", assigned), split

    total, mean, split = four.run(step)
    assert [[4.0, 8.0]] * 4 == [np.asarray(part).tolist() for part in total.values]
    assert [3.0] * 4 == [float(part) for part in mean.values]
    assert list(four.extended.worker_devices) == [tf.device_name(part) for part in (*total.values,)]
    assert [4.0, 8.0] == np.asarray(four.reduce("SUM", split, axis=None)).tolist()
    assert 8 == four.gather(split, axis=0).size


def test_a_variable_takes_the_value_of_a_tensor_that_is_laid_out(eight_cores):
    two = strategy([1, 1, 1, 2], replicas=2)
    with two.scope():
        variable = tf.Variable([0.0, 0.0])
    two.run(lambda: variable.assign(two.experimental_split_to_logical_devices(tf.constant([1.0, 2.0]), [2])))

    assert [[1.0, 2.0]] * 2 == [np.asarray(copy.read_value()).tolist() for copy in variable.copies]
    assert [two.extended.worker_devices[0]] == [device for device, _ in pieces(variable)]


def test_outside_of_replicas_the_devices_are_those_of_the_first(eight_cores):
    two = strategy([1, 1, 1, 2], replicas=2)
    with two.scope():
        assert [two.extended.plan.logical[0][1]] == [
            d for d, _ in pieces(two.experimental_assign_to_logical_device(1.0, 1))
        ]


def test_a_tensor_of_another_replica_is_an_ordinary_one_here():
    with tf.using("simulator", tpus=4):
        two = strategy([1, 1, 1, 2], replicas=2)
        kept = two.experimental_local_results(two.run(lambda: two.experimental_assign_to_logical_device(1.0, 1)))[0]
        second = two.run(lambda: kept + 1.0).values[1]

        assert two.extended.worker_devices[1] == second.device


@pytest.mark.parametrize(
    "method", ["assign_to_logical_device", "replicate_to_logical_devices", "split_to_logical_devices"]
)
def test_other_strategies_have_no_logical_devices(method):
    arguments = {"assign_to_logical_device": (0,), "split_to_logical_devices": ([1],)}.get(method, ())
    strategies = [
        tf.distribute.get_strategy(),
        tf.distribute.MirroredStrategy(),
        tf.distribute.OneDeviceStrategy("CPU:0"),
    ]
    for other in (*strategies, tf.distribute.MultiWorkerMirroredStrategy()):
        with pytest.raises(NotImplementedError, match="expected a TPUStrategy"):
            getattr(other, f"experimental_{method}")(tf.constant([1.0]), *arguments)


@pytest.mark.parametrize("id", [8, 100, -1, 0.0, True, None, "0"])
def test_an_id_that_is_none_is_refused(eight_cores, id):
    one = strategy([1, 2, 2, 2])
    with pytest.raises(ValueError, match="0 to 7"):
        one.run(lambda: one.experimental_assign_to_logical_device(tf.constant(1.0), id))


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ([1, 2, 2, 1], "4 pieces"),
        ([2, 4], "4 entries"),
        ([1, 2, 4, 1, 1], "4 entries"),
        ([[1, 2], [4, 1]], "flat list"),
        ([1, -2, -4, 1], "flat list"),
        ([1.0, 2.0, 4.0, 1.0], "flat list"),
        (8, "flat list"),
        (None, "flat list"),
        ([1, 1, 1, 8], "divisible by 8"),
        ([4, 2, 1, 1], "dimension 0"),
    ],
)
def test_a_partition_that_does_not_fit_is_refused(eight_cores, partition, message):
    one = strategy([1, 2, 2, 2])
    with pytest.raises(ValueError, match=message):
        one.run(lambda: one.experimental_split_to_logical_devices(tf.constant(IMAGES), partition))


@pytest.mark.parametrize("partition", [BY_EIGHT, tuple(BY_EIGHT), np.array(BY_EIGHT), [2, 4, 1, 1]])
def test_a_partition_that_fits_may_be_any_sequence(eight_cores, partition):
    one = strategy([1, 2, 2, 2])
    split = one.run(lambda: one.experimental_split_to_logical_devices(IMAGES, partition))

    assert cut(IMAGES, partition)[5].tolist() == pieces(split)[5][1]


def test_with_spmd_nothing_is_assigned_to_one_device(eight_cores):
    one = strategy([1, 2, 2, 2], experimental_spmd_xla_partitioning=True)
    with pytest.raises(ValueError, match="experimental_spmd_xla_partitioning"):
        one.experimental_assign_to_logical_device(tf.constant(1.0), 0)

    assert 8 == len(pieces(one.run(lambda: one.experimental_replicate_to_logical_devices(1.0))))


def test_pieces_of_what_is_no_tensor_are_refused():
    for value in (1.0, np.ones(2), tf.distribute.get_strategy()):
        with pytest.raises(TypeError, match="logical_pieces"):
            tf.logical_pieces(value)


def test_inside_a_trace_values_stay_the_same(eight_cores):
    import jax

    one = strategy([1, 2, 2, 2])

    def step(x):
        split = one.experimental_split_to_logical_devices(x, [8])
        return one.experimental_assign_to_logical_device(one.experimental_replicate_to_logical_devices(split) + 1, 1)

    result = one.run(lambda x: jax.jit(step)(x), args=(tf.range(8.0),))
    assert list(range(1, 9)) == np.asarray(result).tolist()

"""Slices of larger tensors, reduced and converted: what TensorFlow 2.21 answers, on each backend, eagerly and in a function."""

import ml_dtypes
import numpy as np
import pytest

import refdist as tf

MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:2])


def replica():
    return tf.distribute.get_replica_context()


def slices(whole=(3, 2), count=1, dtype=np.int32):
    """One row of the replica's number and one, at the index of that number, `count` times."""
    number = replica().replica_id_in_sync_group
    indices = tf.constant(np.full(count, number, dtype))
    return tf.IndexedSlices(
        tf.ones([count, 2]) * (number + 1.0), indices, None if whole is None else tf.constant(list(whole))
    )


def uneven(whole=(3, 2)):
    return slices(whole, replica().replica_id_in_sync_group + 1)


def lists(found):
    """The values, the indices and the shape of slices as Python has them."""
    assert type(found) is tf.IndexedSlices
    shape = None if found.dense_shape is None else np.asarray(found.dense_shape).tolist()
    return np.asarray(found.values).tolist(), np.asarray(found.indices).tolist(), shape


SUM, MEAN = [[1.0, 1.0], [2.0, 2.0]], [[0.5, 0.5], [1.0, 1.0]]
REDUCED = pytest.mark.parametrize(("op", "expected"), [("SUM", SUM), ("MEAN", MEAN)], ids=["sum", "mean"])


@MODES
@REDUCED
@pytest.mark.parametrize("whole", [None, [3, 2]])
def test_all_reduce_joins_slices_in_the_order_of_the_replicas(strategy, mode, op, expected, whole):
    result = mode(lambda: strategy.run(lambda: replica().all_reduce(op, slices(whole))))()

    assert [(expected, [0, 1], whole)] * 2 == list(map(lists, strategy.experimental_local_results(result)))


@MODES
@REDUCED
def test_reduce_joins_slices(strategy, mode, op, expected):
    found = mode(lambda: strategy.reduce(op, strategy.run(slices), axis=None))()

    assert (expected, [0, 1], [3, 2]) == lists(found)


@MODES
@REDUCED
def test_reduce_to_and_batch_reduce_to_leave_slices_where_the_values_are(strategy, mode, op, expected):
    def body():
        value = strategy.run(slices)
        alone = strategy.extended.reduce_to(op, value, value)
        return [alone, *strategy.extended.batch_reduce_to(op, [(value, value), (value, value)])]

    for result in mode(body)():
        assert [(expected, [0, 1], [3, 2])] * 2 == list(map(lists, strategy.experimental_local_results(result)))


@MODES
def test_replicas_may_have_different_numbers_of_slices(strategy, mode):
    result = mode(lambda: strategy.run(lambda: replica().all_reduce("MEAN", uneven())))()
    expected = ([[0.5, 0.5], [1.0, 1.0], [1.0, 1.0]], [0, 1, 1], [3, 2])

    assert [expected] * 2 == list(map(lists, strategy.experimental_local_results(result)))
    assert expected == lists(mode(lambda: strategy.reduce("MEAN", strategy.run(uneven), axis=None))())


@MODES
def test_slices_in_a_nest_are_joined_beside_tensors_that_are_added(strategy, mode):
    def body():
        return replica().all_reduce("SUM", {"table": slices(), "bias": tf.constant([2.0])})

    result = mode(lambda: strategy.run(body))()

    assert (SUM, [0, 1], [3, 2]) == lists(strategy.experimental_local_results(result["table"])[1])
    assert [4.0] == strategy.experimental_local_results(result["bias"])[1].tolist()


@MODES
def test_slices_pass_merge_call_and_functions_of_replicas(strategy, mode):
    def merged(now, value):
        return now.extended.reduce_to("SUM", value, value)

    def body():
        value = strategy.run(lambda given: given, args=(strategy.run(slices),))
        return value, strategy.run(lambda given: replica().merge_call(merged, (given,)), args=(value,))

    own, joined = map(strategy.experimental_local_results, mode(body)())

    assert [([SUM[i]], [i], [3, 2]) for i in range(2)] == list(map(lists, own))
    assert [(SUM, [0, 1], [3, 2])] * 2 == list(map(lists, joined))


@MODES
def test_one_replica_with_slices_and_one_with_a_tensor_do_not_meet(strategy, mode):
    def body():
        dense = tf.ones([3, 2])
        return replica().all_reduce("SUM", slices() if replica().replica_id_in_sync_group else dense)

    with pytest.raises(tf.errors.MeetingError, match=r"all_reduce\(SUM\) of IndexedSlices float32\[:,2\] at int32"):
        mode(lambda: strategy.run(body))()


@MODES
def test_reducing_slices_and_a_tensor_makes_a_tensor(strategy, mode):
    def body():
        dense = tf.ones([3, 2])
        return slices() if replica().replica_id_in_sync_group else dense

    found = mode(lambda: strategy.reduce("SUM", strategy.run(body), axis=None))()

    assert [[1.0, 1.0], [3.0, 3.0], [1.0, 1.0]] == found.tolist()


@MODES
def test_all_gather_refuses_slices_and_gather_makes_them_whole(strategy, mode):
    with pytest.raises(NotImplementedError, match=r"all_gather\(\) got IndexedSlices"):
        mode(lambda: strategy.run(lambda: replica().all_gather({"table": slices()}, axis=0)))()

    found = mode(lambda: strategy.gather(strategy.run(slices), axis=0))()
    assert [[1, 1], [0, 0], [0, 0], [0, 0], [2, 2], [0, 0]] == found.tolist()


@MODES
def test_a_reduction_over_an_axis_makes_slices_whole(strategy, mode):
    assert [3.0, 3.0] == mode(lambda: strategy.reduce("SUM", strategy.run(slices), axis=0))().tolist()
    with pytest.raises(ValueError, match="dense_shape"):
        mode(lambda: strategy.reduce("SUM", strategy.run(lambda: slices(None)), axis=0))()


@pytest.mark.parametrize("name", ["ReductionToOneDevice", "HierarchicalCopyAllReduce", "NcclAllReduce"])
@pytest.mark.parametrize("staged", [False, True])
def test_every_way_to_reduce_joins_slices(names, name, staged):
    strategy = tf.distribute.MirroredStrategy(names[:2], cross_device_ops=getattr(tf.distribute, name)())
    with strategy.scope():
        value = strategy.run(slices)
        found = getattr(tf.distribute, name)().reduce(tf.distribute.ReduceOp.MEAN, value, names[1])
        (batched,) = getattr(tf.distribute, name)().batch_reduce(tf.distribute.ReduceOp.SUM, [(value, value)])

    assert (MEAN, [0, 1], [3, 2]) == lists(found)
    assert (SUM, [0, 1], [3, 2]) == lists(strategy.experimental_local_results(batched)[1])
    mode = tf.function if staged else lambda body: body
    result = mode(lambda: strategy.run(lambda: replica().all_reduce("SUM", slices())))()
    assert (SUM, [0, 1], [3, 2]) == lists(strategy.experimental_local_results(result)[1])


@pytest.mark.parametrize("staged", [False, True])
def test_slices_do_not_pass_through_an_accumulation_function(names, staged):
    ops = tf.distribute.ReductionToOneDevice(accumulation_fn=lambda tensors: tensors[0] * 100)
    strategy = tf.distribute.MirroredStrategy(names[:2], cross_device_ops=ops)
    mode = tf.function if staged else lambda body: body
    result = mode(lambda: strategy.run(lambda: replica().all_reduce("SUM", slices())))()

    assert (SUM, [0, 1], [3, 2]) == lists(strategy.experimental_local_results(result)[0])


@MODES
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_indices_keep_their_dtype(mode, dtype):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        result = mode(lambda: strategy.run(lambda: replica().all_reduce("SUM", slices(dtype=dtype))))()

    assert dtype == strategy.experimental_local_results(result)[1].indices.dtype


@MODES
@pytest.mark.parametrize(("dtype", "expected"), [(np.int32, np.float64), (ml_dtypes.bfloat16, ml_dtypes.bfloat16)])
def test_a_mean_of_slices_has_the_dtype_of_a_mean(mode, dtype, expected):
    def body():
        return replica().all_reduce("MEAN", tf.IndexedSlices(tf.constant(np.array([3], dtype)), tf.constant([0])))

    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        found = strategy.experimental_local_results(mode(lambda: strategy.run(body))())[0]

    assert expected == found.values.dtype
    assert [1.5, 1.5] == found.values.astype(np.float32).tolist()


@MODES
def test_one_replica_keeps_its_slices(names, mode):
    strategy = tf.distribute.OneDeviceStrategy(names[1])

    assert ([[1, 1]], [0], [3, 2]) == lists(
        mode(lambda: strategy.run(lambda: replica().all_reduce("MEAN", slices())))()
    )
    assert ([[1, 1]], [0], [3, 2]) == lists(mode(lambda: strategy.reduce("MEAN", strategy.run(slices), axis=None))())


@MODES
def test_a_plain_value_of_slices_is_its_own_mean_and_has_no_sum(strategy, mode):
    one = tf.IndexedSlices(tf.constant([2.0]), tf.constant([1]))

    assert ([2.0], [1], None) == lists(mode(lambda: strategy.reduce("MEAN", one, axis=None))())
    with pytest.raises(ValueError, match="per-replica value"):
        mode(lambda: strategy.reduce("SUM", one, axis=None))()


def test_bodies_that_are_traced_once_for_all_replicas_join_slices(strategy):
    @tf.function(trace_once=True)
    def joined():
        def body():
            number = replica().replica_id_in_sync_group
            given = tf.IndexedSlices(tf.cast(number, tf.float32)[None], number[None], tf.constant([4]))
            return given, replica().all_reduce("SUM", given)

        return strategy.run(body)

    own, all_of_them = map(strategy.experimental_local_results, joined())

    assert [([0.0], [0], [4]), ([1.0], [1], [4])] == list(map(lists, own))
    assert [([0.0, 1.0], [0, 1], [4])] * 2 == list(map(lists, all_of_them))


def test_slices_as_arguments_of_a_function_do_not_trace_it_again(any_backend):
    traces = []

    @tf.function
    def whole(given):
        traces.append(given)
        return tf.convert_to_tensor(given), given

    for number in range(3):
        tensor, same = whole(tf.IndexedSlices(tf.constant([number + 1.0]), tf.constant([number]), tf.constant([3])))
        assert number + 1.0 == tensor[number]
        assert ([number + 1.0], [number], [3]) == lists(same)

    assert 1 == len(traces)


@MODES
def test_slices_of_each_replica_are_arguments(strategy, mode):
    given = strategy.run(slices)
    found = mode(lambda value: strategy.reduce("SUM", value, axis=None))(given)
    inside = mode(lambda value: strategy.run(lambda own: replica().all_reduce("SUM", own), args=(value,)))(given)

    assert (SUM, [0, 1], [3, 2]) == lists(found)
    assert (SUM, [0, 1], [3, 2]) == lists(strategy.experimental_local_results(inside)[1])


@MODES
def test_slices_made_for_each_replica_are_joined(strategy, mode):
    def made(where):
        return tf.IndexedSlices(tf.constant([where.replica_id_in_sync_group + 1.0]), tf.constant([2]))

    found = mode(
        lambda: strategy.reduce("SUM", strategy.experimental_distribute_values_from_function(made), axis=None)
    )()

    assert ([1.0, 2.0], [2, 2], None) == lists(found)

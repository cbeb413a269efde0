"""Which algorithm combines values, where the result goes, and what a user's own one is asked."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from tests.generators import alike

ctx = tf.distribute.get_replica_context
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN
OPS = [
    tf.distribute.ReductionToOneDevice(),
    tf.distribute.ReductionToOneDevice("CPU:0"),
    tf.distribute.ReductionToOneDevice(accumulation_fn=sum),
    tf.distribute.NcclAllReduce(),
    tf.distribute.HierarchicalCopyAllReduce(),
]


def replica_id():
    return ctx().replica_id_in_sync_group


def numbers(strategy, value):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(value)]


def per_replica(strategy, arrays):
    return strategy.run(lambda: tf.constant(arrays[replica_id()]))


def host(count, ops=None):
    with tf.using("host", gpus=9):
        return tf.distribute.MirroredStrategy([f"GPU:{index}" for index in range(count)], cross_device_ops=ops)


def largest(tensors):
    """Of two numbers the larger is half of their sum and their distance; so are several, one after the other."""
    found = tensors[0]
    for tensor in tensors[1:]:
        found = (found + tensor + abs(found - tensor)) / 2
    return found


class TestAccumulation:
    """A function of the user, in place of adding up."""

    modes = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])

    @modes
    @pytest.mark.parametrize("count", [2, 3, 7])
    def test_it_is_used_by_all_reduce_in_and_outside_of_functions(self, names, mode, count):
        ops = tf.distribute.ReductionToOneDevice(accumulation_fn=largest)
        strategy = tf.distribute.MirroredStrategy(names[:count], cross_device_ops=ops)

        def body():
            value = tf.constant([1.0, -1.0]) * (replica_id() + 1)
            return ctx().all_reduce("sum", value), ctx().all_reduce("mean", {"x": value})["x"]

        sums, means = strategy.run(mode(body))

        assert [[count, -1.0]] * count == numbers(strategy, sums)
        np.testing.assert_allclose([[1.0, -1.0 / count]] * count, numbers(strategy, means), rtol=1e-6)

    @modes
    def test_it_is_used_by_a_write_of_all_replicas(self, names, mode):
        ops = tf.distribute.ReductionToOneDevice(accumulation_fn=largest)
        strategy = tf.distribute.MirroredStrategy(names[:3], cross_device_ops=ops)
        with strategy.scope():
            variable = tf.Variable(10.0, aggregation=tf.VariableAggregation.SUM)
        strategy.run(mode(lambda: variable.assign_add(tf.constant(1.0) * (replica_id() + 1))))

        assert [13.0] * 3 == numbers(strategy, variable)

    @modes
    def test_it_is_used_by_reduce(self, names, mode):
        ops = tf.distribute.ReductionToOneDevice(accumulation_fn=largest)
        strategy = tf.distribute.MirroredStrategy(names[:3], cross_device_ops=ops)
        value = strategy.run(lambda: tf.constant(1.0) * (replica_id() + 1))

        assert 3.0 == float(mode(lambda x: strategy.reduce("SUM", x, axis=None))(value))
        assert 1.0 == float(mode(lambda x: strategy.reduce(MEAN, x, axis=None))(value))

    def test_it_gets_the_values_in_replica_order_on_the_device_that_was_chosen(self, names, any_backend):
        seen = []

        def accumulate(tensors):
            seen.extend((float(tensor), tf.device_name(tensor)[-5:]) for tensor in tensors)
            return sum(tensors[1:], tensors[0])

        ops = tf.distribute.ReductionToOneDevice(names[4], accumulation_fn=accumulate)
        strategy = tf.distribute.MirroredStrategy(names[:3], cross_device_ops=ops)
        result = strategy.run(lambda: ctx().all_reduce("sum", tf.constant(1.0) * replica_id()))

        assert [(0.0, names[4]), (1.0, names[4]), (2.0, names[4])] == seen
        assert names[:3] == [tf.device_name(part)[-5:] for part in result.values]

    def test_without_a_chosen_device_it_works_where_the_result_goes(self, names, any_backend):
        places = []

        def accumulate(tensors):
            places.extend(tf.device_name(tensor)[-5:] for tensor in tensors)
            return tensors[0]

        ops = tf.distribute.ReductionToOneDevice(accumulation_fn=accumulate)
        strategy = tf.distribute.MirroredStrategy(names[:2], cross_device_ops=ops)
        strategy.extended.reduce_to("SUM", strategy.run(lambda: tf.constant(1.0) * replica_id()), names[3])

        assert [names[3]] * 2 == places


@given(parts=alike())
@settings(max_examples=40)
def test_reducing_to_a_chosen_device_gives_the_bits_of_adding_in_order(parts):
    plain, chosen = host(len(parts)), host(len(parts), tf.distribute.ReductionToOneDevice("CPU:0"))
    for op in ("SUM", "MEAN"):
        results = [np.asarray(s.reduce(op, per_replica(s, parts), axis=None)) for s in (plain, chosen)]
        assert results[0].dtype == results[1].dtype
        assert results[0].tobytes() == results[1].tobytes()


class TestDestinations:
    """Where a result goes: to a name, to several, to where something lies."""

    @pytest.fixture
    def strategy(self, names, any_backend):
        return tf.distribute.MirroredStrategy(names[:3])

    def reduced(self, strategy, destinations):
        value = strategy.run(lambda: tf.constant(1.0) * (replica_id() + 1))
        result = strategy.extended.reduce_to("SUM", value, destinations)
        parts = strategy.experimental_local_results(result)
        assert {6.0} == {float(part) for part in parts}
        return [tf.device_name(part)[-5:] for part in parts]

    def test_a_name_in_any_spelling_is_a_device(self, strategy, names):
        kind, number = names[4].split(":")

        assert [[names[4]]] * 3 == [
            self.reduced(strategy, to)
            for to in (names[4], f"/{kind.lower()}:{number}", f"/job:localhost/replica:0/task:0/device:{names[4]}")
        ]

    def test_several_names_are_several_devices_in_their_order(self, strategy, names):
        wanted = [names[5], names[0], names[2]]

        assert wanted == self.reduced(strategy, wanted) == self.reduced(strategy, tuple(wanted))

    def test_a_list_of_one_is_one_device(self, strategy, names):
        assert [names[6]] == self.reduced(strategy, [names[6]])

    def test_a_tensor_is_where_it_lies(self, strategy, names):
        with tf.device(names[7]):
            tensor = tf.constant(0.0)

        assert [names[7]] == self.reduced(strategy, tensor)

    def test_a_per_replica_value_and_a_mirrored_variable_are_on_all_their_devices(self, strategy, names):
        with strategy.scope():
            variable = tf.Variable(0.0)

        assert names[:3] == self.reduced(strategy, variable)
        assert names[:3] == self.reduced(strategy, strategy.run(lambda: tf.constant(0.0)))

    def test_a_plain_variable_is_one_device(self, strategy, names):
        with tf.device(names[5]):
            variable = tf.Variable(0.0)

        assert [names[5]] == self.reduced(strategy, variable)

    def test_a_list_may_name_devices_and_values(self, strategy, names):
        with tf.device(names[7]):
            tensor = tf.constant(0.0)

        assert [names[7], names[1]] == self.reduced(strategy, [tensor, names[1]])

    def test_a_tensor_is_mirrored_on_the_destinations(self, strategy, names):
        mirrored = strategy.extended.broadcast_to(tf.constant([1.0, 2.0]), names[3:6])

        assert [[1.0, 2.0]] * 3 == [np.asarray(part).tolist() for part in mirrored.values]
        assert names[3:6] == [tf.device_name(part)[-5:] for part in mirrored.values]

    def test_a_tensor_for_one_destination_is_no_distributed_value(self, strategy, names):
        alone = strategy.extended.broadcast_to(tf.constant(1.0), names[3])

        assert names[3] == tf.device_name(alone)[-5:]

    @pytest.mark.parametrize("destination", [None, 3, object(), [], ()])
    def test_what_is_no_destination_is_refused(self, strategy, destination):
        with pytest.raises(TypeError, match="expected a device name, a tensor, a variable or a per-replica value"):
            self.reduced(strategy, destination)

    @pytest.mark.parametrize("name", ["GPU:99", "nowhere", "/job:worker/device:GPU:0"])
    def test_a_device_that_is_not_there_is_refused(self, strategy, name):
        with pytest.raises(ValueError, match="expected"):
            self.reduced(strategy, name)


class TestOwnAlgorithm:
    """What a subclass is asked, and what it may answer."""

    def test_it_gets_operator_value_destinations_and_options(self):
        class Recording(tf.distribute.CrossDeviceOps):
            def reduce_implementation(self, *args):
                calls.append(args)
                return super().reduce_implementation(*args)

        calls, options = [], tf.distribute.experimental.CommunicationOptions(8, 1.0, "ring")
        strategy = host(2, Recording())
        value = strategy.run(lambda: tf.constant(1.0))
        strategy.extended.reduce_to("mean", value, "GPU:1", options)
        ((op, given_value, destinations, given_options),) = calls

        assert (MEAN, 2, "GPU:1", options) == (op, len(given_value.values), destinations, given_options)

    def test_values_that_are_reduced_together_are_one_call(self):
        class Batching(tf.distribute.CrossDeviceOps):
            def batch_reduce_implementation(self, reduce_op, value_destination_pairs, options):
                sizes.append(len(value_destination_pairs))
                return super().batch_reduce_implementation(reduce_op, value_destination_pairs, options)

        sizes = []
        strategy = host(2, Batching())
        result = strategy.run(lambda: ctx().all_reduce("sum", [tf.constant(1.0), {"a": tf.constant(2.0)}]))

        assert [2] == sizes
        assert ([2.0] * 2, [4.0] * 2) == (numbers(strategy, result[0]), numbers(strategy, result[1]["a"]))

    def test_a_broadcast_can_be_its_own_too(self):
        class Doubling(tf.distribute.CrossDeviceOps):
            def broadcast_implementation(self, tensor, destinations):
                return super().broadcast_implementation(tensor * 2.0, destinations)

        strategy = host(2, Doubling())

        assert [6.0] == numbers(strategy, strategy.extended.broadcast_to(tf.constant(3.0), "GPU:1"))

    @pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
    def test_one_that_batches_in_its_own_way_is_used_in_and_outside_of_functions(self, mode):
        class Negative(tf.distribute.CrossDeviceOps):
            def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
                first, *others = per_replica_value.values
                return self.broadcast(-sum(others, first), destinations)

        strategy = host(3, Negative())
        result = strategy.run(mode(lambda: ctx().all_reduce("sum", tf.constant(2.0))))

        assert [-6.0] * 3 == numbers(strategy, result)

    def test_too_few_answers_of_a_batch_are_named(self):
        class Forgetful(tf.distribute.CrossDeviceOps):
            def batch_reduce_implementation(self, reduce_op, value_destination_pairs, options):
                return super().batch_reduce_implementation(reduce_op, value_destination_pairs, options)[1:]

        strategy = host(2, Forgetful())
        with pytest.raises(ValueError, match=r"returned 1 values of batch_reduce\(\); expected 2[\s\S]*Forgetful"):
            strategy.run(lambda: ctx().all_reduce("sum", [tf.constant(1.0), tf.constant(2.0)]))

    @pytest.mark.parametrize("answer", [None, 3.0, "text", [1.0, 2.0]])
    def test_an_answer_that_is_no_tensor_on_each_device_is_named(self, answer):
        class Wrong(tf.distribute.CrossDeviceOps):
            def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
                return answer

        with pytest.raises(ValueError, match=r"expected a tensor on each[\s\S]*Wrong"):
            host(2, Wrong()).run(lambda: ctx().all_reduce("sum", tf.constant(1.0)))


class TestDirectly:
    """The documented methods, called by a program itself."""

    def test_a_value_is_reduced_with_either_operator(self):
        strategy = host(3)
        value = strategy.run(lambda: tf.constant([3.0]) * replica_id())
        ops = tf.distribute.ReductionToOneDevice()
        with strategy.scope():
            total, mean = ops.reduce("sum", value, "GPU:2"), ops.reduce(MEAN, value, ["GPU:0", "GPU:2"])

        assert ([9.0], "GPU:2") == (total.tolist(), total.device[-5:])
        assert [[3.0]] * 2 == numbers(strategy, mean)

    def test_several_values_go_each_to_their_own_destination(self):
        strategy = host(2)
        value = strategy.run(lambda: tf.constant(1.0))
        with strategy.scope():
            answers = tf.distribute.NcclAllReduce().batch_reduce(SUM, [(value, "GPU:5"), (value, "CPU:0")])

        assert [(2.0, "GPU:5"), (2.0, "CPU:0")] == [(float(one), one.device[-5:]) for one in answers]

    @pytest.mark.parametrize("reduce", ["reduce", "batch_reduce"])
    def test_what_cannot_be_a_tensor_is_refused(self, reduce):
        strategy, ops = host(2), tf.distribute.ReductionToOneDevice()
        args = (object(), "CPU:0") if reduce == "reduce" else ([(object(), "CPU:0")],)
        with strategy.scope(), pytest.raises(ValueError, match=r"object[\s\S]*expected a per-replica value"):
            getattr(ops, reduce)("sum", *args)

    @pytest.mark.parametrize("op", [SUM, MEAN])
    @pytest.mark.parametrize("make", [tf.constant, tf.Variable, float])
    @pytest.mark.parametrize("ops", OPS, ids=range(len(OPS)))
    def test_a_plain_value_is_its_own_sum_and_mean(self, any_backend, names, ops, make, op):
        strategy = tf.distribute.MirroredStrategy(names[:2], cross_device_ops=ops)
        with strategy.scope():
            mirrored = tf.Variable(1.0)
        value = make(3.0)
        with strategy.scope():
            one, several = ops.reduce(op, value, names[1]), ops.reduce(op, value, mirrored)
            batched = ops.batch_reduce(op, [(value, names[1])])

        assert [3.0, 3.0] == [float(one), float(batched[0])]
        assert names[1] == tf.device_name(one)[-5:]
        assert [3.0, 3.0] == numbers(strategy, several)

    @pytest.mark.parametrize(("op", "expected"), [(SUM, 6.0), (MEAN, 3.0)])
    @pytest.mark.parametrize("shape", [(), (2,)])
    @pytest.mark.parametrize("ops", OPS, ids=range(len(OPS)))
    @pytest.mark.parametrize("synchronization", ["ON_WRITE", "ON_READ"])
    def test_the_copies_of_a_variable_are_combined(self, any_backend, names, ops, shape, op, expected, synchronization):
        strategy = tf.distribute.MirroredStrategy(names[:2], cross_device_ops=ops)
        with strategy.scope():
            kind = tf.VariableSynchronization[synchronization]
            variable = tf.Variable(
                np.full(shape, 3, "f"), synchronization=kind, aggregation=tf.VariableAggregation.MEAN
            )
            answers = ops.reduce(op, variable, variable), ops.batch_reduce(op, [(variable, names[0])])[0]

        assert [np.full(shape, expected).tolist()] * 2 == numbers(strategy, answers[0])
        assert np.full(shape, expected).tolist() == np.asarray(answers[1]).tolist()

    @pytest.mark.parametrize("reduce", ["reduce", "batch_reduce"])
    def test_an_operator_that_is_none_is_refused(self, reduce):
        strategy, ops = host(2), tf.distribute.ReductionToOneDevice()
        value = strategy.run(lambda: tf.constant(1.0))
        args = (value, "CPU:0") if reduce == "reduce" else ([(value, "CPU:0")],)
        with pytest.raises(ValueError, match="expected one of SUM, MEAN"):
            getattr(ops, reduce)("max", *args)


@pytest.mark.parametrize(
    ("dtypes", "shapes"),
    [
        (("float32", "float64"), ((2,), (2,))),
        (("float32", "float32"), ((2,), (3,))),
        (("float32", "float32"), ((), (1,))),
        (("float32", "float32"), ((0,), (0, 1))),
    ],
)
@pytest.mark.parametrize("ops", [None, tf.distribute.ReductionToOneDevice("CPU:0")], ids=["plain", "chosen"])
def test_values_that_differ_are_refused_with_what_each_of_the_two_replicas_has(dtypes, shapes, ops):
    strategy = host(3, ops)
    arrays = [np.zeros(shape, dtype) for shape, dtype in zip((shapes[0], *shapes), (dtypes[0], *dtypes), strict=True)]
    with pytest.raises(ValueError, match=r"on replica 0, float\d\d of shape .* on replica 2; expected one shape"):
        strategy.reduce("SUM", per_replica(strategy, arrays), axis=None)


@pytest.mark.parametrize("verb", ["reduce", "all_reduce", "reduce_to", "along an axis"])
@pytest.mark.parametrize("value", [[True, False], [b"a", b"b"]])
def test_truth_values_and_text_are_no_numbers_for_any_reduction(verb, value):
    strategy = host(2)
    each = strategy.run(lambda: tf.constant(value))
    attempts = {
        "reduce": lambda: strategy.reduce("SUM", each, axis=None),
        "all_reduce": lambda: strategy.run(lambda x: ctx().all_reduce("sum", x), args=(each,)),
        "reduce_to": lambda: strategy.extended.reduce_to("MEAN", each, "CPU:0"),
        "along an axis": lambda: strategy.reduce("SUM", each, axis=0),
    }
    with pytest.raises(TypeError, match="expected numbers"):
        attempts[verb]()


class TestGathering:
    """Joining along an axis."""

    @given(
        sizes=generators.lists(generators.integers(0, 3), min_size=1, max_size=7),
        axis=generators.integers(-3, 2),
        dtype=generators.sampled_from(["float32", "int64", "bool", ml_dtypes.bfloat16, "complex64"]),
    )
    @settings(max_examples=40)
    def test_parts_of_any_length_are_joined_along_any_axis(self, sizes, axis, dtype):
        strategy = host(len(sizes))
        arrays = [np.full(np.insert([2, 2], axis % 3, size), i % 2, dtype) for i, size in enumerate(sizes)]
        joined = strategy.gather(per_replica(strategy, arrays), axis)

        expected = np.concatenate(arrays, axis)
        assert (expected.dtype, expected.tolist()) == (joined.dtype, np.asarray(joined).tolist())

    @pytest.mark.parametrize("axis", [2, -3, 1.0, "0", None])
    def test_an_axis_that_is_not_there_is_refused(self, axis):
        strategy = host(2)
        with pytest.raises(ValueError, match="expected an int from -2 to 1"):
            strategy.gather(strategy.run(lambda: tf.ones([2, 2])), axis)

    @pytest.mark.parametrize(
        "others",
        [
            np.zeros((2, 3), np.float32),
            np.zeros((2, 2), np.float64),
            np.zeros(2, np.float32),
            np.zeros((2, 2, 2), np.float32),
        ],
        ids=["size", "dtype", "fewer dimensions", "more dimensions"],
    )
    def test_parts_that_do_not_fit_beside_each_other_are_refused(self, others):
        strategy = host(3)
        arrays = [np.zeros((1, 2), np.float32), np.zeros((3, 2), np.float32), others]
        with pytest.raises(ValueError, match=r"on replica 0, float\d\d of shape .* on replica 2; expected one dtype"):
            strategy.gather(per_replica(strategy, arrays), 0)

    def test_a_part_that_lacks_the_very_dimension_to_join_along_is_refused(self):
        strategy = host(2)
        arrays = [np.zeros((2, 3), np.float32), np.zeros(2, np.float32)]
        with pytest.raises(ValueError, match=r"on replica 0, float32 of shape \(2,\) on replica 1; expected one dtype"):
            strategy.gather(per_replica(strategy, arrays), 1)


@pytest.mark.parametrize("make", [tf.distribute.NcclAllReduce, tf.distribute.HierarchicalCopyAllReduce])
@pytest.mark.parametrize("packs", [0, 1, 64])
def test_a_number_of_packs_is_any_count(make, packs):
    assert packs == make(num_packs=packs).num_packs == make(packs).num_packs


class Negative(tf.distribute.CrossDeviceOps):
    """Combines a batch of values in a way of its own, and single ones as usual."""

    def batch_reduce_implementation(self, reduce_op, value_destination_pairs, options):
        return [self.broadcast(-sum(v.values[1:], v.values[0]), to) for v, to in value_destination_pairs]


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
def test_a_batch_is_combined_as_a_user_has_written_in_and_outside_of_functions(mode):
    strategy = host(2, Negative())
    one, two = strategy.run(mode(lambda: ctx().all_reduce("sum", [tf.constant(1.0), tf.constant(2.0)])))

    assert ([-2.0, -2.0], [-4.0, -4.0]) == (numbers(strategy, one), numbers(strategy, two))


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
def test_batch_reduce_to_combines_as_a_user_has_written_in_and_outside_of_functions(mode):
    strategy = host(2, Negative())
    values = strategy.run(lambda: tf.constant(1.0))

    @mode
    def reduced(values):
        with strategy.scope():
            return strategy.extended.batch_reduce_to("sum", [(values, "GPU:0"), (values, "GPU:1")])

    assert [-2.0, -2.0] == [float(one) for one in reduced(values)]


class TestOneReplica:
    """What one replica has is its own sum and its own mean; TensorFlow hands it on, and asks no implementation."""

    class Unwanted(tf.distribute.CrossDeviceOps):
        def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
            raise AssertionError("nothing to reduce")

        def batch_reduce_implementation(self, reduce_op, value_destination_pairs, options):
            raise AssertionError("nothing to reduce")

    @pytest.fixture(params=["mirrored", "one device", "default"])
    def strategy(self, request, names):
        match request.param:
            case "mirrored":
                return tf.distribute.MirroredStrategy(names[1:2], cross_device_ops=self.Unwanted())
            case "one device":
                return tf.distribute.OneDeviceStrategy(names[1])
        return tf.distribute.get_strategy()

    @pytest.mark.parametrize("around", [lambda body: body, tf.function], ids=["eager", "function"])
    def test_the_mean_of_integers_stays_integers(self, strategy, around):
        @around
        def step():
            value = strategy.run(lambda: tf.constant([3, 4]))
            nest = strategy.run(lambda: ctx().all_reduce("MEAN", {"a": tf.constant([3, 4])}))
            return strategy.run(lambda: ctx().all_reduce("MEAN", tf.constant([3, 4]))), nest["a"], value, value

        reduced, in_nest, value, _ = step()
        outside = strategy.reduce("MEAN", value, axis=None)

        assert {("int32", (3, 4))} == {(one.dtype.name, tuple(one.tolist())) for one in (reduced, in_nest, outside)}

    @pytest.mark.parametrize("around", [lambda body: body, tf.function], ids=["eager", "function"])
    def test_so_do_slices_of_integers(self, strategy, around):
        slices = tf.IndexedSlices(np.array([[3]], np.int32), np.array([0]), np.array([2, 1]))
        mean = around(lambda: strategy.run(lambda: ctx().all_reduce("MEAN", slices)))()

        assert ("int32", [[3]]) == (mean.values.dtype.name, np.asarray(mean.values).tolist())

    @pytest.mark.parametrize("around", [lambda body: body, tf.function], ids=["eager", "function"])
    def test_truth_values_are_refused_there_too(self, strategy, around):
        with pytest.raises(TypeError, match="dtype bool were to be reduced"):
            around(lambda: strategy.run(lambda: ctx().all_reduce("SUM", tf.constant(True))))()

    def test_a_mean_on_another_device_is_computed(self, names):
        with tf.device(names[1]):
            tensor = tf.constant([3, 4])
        value = tf.distribute.OneDeviceStrategy(names[1]).run(lambda: tensor)
        means = [tf.distribute.ReductionToOneDevice().reduce(MEAN, value, name) for name in names[1:3]]

        assert ["i", "f"] == [mean.dtype.kind for mean in means]

"""How often the body of a function is called, for which arguments, and where its code is."""

import gc
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.staged_programs import COUNTS, MEAN, ON_READ, SUM, ctx, numbered, numbers

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


def test_a_body_is_called_once_for_each_kind_of_input(names):
    calls = []

    @tf.function
    def double(x):
        calls.append(x.shape)
        return x * 2

    results = [double(tf.constant(value)) for value in (1.0, 2.0, [1.0], [2.0], 3.0)]

    assert [2, 4, [2], [4], 6] == [np.asarray(result).tolist() for result in results]
    assert 2 == len(calls) == double.experimental_get_tracing_count()


def test_python_values_are_part_of_the_kind(names):
    calls = []

    @tf.function
    def power(x, exponent, *, name="a"):
        calls.append((exponent, name))
        return x**exponent

    for exponent, name in [(2, "a"), (3, "a"), (2, "a"), (2, "b"), (2.0, "a")]:
        power(tf.constant(2.0), exponent, name=name)

    assert [(2, "a"), (3, "a"), (2, "b"), (2.0, "a")] == calls


def test_one_call_written_in_several_ways_is_one_kind(strategy):
    calls = []

    @tf.function
    def scaled(x, factor=2, *rest, name="a"):
        calls.append((factor, rest, name))
        return x * factor

    one, three = tf.constant(1.0), tf.constant(3.0)
    for _ in (scaled(one), scaled(x=one), scaled(one, 2), scaled(one, factor=2), scaled(one, name="a")):
        pass
    assert [(2, (), "a")] == calls
    assert 3.0 == float(scaled(factor=three, x=one)) == float(scaled(one, three))
    assert 2 == len(calls)
    scaled(one, 2, "more")
    assert (2, ("more",), "a") == calls[-1]
    calls.clear()
    for given in ({"args": (one,)}, {"args": (one, 2)}, {"args": (), "kwargs": {"x": one}}):
        assert [2.0, 2.0] == numbers(strategy, strategy.run(scaled, **given))
    assert 2 == len(calls)


def test_wrong_arguments_are_what_python_says(names):
    step = tf.function(lambda x, y: x + y)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        step(tf.constant(1.0))
    with pytest.raises(TypeError, match="multiple values"):
        step(tf.constant(1.0), tf.constant(1.0), x=tf.constant(1.0))
    with pytest.raises(TypeError, match="unexpected keyword"):
        step(tf.constant(1.0), z=tf.constant(1.0))
    assert 2.0 == float(tf.function(lambda x, /, y=1.0: x + y)(tf.constant(1.0)))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("around", [True, False])
def test_a_replica_function_is_traced_once_for_each_replica(names, count, around):
    strategy = tf.distribute.MirroredStrategy(names[:count])
    seen = []

    def replica(x):
        seen.append(ctx().replica_id_in_sync_group)
        return x + 1

    step = tf.function(lambda x: strategy.run(replica, args=(x,))) if around else tf.function(replica)
    for value in (1.0, 2.0, 3.0):
        x = tf.constant(value)
        result = step(x) if around else strategy.run(step, args=(x,))
        assert [value + 1] * count == numbers(strategy, result)

    assert list(range(count)) == seen


def test_beyond_64_replicas_one_trace_has_a_symbolic_number():
    with tf.using("simulator", gpus=100):
        strategy = tf.distribute.MirroredStrategy()
    calls = []

    @tf.function
    def replica():
        calls.append(1)
        return ctx().all_reduce("SUM", ctx().replica_id_in_sync_group), ctx().replica_id_in_sync_group

    total, own = strategy.run(replica)

    assert [1] == calls
    assert [sum(range(100))] * 100 == numbers(strategy, total)
    assert list(range(100)) == numbers(strategy, own)


def test_one_trace_can_be_asked_for(strategy):
    calls = []

    @tf.function(trace_once=True)
    def replica(x):
        calls.append(1)
        return x * ctx().replica_id_in_sync_group

    assert [0, 3] == numbers(strategy, strategy.run(replica, args=(tf.constant(3.0),)))
    assert [1] == calls


def test_methods_have_programs_of_their_own(names):
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @tf.function
        def call(self, x):
            return x * self.factor

    two, three = Model(2.0), Model(3.0)
    x = tf.constant(5.0)

    assert [10, 15, 10] == [float(model.call(x)) for model in (two, three, two)]
    assert Model.call(two, x) == 10
    gone = weakref.ref(three)
    del three
    gc.collect()
    assert gone() is None


def test_objects_without_a_dict_have_methods_too(names):
    class Small:
        __slots__ = ()

        @tf.function
        def call(self, x):
            return x + 1

    small = Small()

    assert small.call is small.call
    assert 3 == float(small.call(tf.constant(2.0)))


@pytest.mark.parametrize("count", [1, 2])
def test_the_spec_of_distributed_data_is_a_signature(names, count):
    strategy = tf.distribute.MirroredStrategy(names[:count])
    calls = []
    data = tf.data.Dataset.from_tensor_slices(({"a": np.arange(8.0, dtype=np.float32)}, np.arange(8))).batch(4)
    dataset = strategy.experimental_distribute_dataset(data)

    @tf.function(input_signature=[dataset.element_spec])
    def step(pair):
        calls.append(1)
        return tf.reduce_sum(pair[0]["a"])

    totals = [strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=None) for x in dataset]

    assert [6.0, 22.0] == list(map(float, totals))
    assert count == len(calls)


def test_a_signature_converts_numbers_and_refuses_what_does_not_fit(names):
    calls = []

    @tf.function(input_signature=(tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32)))
    def scaled(x, factor):
        calls.append(1)
        return x * factor

    assert [2.0, 4.0] == np.asarray(scaled([1, 2], 2)).tolist()
    assert [3.0, 6.0] == np.asarray(scaled([1, 2], factor=3)).tolist()
    assert [1] == calls
    one = tf.constant([1.0])
    for args, text in [
        ((one,), "1 arguments; expected 2"),
        ((tf.constant(1.0), 2), "shape"),
        ((tf.constant([1]), 2), "int32"),
        ((one, [2.0]), "shape"),
        ((one, "text"), "text"),
        (((one, one), 2), "shape"),
    ]:
        with pytest.raises(TypeError, match=text):
            scaled(*args)
    with pytest.raises(TypeError, match="other arguments"):
        scaled(one, wrong=2)
    with pytest.raises(TypeError, match="expected TensorSpecs"):
        tf.function(lambda x: x, input_signature=["x"])(one)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="expected a function"):
        tf.function(3)
    with pytest.raises(TypeError, match="documented arguments"):
        tf.function(lambda: 1, wrong=True)
    assert tf.function(tf.function(len)).python_function is len


def test_bodies_know_that_they_are_staged(strategy):
    seen = []

    def look():
        seen.append((tf.executing_eagerly(), tf.distribute.in_cross_replica_context(), ctx() is not None))

    @tf.function
    def outer():
        look()
        strategy.run(look)
        with strategy.scope():
            look()

    outer()
    look()

    assert [(False, False, True), *[(False, False, True)] * 2, (False, True, False), (True, False, True)] == seen


def test_a_function_may_use_two_strategies(names):
    two, three = tf.distribute.MirroredStrategy(names[:2]), tf.distribute.MirroredStrategy(names[2:5])

    @tf.function
    def both(x):
        first = two.reduce("SUM", two.run(lambda y: y + 1, args=(x,)), axis=None)
        return three.reduce("SUM", three.run(lambda y: y * 2, args=(first,)), axis=None)

    for x in (1.0, 2.0):
        assert 3 * 2 * 2 * (x + 1) == float(both(tf.constant(x)))


def test_threads_may_call_one_function(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    step = tf.function(lambda x: ctx().all_reduce("SUM", x * 2.0))
    results = {}

    def work(number):
        results[number] = numbers(strategy, strategy.run(step, args=(tf.constant(float(number)),)))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert {number: [4.0 * number] * 2 for number in range(6)} == results


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_tensors_pass(strategy, shape):
    with strategy.scope():
        v = tf.Variable(np.zeros(shape, np.float32), aggregation=SUM)

    result = strategy.run(tf.function(lambda x: v.assign_add(x) + 1.0), args=(tf.zeros(shape),))

    assert [shape] * 2 == [tuple(part.shape) for part in strategy.experimental_local_results(result)]


def test_empty_tensors_keep_their_shape_beside_others(strategy):
    numbers = strategy.experimental_distribute_values_from_function(lambda _: tf.zeros([2, 0]))

    @tf.function
    def called(x):
        return strategy.run(lambda x: (x * 2.0, tf.ones([3])), args=(x,))

    results = [strategy.experimental_local_results(result) for result in called(numbers)]

    assert [[(2, 0)] * 2, [(3,)] * 2] == [[tuple(part.shape) for part in parts] for parts in results]


@pytest.mark.parametrize("axis", [0, 1])
def test_empty_tensors_are_gathered(strategy, axis):
    result = strategy.run(tf.function(lambda x: ctx().all_gather(x, axis=axis)), args=(tf.zeros([2, 0]),))

    shape = (4, 0) if axis == 0 else (2, 0)
    assert [shape] * 2 == [tuple(part.shape) for part in strategy.experimental_local_results(result)]


def test_a_body_without_results_runs(strategy):
    calls = []

    @tf.function
    def nothing(x):
        calls.append(1)

    for _ in range(3):
        assert strategy.run(nothing, args=(tf.constant(1.0),)) is None
    assert 2 == len(calls)


def test_one_device_and_default_strategies_stage_too(names):
    one = tf.distribute.OneDeviceStrategy(names[1])
    with one.scope():
        v = tf.Variable(1.0)
    step = tf.function(lambda x: v.assign_add(ctx().all_reduce("SUM", x)) + 0.0)

    assert [2.0, 3.0] == [float(one.run(step, args=(tf.constant(1.0),))) for _ in range(2)]
    plain = tf.Variable(1.0)
    assert 3.0 == float(tf.function(lambda: plain.assign_add(2.0) + 0.0)())
    assert 3.0 == plain.numpy()


def test_helpers_compiled_by_jax_see_the_right_replica(strategy):
    @jax.jit
    def helper(x):
        return x * (ctx().replica_id_in_sync_group + 1) + ctx().all_reduce("SUM", jnp.sum(x))

    for _ in range(2):
        step = tf.function(helper)
        assert [[3.0], [4.0]] == numbers(strategy, strategy.run(step, args=(tf.ones([1]),)))


@pytest.mark.parametrize(
    ("shape", "replicas", "partition"), [([1, 2, 2, 2], 1, [1, 2, 4, 1]), ([1, 1, 2, 2], 2, [1, 2, 2, 1])]
)
@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_logical_devices_share_the_work_of_a_program(backend, shape, replicas, partition):
    with tf.using(backend, **({"cpus": 8} if backend == "jax" else {"tpus": 8})):
        topology = tf.tpu.experimental.initialize_tpu_system()
        assignment = tf.tpu.experimental.DeviceAssignment.build(topology, shape, num_replicas=replicas)
        strategy = tf.distribute.TPUStrategy(experimental_device_assignment=assignment)
    with strategy.scope():
        w = tf.Variable(np.full((3, 5), 0.5, np.float32), aggregation=MEAN)
    calls = []

    def replica(x):
        calls.append(1)
        x = strategy.experimental_split_to_logical_devices(x, partition)
        y = strategy.experimental_replicate_to_logical_devices(x @ w.read_value())
        w.assign_add(ctx().all_reduce("MEAN", tf.ones([3, 5])))
        return y

    step = tf.function(lambda x: strategy.run(replica, args=(x,)))
    images = np.arange(2 * 4 * 8 * 3, dtype=np.float32).reshape(2, 4, 8, 3)
    x = strategy.run(lambda: tf.constant(images))
    for bias in (0.5, 1.5):
        result = step(x)
        for part, device in zip(
            strategy.experimental_local_results(result), strategy.extended.worker_devices, strict=True
        ):
            np.testing.assert_allclose(np.asarray(part), images @ np.full((3, 5), bias), rtol=1e-5)
            assert device == strategy.extended.backend.device_of(part)

    assert [1] == calls  # a TPU's replicas are traced once for all
    assert [2.5] * replicas == [part[0][0] for part in numbers(strategy, w)]
    if backend == "jax":
        text = step.experimental_get_compiler_ir(x)(stage="hlo")
        tiles = ",".join(map(str, partition))
        assert f"sharding={{devices=[{tiles}" in text


@pytest.mark.parametrize(("shape", "replicas", "pieces"), [([1, 2, 2, 2], 1, 8), ([1, 1, 2, 2], 2, 4)])
def test_logical_devices_share_constants_of_a_program(shape, replicas, pieces):
    with tf.using("jax", cpus=8):
        topology = tf.tpu.experimental.initialize_tpu_system()
        assignment = tf.tpu.experimental.DeviceAssignment.build(topology, shape, num_replicas=replicas)
        strategy = tf.distribute.TPUStrategy(experimental_device_assignment=assignment)
        step = tf.function(
            lambda: strategy.run(lambda: strategy.experimental_split_to_logical_devices(tf.range(8.0), [pieces]) * 10.0)
        )

        assert [[10.0 * number for number in range(8)]] * replicas == numbers(strategy, step())
        assert f"sharding={{devices=[{pieces}" in step.experimental_get_compiler_ir()(stage="hlo")


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_logical_devices_share_empty_tensors(shape):
    with tf.using("jax", cpus=8):
        topology = tf.tpu.experimental.initialize_tpu_system()
        assignment = tf.tpu.experimental.DeviceAssignment.build(topology, [1, 1, 2, 2], num_replicas=2)
        strategy = tf.distribute.TPUStrategy(experimental_device_assignment=assignment)
        with strategy.scope():
            own = tf.Variable(np.zeros(shape, np.float32), synchronization=ON_READ, aggregation=SUM)
        result = strategy.run(tf.function(lambda x: own.assign_add(x) + 1.0), args=(tf.zeros(shape),))

    assert [shape] * 2 == [tuple(part.shape) for part in strategy.experimental_local_results(result)]


def test_a_program_can_be_read(strategy):
    step = tf.function(lambda x: strategy.reduce("SUM", strategy.run(lambda y: y * 2, args=(x,)), axis=None))

    text = step.experimental_get_compiler_ir(numbered(strategy))()

    assert "multiply" in text
    assert "HloModule" in step.experimental_get_compiler_ir(numbered(strategy))(stage="optimized_hlo")
    loop = tf.function(list)
    with pytest.raises(ValueError, match="runs in Python"):
        loop.experimental_get_compiler_ir(tf.data.Dataset.range(2))


@pytest.fixture
def eagerly():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


class TestEagerly:
    """`tf.config.run_functions_eagerly(True)`."""

    def test_a_body_is_called_each_time(self, any_backend):
        calls = []
        called = tf.function(lambda x: calls.append(type(x)) or x + 1.0)
        called(tf.constant(1.0)), called(tf.constant(1.0))
        before = len(calls)
        tf.config.run_functions_eagerly(True)
        try:
            assert tf.config.functions_run_eagerly()
            answers = [float(called(tf.constant(number))) for number in (1.0, 2.0)]
        finally:
            tf.config.run_functions_eagerly(False)

        assert [2.0, 3.0] == answers
        assert [type(tf.constant(1.0))] * 2 == calls[before:], "with tensors, not with what stands for them"
        assert not tf.config.functions_run_eagerly()
        called(tf.constant(1.0))
        assert before + 2 == len(calls), "the program of before is used again"

    @pytest.mark.parametrize("inner", [False, True])
    def test_so_is_what_it_runs_in_replicas(self, any_backend, names, eagerly, inner):
        strategy = tf.distribute.MirroredStrategy(names[:2])
        calls = []
        with strategy.scope():
            total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

        def body(x):
            calls.append(float(x))
            total.assign_add(x)

        step = tf.function(body) if inner else body
        run = (
            (lambda x: strategy.run(step, args=(x,))) if inner else tf.function(lambda x: strategy.run(step, args=(x,)))
        )
        for number in (1.0, 2.0):
            run(tf.constant(number))

        assert ([1.0, 1.0, 2.0, 2.0], 6.0) == (calls, float(total))

    def test_python_values_stay_what_they_are_whatever_the_signature(self, eagerly):
        called = tf.function(lambda x: x, input_signature=[tf.TensorSpec((), tf.float32)])

        assert isinstance(called(1.5), float)
        assert (2,) == tuple(called(tf.constant([1.0, 2.0])).shape)

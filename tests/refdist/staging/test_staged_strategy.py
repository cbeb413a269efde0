"""What the body of a function may do, and what it may loop over."""

import jax
import numpy as np
import pytest

import refdist as tf
from refdist._core.base.errors import MeetingError
from tests.refdist import staged_programs
from tests.refdist.staged_programs import COUNTS, MEAN, ON_READ, SUM, ctx, numbered, numbers

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


@pytest.mark.parametrize("count", COUNTS)
def test_collectives_work_inside_grad_and_scan(names, count):
    strategy = tf.distribute.MirroredStrategy(names[:count])

    @tf.function
    def step(x):
        def total(y):
            return (ctx().all_reduce("SUM", y) ** 2).sum()

        def add(carry, _):
            return carry + ctx().all_reduce("MEAN", x).sum(), None

        return jax.grad(total)(x), jax.lax.scan(add, 0.0, None, length=3)[0], ctx().all_gather(x, axis=0)

    x = numbered(strategy)
    gradient, scanned, gathered = strategy.run(step, args=(x,))

    sums = np.sum([[1 * (i + 1), 2 * (i + 1)] for i in range(count)], axis=0)
    # As in TensorFlow, the gradient of a sum over replicas is the sum of the replicas' gradients.
    assert [(2 * sums * count).tolist()] * count == numbers(strategy, gradient)
    assert np.allclose(numbers(strategy, scanned), 3 * sums.sum() / count)
    assert [[n * (i + 1) for i in range(count) for n in (1.0, 2.0)]] * count == numbers(strategy, gathered)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_function_called_by_every_replica_is_one_program(names, count):
    strategy = tf.distribute.MirroredStrategy(names[:count])
    calls = []

    @tf.function
    def inner(x, scale):
        calls.append(1)
        return {"sum": ctx().all_reduce("SUM", x) * scale}

    for _ in range(2):
        result = strategy.run(lambda x: inner(x, scale=2.0)["sum"] + 1.0, args=(tf.constant(1.0),))

    assert [2.0 * count + 1] * count == numbers(strategy, result)
    assert count == len(calls)


def test_a_function_that_some_replicas_do_not_call_is_an_error(strategy):
    inner = tf.function(lambda x: x + 1)

    with pytest.raises(MeetingError, match=r"a tf\.function"):
        strategy.run(lambda x: inner(x) if ctx().replica_id_in_sync_group else x, args=(tf.constant(1.0),))


def test_functions_call_functions(names):
    calls = []

    @tf.function
    def inner(x):
        calls.append("inner")
        return x, 2

    @tf.function
    def outer(x):
        calls.append("outer")
        value, two = inner(x)
        return value * two

    assert [6.0, 8.0] == [float(outer(tf.constant(x))) for x in (3.0, 4.0)]
    assert ["outer", "inner"] == calls


def test_a_function_under_a_transformation_of_jax_is_a_part_of_it(names):
    square = tf.function(lambda x: x * x)

    assert 6.0 == float(jax.grad(square)(3.0))
    assert 9.0 == float(jax.jit(square)(3.0))


def test_values_of_one_replica_stay_per_replica(names):
    strategy = tf.distribute.MirroredStrategy(names[:1])
    given = strategy.experimental_distribute_values_from_function(lambda context: tf.constant([1.0]))

    @tf.function
    def step(x):
        made = strategy.experimental_distribute_values_from_function(lambda context: tf.constant([2.0]))
        return x, made, strategy.run(lambda y, z: y + z, args=(x, made))

    passed_through, made, total = step(given)

    assert [[1.0]] == [part.tolist() for part in passed_through.values]
    assert [[2.0]] == [part.tolist() for part in made.values]
    assert [3.0] == total.tolist()


def test_values_made_in_a_function_reach_their_replicas(strategy):
    @tf.function
    def step():
        values = strategy.experimental_distribute_values_from_function(
            lambda context: (tf.constant(context.replica_id_in_sync_group), context.replica_id_in_sync_group * 10)
        )
        both = strategy.run(lambda pair: pair[0] + pair[1], args=(values,))
        return strategy.experimental_local_results(both), strategy.reduce("SUM", both, axis=None), both

    parts, total, both = step()

    assert ([0, 11], 11, [0, 11]) == ([int(part) for part in parts], int(total), numbers(strategy, both))


def test_python_values_leave_a_function_as_tensors(strategy):
    one, half, yes, nothing, (three,) = tf.function(lambda: (1, 2.5, True, None, [3]))()

    assert ["int32", "float32", "bool", "int32"] == [str(value.dtype) for value in (one, half, yes, three)]
    assert nothing is None
    per_replica = tf.function(lambda: strategy.run(lambda: ctx().replica_id_in_sync_group))()
    assert [0, 1] == numbers(strategy, per_replica)
    same = tf.function(lambda: strategy.run(lambda: 7))()
    assert 7 == int(same)


def test_a_variable_leaves_a_function_as_its_value(strategy):
    with strategy.scope():
        v = tf.Variable(2.0)

    assert not isinstance(tf.function(lambda: v)(), tf.Variable)


def test_text_passes_through(strategy):
    if "GPU" not in strategy.extended.worker_devices[0]:
        pytest.skip("JAX has no text")
    text = tf.constant(["a", "b"])

    @tf.function
    def step(text, x):
        return text, strategy.run(lambda t: t, args=(text,)), x + 1

    for x in (1.0, 2.0):
        first, second, number = step(text, tf.constant(x))
        assert first is second is text
        assert x + 1 == float(number)


def test_results_of_other_libraries_become_tensors(strategy):
    result = strategy.run(tf.function(lambda x: (np.ones(2, np.float32), x)), args=(tf.constant(1.0),))[0]

    assert [[1.0, 1.0]] * 2 == numbers(strategy, result)


def test_reductions_of_whole_numbers_are_exact():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()

    @tf.function
    def step(x):
        values = strategy.run(lambda: x + ctx().replica_id_in_sync_group)
        return strategy.reduce("MEAN", values, axis=None), strategy.reduce("SUM", values, axis=None)

    for dtype in (np.int32, np.int64):
        mean, total = step(tf.constant(np.array(2**20, dtype)))
        assert (np.float64, dtype) == (mean.dtype, total.dtype)
        assert (2**20 + 0.5, 2**21 + 1) == (float(mean), int(total))


def test_64_bits_stay_64_bits():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        big = 2**40
        with strategy.scope():
            v = tf.Variable(np.int64(big), aggregation=SUM)

        result = strategy.run(tf.function(lambda x: v.assign_add(x) + x), args=(tf.constant(np.int64(big)),))

    assert [3 * big + big] * 2 == numbers(strategy, result)
    assert 3 * big == v.numpy()


@pytest.mark.parametrize("op", ["SUM", "MEAN"])
def test_reductions_along_an_axis_count_every_example_once(strategy, op):
    x = strategy.run(lambda: tf.constant([1.0, 2.0]) + float(ctx().replica_id_in_sync_group))

    staged = tf.function(lambda x: strategy.reduce(op, strategy.run(lambda y: y * 2, args=(x,)), axis=0))(x)

    assert float(strategy.reduce(op, strategy.run(lambda y: y * 2, args=(x,)), axis=0)) == float(staged)


def test_gather_joins_in_the_order_of_the_replicas(strategy):
    joined = tf.function(lambda x: strategy.gather(strategy.run(lambda y: y, args=(x,)), axis=0))(numbered(strategy))

    assert [1.0, 2.0, 2.0, 4.0] == np.asarray(joined).tolist()


def test_a_users_own_reduction_is_used(names):
    class Largest(tf.distribute.CrossDeviceOps):
        def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
            a, b = per_replica_value.values
            return (a + b + abs(a - b)) / 2

    strategy = tf.distribute.MirroredStrategy(names[:2], cross_device_ops=Largest())

    result = strategy.run(tf.function(lambda x: ctx().all_reduce("SUM", x)), args=(numbered(strategy),))

    assert [[2.0, 4.0]] * 2 == numbers(strategy, result)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("closed_over", [True, False])
def test_a_loop_over_data_sees_every_element_in_each_call(names, count, closed_over):
    strategy = tf.distribute.MirroredStrategy(names[:count])
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(10).batch(4))
    with strategy.scope():
        seen = tf.Variable(0, dtype=tf.int64, synchronization=ON_READ, aggregation=SUM)
    calls = []

    def replica(x):
        calls.append(x.shape)
        seen.assign_add(tf.reduce_sum(x))
        return tf.reduce_sum(x)

    @tf.function
    def epoch(data=None):
        total = 0
        for x in dataset if data is None else data:
            total += strategy.reduce("SUM", strategy.run(replica, args=(x,)), axis=None)
        return total

    for number in (1, 2):
        assert 45 == int(epoch() if closed_over else epoch(dataset))
        assert 45 * number == int(seen.read_value())


def test_a_steady_loop_is_not_traced_again(strategy):
    calls = []
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(32).batch(4))

    @tf.function
    def steps(iterator):
        for _ in range(4):
            strategy.run(lambda x: calls.append(1), args=(next(iterator),))

    iterator = iter(dataset)
    steps(iterator)
    steps(iterator)

    assert 8 == len(calls), "four runs of two replicas, when the first call was traced"


@pytest.mark.parametrize("drop", [True, False])
def test_uneven_last_batches_give_right_answers(strategy, drop):
    data = tf.data.Dataset.from_tensor_slices(np.arange(11, dtype=np.float32)).batch(4, drop_remainder=drop)
    with strategy.scope():
        weight = tf.Variable(1.0, aggregation=MEAN)

    @tf.function
    def step(x):
        def replica(x):
            weight.assign_add(ctx().all_reduce("SUM", tf.reduce_sum(x)))
            return x * 2

        return strategy.reduce("SUM", strategy.run(replica, args=(x,)), axis=0)

    totals = [float(step(x)) for x in strategy.experimental_distribute_dataset(data)]

    assert [12.0, 44.0, 54.0][: 2 if drop else 3] == totals
    assert 1 + sum(totals) / 2 == float(weight.numpy())


def test_functions_made_anew_in_each_step_do_not_fill_the_memory(strategy):
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(40).batch(2))

    @tf.function
    def epoch(data):
        total = 0
        for x in data:
            share = strategy.reduce("SUM", x, axis=0)
            total += strategy.reduce("SUM", strategy.run(lambda: share * 1), axis=None)  # noqa: B023
        return total

    assert 2 * sum(range(40)) == int(epoch(dataset))
    assert len(epoch._programs) <= 4


NO_RUNS = {
    "a tensor": lambda strategy, x: strategy.run(tf.constant(1.0)),
    "a generator": lambda strategy, x: strategy.run(rows),
    "a value for args": lambda strategy, x: strategy.run(lambda own: own, args=x),
    "a dict for args": lambda strategy, x: strategy.run(lambda own: own, args={"own": 1}),
    "pairs for kwargs": lambda strategy, x: strategy.run(lambda own: own, kwargs=[("own", 1)]),
    "no function in call_for_each_replica": lambda strategy, x: strategy.extended.call_for_each_replica(3),
}


def rows(x):
    yield x


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("given", NO_RUNS)
def test_what_is_no_run_is_refused_in_the_same_words_in_a_function(strategy, mode, given):
    x = numbered(strategy)

    with pytest.raises(
        (TypeError, ValueError), match=r"run\(\) got (?s:.*); expected (a function|an ordinary one|a tuple|a dict)"
    ):
        mode(lambda: NO_RUNS[given](strategy, x))()


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("together", [False, True], ids=["reduce_to", "batch_reduce_to"])
@pytest.mark.parametrize(
    ("there", "error", "said"),
    [
        ("TPU:9", ValueError, "does not exist"),
        (["CPU:0", "TPU:9"], ValueError, "does not exist"),
        ("not a device", ValueError, "expected a name such as"),
        (5, TypeError, "expected a device name"),
        ([], TypeError, "expected a device name"),
    ],
)
def test_what_is_no_destination_is_refused_in_a_function_too(strategy, mode, together, there, error, said):
    x, extended = numbered(strategy), strategy.extended

    with pytest.raises(error, match=said):
        mode(
            lambda: extended.batch_reduce_to("SUM", [(x, there)]) if together else extended.reduce_to("SUM", x, there)
        )()


def test_a_list_of_one_destination_is_that_destination_in_a_function_too(strategy, names):
    x = numbered(strategy)

    def reduced(there):
        return len(strategy.experimental_local_results(strategy.extended.reduce_to("SUM", x, there)))

    for there, count in (([names[1]], 1), ([x], 2), (names[:2], 2), ("CPU:0", 1), (tf.constant(1.0), 1)):
        assert count == reduced(there)
        assert count == tf.function(lambda there=there: reduced(there))()


def test_a_function_that_does_not_run_when_it_is_called_is_refused():
    async def waiting():
        return tf.constant(1.0)

    def going_on():
        yield tf.constant(1.0)

    with tf.using("simulator", tpus=2):
        strategy = tf.distribute.TPUStrategy()
        for fn in (waiting, going_on):
            with pytest.raises(TypeError, match="a generator or a coroutine function"):
                tf.function(lambda fn=fn: strategy.run(fn))()

"""Running replicas eagerly, and combining what they bring: reduce_to, batch_reduce_to, call_for_each_replica."""

import contextvars
import weakref

import numpy as np
import pytest

import refdist as tf
from tests.children import run_python

NONE, SUM, MEAN, FIRST = tf.VariableAggregation
ON_READ = tf.VariableSynchronization.ON_READ
ctx = tf.distribute.get_replica_context
MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


def replica_id():
    return ctx().replica_id_in_sync_group


def numbers(strategy, value):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(value)]


def places(strategy, value):
    return [tf.device_name(part)[-5:] for part in strategy.experimental_local_results(value)]


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[1:4])


def make(strategy, value=1.0, **options):
    with strategy.scope():
        return tf.Variable(value, **options)


def each(strategy):
    """1, 2, 3 and so on, on the replicas."""
    return strategy.run(each_number)


def each_number():
    return tf.constant(1.0) * (replica_id() + 1)


class TestReduceTo:
    """Combining to a destination."""

    @pytest.mark.parametrize("count", [1, 3, 7])
    @pytest.mark.parametrize(("op", "expected"), [("SUM", lambda n: n * (n + 1) / 2), ("MEAN", lambda n: (n + 1) / 2)])
    def test_values_are_combined(self, names, any_backend, count, op, expected):
        strategy = tf.distribute.MirroredStrategy(names[:count])
        result = strategy.extended.reduce_to(op, each(strategy), names[7])

        assert ([expected(count)], [names[7]]) == (numbers(strategy, result), places(strategy, result))

    def test_a_value_reduced_to_itself_stays_on_its_devices(self, strategy, names):
        value = each(strategy)
        result = strategy.extended.reduce_to("SUM", value, value)

        assert ([6.0] * 3, names[1:4]) == (numbers(strategy, result), places(strategy, result))

    def test_the_mean_of_one_value_for_all_is_the_value(self, strategy, names):
        result = strategy.extended.reduce_to("MEAN", tf.constant(3.0), names[1:3])

        assert ([3.0] * 2, names[1:3]) == (numbers(strategy, result), places(strategy, result))

    @pytest.mark.parametrize("value", [3.0, np.float32(3)])
    def test_the_sum_of_one_value_for_all_is_refused(self, strategy, value):
        with pytest.raises(ValueError, match="over 3 replicas; expected a per-replica value"):
            strategy.extended.reduce_to("SUM", value, "CPU:0")

    def test_one_value_is_the_sum_of_one_replica(self, names, any_backend):
        strategy = tf.distribute.MirroredStrategy(names[:1])

        assert [3.0] == numbers(strategy, strategy.extended.reduce_to("SUM", 3.0, "CPU:0"))

    def test_an_on_read_variable_is_combined_copy_by_copy(self, strategy):
        variable = make(strategy, 0.0, synchronization=ON_READ)
        strategy.run(lambda: variable.assign(tf.constant(1.0) * replica_id()))

        assert [3.0] == numbers(strategy, strategy.extended.reduce_to("SUM", variable, "CPU:0"))

    def test_components_that_are_numbers_are_taken_as_tensors(self, strategy):
        value = strategy.experimental_distribute_values_from_function(lambda c: c.replica_id_in_sync_group + 1.0)

        assert [6.0] == numbers(strategy, strategy.extended.reduce_to("SUM", value, "CPU:0"))

    def test_a_value_of_another_strategy_is_refused(self, names, strategy):
        two = tf.distribute.MirroredStrategy(names[:2])
        with pytest.raises(ValueError, match="2 components met a strategy of 3 replicas"):
            strategy.extended.reduce_to("SUM", each(two), "CPU:0")


class TestBatchReduceTo:
    """Several at once."""

    def test_each_goes_to_its_own_destination(self, strategy, names):
        value = each(strategy)
        first, second = strategy.extended.batch_reduce_to("SUM", [(value, names[5]), (value, value)])

        assert ([6.0], [names[5]]) == (numbers(strategy, first), places(strategy, first))
        assert ([6.0] * 3, names[1:4]) == (numbers(strategy, second), places(strategy, second))

    def test_none_are_none(self, strategy):
        assert [] == strategy.extended.batch_reduce_to("SUM", [])

    def test_shapes_and_dtypes_may_differ_between_pairs(self, strategy):
        value, other = each(strategy), strategy.run(lambda: tf.constant([[1, 2]]) * (replica_id() + 1))
        results = strategy.extended.batch_reduce_to("SUM", [(value, "CPU:0"), (other, "CPU:0")])

        assert [6.0, [[6, 12]]] == [np.asarray(one).tolist() for one in results]

    def test_one_plain_value_among_them_is_refused_by_a_sum_and_kept_by_a_mean(self, strategy):
        pairs = [(each(strategy), "CPU:0"), (4.0, "CPU:0")]
        with pytest.raises(ValueError, match="expected a per-replica value"):
            strategy.extended.batch_reduce_to("SUM", pairs)

        assert [2.0, 4.0] == [float(one) for one in strategy.extended.batch_reduce_to("MEAN", pairs)]

    def test_an_operator_that_is_none_is_refused(self, strategy):
        with pytest.raises(ValueError, match="expected one of SUM, MEAN"):
            strategy.extended.batch_reduce_to("MAX", [])


class TestCallForEachReplica:
    """What `run` does."""

    def test_arguments_and_names_reach_the_replicas(self, strategy):
        value = each(strategy)
        result = strategy.extended.call_for_each_replica(lambda x, y: (x, y), args=(value,), kwargs={"y": value})

        assert [[1.0, 2.0, 3.0]] * 2 == [numbers(strategy, one) for one in result]

    def test_what_is_no_function_is_refused(self, strategy):
        with pytest.raises(TypeError, match="expected"):
            strategy.extended.call_for_each_replica(None)


NOTE = contextvars.ContextVar("note", default="none")


def test_each_run_begins_with_the_context_variables_that_are_set_around_it(strategy):
    def body():
        found = NOTE.get()
        NOTE.set("inside")
        return found

    def seen():
        return set(strategy.experimental_local_results(strategy.run(body)))

    def around():
        NOTE.set("around")
        return seen()

    alone = contextvars.Context()  # in which nothing else is set, so that runs have their contexts in common

    assert [{"none"}] * 5 == [seen(), seen(), *(alone.run(seen) for _ in range(3))]
    assert {"around"} == contextvars.copy_context().run(around)
    assert ({"none"}, "none") == (seen(), NOTE.get())


def test_what_is_set_around_a_run_is_not_kept_after_it(strategy):
    class Note:
        """What a weak reference can point at."""

    def noted():
        note = Note()
        NOTE.set(note)
        strategy.run(lambda: None)
        return weakref.ref(note)

    for _ in range(2):  # the second run has what the first has left
        gone = contextvars.Context().run(noted)

        assert gone() is None


WALK = """
import sys
import refdist as tf

tf.use("simulator", gpus=2)
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    variable = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
ones, calls = strategy.run(lambda: tf.constant(1.0)), []

def body(x):
    variable.assign_add(tf.distribute.get_replica_context().all_reduce("SUM", x))
    return variable.read_value()

def seen(frame, event, _):
    name = frame.f_globals.get("__name__", "")
    if event == "call" and name.startswith(("refdist.", "simulator.")):
        calls.append((name, frame.f_code))

for _ in range(2):  # the first run prepares later ones
    strategy.run(body, args=(ones,))
sys.setprofile(seen)
strategy.run(body, args=(ones,))
sys.setprofile(None)
print(len({name for name, _ in calls}), len(set(calls)), len(calls))
"""


def test_one_eager_run_goes_through_few_files_functions_and_calls():
    """What a reader of the code relies on; in a process without JAX, whose presence is asked for in more places."""
    files, functions, calls = map(int, run_python(WALK).stdout.split())

    assert files <= 12
    assert functions <= 90
    assert 50 < calls <= 300

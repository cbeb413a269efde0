"""The verbs for library authors: update, reduce_to, broadcast_to, and who may call them where."""

import gc

import numpy as np
import pytest

import refdist as tf

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


class TestUpdate:
    """A function for each copy of a variable, on the device of the copy."""

    def test_it_gets_the_parts_of_its_arguments_that_lie_with_the_copy(self, strategy):
        variable, seen = make(strategy, synchronization=ON_READ, aggregation=SUM), []

        def change(copy, *args, **kwargs):
            seen.append((copy.device[-5:], *map(float, args), *map(float, kwargs.values())))

        value = each(strategy)
        strategy.extended.update(variable, change, args=(value, 5.0), kwargs={"again": value})

        homes = [device[-5:] for device in strategy.extended.worker_devices]
        assert [(home, i + 1.0, 5.0, i + 1.0) for i, home in enumerate(homes)] == seen

    def test_nests_of_arguments_are_taken_apart(self, strategy):
        variable = make(strategy, 0.0, synchronization=ON_READ, aggregation=SUM)
        strategy.extended.update(variable, lambda copy, x: copy.assign(x["a"][0]), args=({"a": [each(strategy)]},))

        assert [1.0, 2.0, 3.0] == numbers(strategy, variable)

    def test_it_returns_what_the_function_returns_for_each_copy_or_as_one(self, strategy):
        variable = make(strategy, 2.0)

        def twice(copy):
            return {"twice": copy.read_value() * 2.0, "one": 1}

        grouped = strategy.extended.update(variable, twice)
        apart = strategy.extended.update(variable, twice, group=False)

        assert ([4.0] * 3, 1) == (numbers(strategy, grouped["twice"]), grouped["one"])
        assert [4.0] * 3 == [float(one["twice"]) for one in apart]
        assert isinstance(apart, tuple)

    def test_a_function_that_returns_nothing_is_fine(self, strategy):
        variable = make(strategy)

        assert strategy.extended.update(variable, lambda copy: None) is None
        assert (None, None, None) == strategy.extended.update(variable, lambda copy: None, group=False)

    def test_it_is_called_in_cross_replica_context_where_nobody_is_a_replica(self, strategy):
        seen = []

        def look(copy):
            seen.append((ctx(), tf.distribute.in_cross_replica_context(), tf.distribute.get_strategy() is strategy))

        strategy.extended.update(make(strategy), look)

        assert [(None, True, True)] * 3 == seen

    @MODES
    def test_it_is_called_from_a_merge_function(self, strategy, mode):
        variable = make(strategy, 1.0)

        def merge(strategy, value):
            total = strategy.extended.reduce_to("SUM", value, variable)
            strategy.extended.update(variable, lambda copy, x: copy.assign_sub(x), args=(total,))

        strategy.run(mode(lambda: ctx().merge_call(merge, args=(tf.constant(2.0),))))

        assert [-5.0] * 3 == numbers(strategy, variable)

    def test_a_plain_variable_has_one_copy(self, strategy):
        variable, calls = tf.Variable(1.0), []
        result = strategy.extended.update(variable, lambda copy: calls.append(copy.device) or copy.assign_add(1.0))

        assert (1, 2.0, 2.0) == (len(calls), float(variable.numpy()), float(result))

    def test_a_central_variable_has_one_copy(self, names, any_backend):
        strategy = tf.distribute.experimental.CentralStorageStrategy(names[1:4], names[0])
        variable, seen = make(strategy, 1.0), []
        strategy.extended.update(variable, lambda copy, x: seen.append(copy.device[-5:]) or copy.assign_add(x), (2.0,))

        assert ([names[0]], 3.0) == (seen, float(variable.numpy()))

    @pytest.mark.parametrize("what", [None, 3, "w", np.ones(2)])
    def test_what_is_no_variable_is_refused(self, strategy, what):
        with pytest.raises(TypeError, match=f"got a {type(what).__name__}; expected a variable"):
            strategy.extended.update(what, lambda copy: copy)

    def test_a_tensor_is_no_variable(self, strategy):
        with pytest.raises(TypeError, match="expected a variable"):
            strategy.extended.update(tf.constant(1.0), lambda copy: copy)

    def test_a_value_of_another_number_of_replicas_is_refused(self, names, strategy):
        variable = make(strategy)
        two = tf.distribute.MirroredStrategy(names[:2])
        with pytest.raises((ValueError, IndexError)):
            strategy.extended.update(variable, lambda copy, x: copy.assign(x), args=(each(two),))

        assert [1.0] * 3 == numbers(strategy, variable)

    def test_in_a_replica_it_is_refused(self, strategy):
        variable = make(strategy)
        with pytest.raises(RuntimeError, match="cross-replica context"):
            strategy.run(lambda: strategy.extended.update(variable, lambda copy: copy))


class TestUpdateNonSlot:
    """A function called once, where shared state lives."""

    def test_it_is_called_once_on_the_first_device(self, names, strategy):
        calls = []

        def fn(x, y=0.0):
            calls.append((tf.device_name(tf.constant(0.0))[-5:], float(x), float(y)))
            return "done"

        with strategy.scope():
            answer = strategy.extended.update_non_slot(
                strategy.extended.non_slot_devices([]), fn, args=(each(strategy),), kwargs={"y": 2.0}
            )

        assert ("done", [(names[1], 1.0, 2.0)]) == (answer, calls)

    def test_without_arguments_too(self, strategy):
        assert 3 == strategy.extended.update_non_slot(None, lambda: 3)


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


class TestContexts:
    """Verbs of cross-replica context enter the scope where nobody has, and refuse it in a replica."""

    VERBS = {
        "reduce_to": lambda e: e.reduce_to("MEAN", 1.0, "CPU:0"),
        "batch_reduce_to": lambda e: e.batch_reduce_to("MEAN", [(1.0, "CPU:0")]),
        "broadcast_to": lambda e: e.broadcast_to(1.0, "CPU:0"),
        "update_non_slot": lambda e: e.update_non_slot(None, lambda: 1.0),
        "call_for_each_replica": lambda e: e.call_for_each_replica(lambda: tf.constant(1.0)),
    }

    @pytest.mark.parametrize("verb", VERBS)
    def test_outside_of_scopes_and_inside_they_do_the_same(self, strategy, verb):
        outside = self.VERBS[verb](strategy.extended)
        with strategy.scope():
            inside = self.VERBS[verb](strategy.extended)

        assert str(outside) == str(inside)
        assert not tf.distribute.has_strategy()

    @pytest.mark.parametrize("verb", VERBS)
    def test_in_a_replica_they_are_refused(self, strategy, verb):
        with pytest.raises(RuntimeError, match="expected cross-replica context"):
            strategy.run(lambda: self.VERBS[verb](strategy.extended))

    @pytest.mark.parametrize("verb", VERBS)
    def test_in_the_scope_of_another_strategy_they_are_refused(self, names, strategy, verb):
        other = tf.distribute.MirroredStrategy(names[:2])
        with other.scope(), pytest.raises(RuntimeError, match="expected one strategy at a time"):
            self.VERBS[verb](strategy.extended)

    def test_an_error_leaves_the_scope(self, strategy):
        with pytest.raises(KeyError):
            strategy.extended.update_non_slot(None, lambda: {}["missing"])

        assert not tf.distribute.has_strategy()
        assert tf.device_name(tf.constant(1.0)).endswith("CPU:0")


class TestCallForEachReplica:
    """What `run` does."""

    def test_arguments_and_names_reach_the_replicas(self, strategy):
        value = each(strategy)
        result = strategy.extended.call_for_each_replica(lambda x, y: (x, y), args=(value,), kwargs={"y": value})

        assert [[1.0, 2.0, 3.0]] * 2 == [numbers(strategy, one) for one in result]

    def test_what_is_no_function_is_refused(self, strategy):
        with pytest.raises(TypeError, match="expected"):
            strategy.extended.call_for_each_replica(None)


class TestKnowing:
    """What an extended object says about its strategy."""

    def test_devices_of_replicas_and_of_variables(self, names, any_backend):
        mirrored = tf.distribute.MirroredStrategy(names[1:3]).extended
        central = tf.distribute.experimental.CentralStorageStrategy(names[1:3], names[5]).extended
        short = lambda devices: [device[-5:] for device in devices]  # noqa: E731

        assert (names[1:3], names[1:3]) == (short(mirrored.worker_devices), short(mirrored.parameter_devices))
        assert (names[1:3], [names[5]]) == (short(central.worker_devices), short(central.parameter_devices))
        assert [names[5]] == short(central.non_slot_devices([]))

    def test_a_variable_belongs_to_the_strategy_in_whose_scope_it_was_made(self, names, strategy):
        other = tf.distribute.MirroredStrategy(names[1:4])
        mine = make(strategy)

        assert (True, False) == (
            strategy.extended.variable_created_in_scope(mine),
            other.extended.variable_created_in_scope(mine),
        )
        assert all(strategy.extended.variable_created_in_scope(one) for one in mine.values)
        assert not strategy.extended.variable_created_in_scope(3)

    def test_an_object_is_enough_to_work_with_after_its_strategy_was_let_go(self):
        with tf.using("host", gpus=2):
            extended = tf.distribute.MirroredStrategy().extended
        gc.collect()
        value = extended.call_for_each_replica(each_number)

        assert 3.0 == float(extended.reduce_to("SUM", value, "CPU:0"))

    def test_variables_lie_beside_the_one_they_belong_to(self, names, any_backend):
        strategy = tf.distribute.MirroredStrategy(names[1:3])
        first = make(strategy)
        with strategy.scope(), strategy.extended.colocate_vars_with(first):
            second = tf.Variable(2.0)

        assert [one.device for one in first.values] == [one.device for one in second.values]

    def test_a_block_beside_a_variable_that_fails_is_left(self, strategy):
        variable = make(strategy)
        with pytest.raises(OSError, match="broken"), strategy.extended.colocate_vars_with(variable):
            raise OSError("broken")

        assert 3 == len(make(strategy).values)

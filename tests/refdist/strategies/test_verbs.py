"""The verbs of a strategy for library authors: update and what surrounds it, and who may call them where."""

import gc

import numpy as np
import pytest

import refdist as tf
from refdist._core.strategies.verbs import components_of

NONE, SUM, MEAN, FIRST = tf.VariableAggregation
ON_READ = tf.VariableSynchronization.ON_READ
ctx = tf.distribute.get_replica_context
MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


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
    return tf.constant(1.0) * (ctx().replica_id_in_sync_group + 1)


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

    def test_what_it_makes_lies_with_the_copy(self, strategy, names):
        found = strategy.extended.update(make(strategy), lambda copy: tf.constant(2.0) + 1.0)

        assert ([3.0] * 3, names[1:4]) == (numbers(strategy, found), places(strategy, found))

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


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
def test_an_update_of_one_copy_refuses_what_differs_between_replicas(mode):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.experimental.CentralStorageStrategy()
    with strategy.scope():
        variable = tf.Variable([0.0, 0.0])
    same = strategy.run(lambda: tf.constant([1.0, 2.0]))
    different = strategy.run(
        lambda: tf.constant([1.0, 2.0]) * (tf.distribute.get_replica_context().replica_id_in_sync_group + 1)
    )

    @mode
    def updated(delta):
        with strategy.scope():
            strategy.extended.update(variable, lambda copy, delta: copy.assign_add(delta), args=(delta,))

    updated(same)
    with pytest.raises(ValueError, match=r"one\s+value|different values"):
        updated(different)

    assert [1.0, 2.0] == variable.numpy().tolist()


def host():
    with tf.using("host", gpus=3):
        return tf.distribute.MirroredStrategy()


class TestBroadcast:
    """One tensor on several devices."""

    def test_it_lies_on_every_device_of_the_destinations(self, strategy, names):
        variable = make(strategy)
        for destinations in (names[1:4], variable, each(strategy)):
            value = strategy.extended.broadcast_to(tf.constant([1.0, 2.0]), destinations)
            assert ([[1.0, 2.0]] * 3, names[1:4]) == (numbers(strategy, value), places(strategy, value))

    def test_a_number_and_a_variable_are_broadcast_by_their_value(self, strategy, names):
        variable = make(strategy, 5.0)

        assert [7.0, 5.0] == [float(strategy.extended.broadcast_to(one, names[2])) for one in (7.0, variable)]


class TestVariables:
    """What a strategy says about the variables that it has made."""

    def test_a_copy_belongs_to_its_variable_and_anything_else_is_itself(self, strategy):
        variable, tensor = make(strategy), tf.constant(1.0)

        assert all(variable is strategy.extended.value_container(copy) for copy in variable.values)
        assert variable is strategy.extended.value_container(variable)
        assert tensor is strategy.extended.value_container(tensor)

    @pytest.mark.parametrize(("aggregation", "expected"), [(SUM, 6.0), (MEAN, 2.0), (FIRST, 1.0)])
    def test_reading_one_combines_its_copies_where_these_may_differ(self, aggregation, expected):
        strategy = host()
        variable = make(strategy, 0.0, synchronization=ON_READ, aggregation=aggregation)
        strategy.run(lambda: variable.assign(each_number()))

        assert expected == float(strategy.extended.read_var(variable))

    def test_one_of_another_strategy_is_not_updated(self):
        strategy, other = host(), host()
        variable = make(other)
        with pytest.raises(
            ValueError, match=r"'Variable:0', a variable of another strategy; .*the strategy that made it"
        ):
            strategy.extended.update(variable, lambda copy: copy.assign(9.0))

        assert 1.0 == float(variable.numpy())

    @pytest.mark.parametrize("wrong", [lambda: 3, lambda: tf.Variable(1.0), lambda: make(host())])
    def test_nothing_is_colocated_with_what_it_has_not_made(self, wrong):
        strategy = host()
        with pytest.raises(ValueError, match=r"(?s)colocate_vars_with\(\) got .*; expected a variable made in this"):
            strategy.extended.colocate_vars_with(wrong()).__enter__()


class TestInside:
    """What the verbs are made of."""

    def test_results_go_to_the_device_that_is_entered_or_else_to_the_host(self):
        strategy = host()
        found = [strategy.extended.current_device().short]
        with strategy.scope(), tf.device("GPU:2"):
            found.append(strategy.extended.current_device().short)

        assert ["CPU:0", "GPU:2"] == found

    def test_slices_stay_slices_where_they_can_be_combined_and_are_made_whole_where_not(self):
        extended = host().extended
        slices, device = tf.IndexedSlices([1.0], [1], dense_shape=[3]), extended.plan.devices[1]
        kept, whole = extended.combinable(slices, device), extended.tensor(slices, device)

        assert isinstance(kept, tf.IndexedSlices)
        assert [device] * 2 == [kept.values.device, kept.indices.device]
        assert ([0.0, 1.0, 0.0], device) == (whole.numpy().tolist(), whole.device)

    def test_the_components_of_a_value_are_tensors_and_a_plain_value_is_its_own(self):
        strategy = host()
        with tf.using("host", gpus=1):
            alone = tf.distribute.MirroredStrategy()

        assert [1.0, 2.0, 3.0] == [float(one) for one in strategy.extended.components(each(strategy))]
        assert [3.0] == [float(one) for one in alone.extended.components(3.0)]
        assert [5] == components_of(5)
        with pytest.raises(ValueError, match="expected a per-replica value"):
            strategy.extended.components(3.0)

    def test_the_compiler_of_a_strategy_is_made_once(self):
        extended = host().extended

        assert extended.compiler() is extended.compiler()

    def test_the_first_strategy_made_from_an_object_stays_its_strategy(self):
        strategy, other = host(), host()
        strategy.extended.bind(other)

        assert strategy is strategy.extended.strategy
        assert strategy is strategy.extended.first_replica.strategy


MISUSES = {
    "update of no function": (lambda extended, var, x: extended.update(var, 5), "expected a function"),
    "update with a value for args": (lambda extended, var, x: extended.update(var, print, args=x), r"Write args=\("),
    "update with pairs": (lambda extended, var, x: extended.update(var, print, kwargs=[("x", 1)]), "Pass a dict"),
    "no function": (lambda extended, var, x: extended.update_non_slot(None, 5), "expected a function"),
    "a number for args": (lambda extended, var, x: extended.update_non_slot(None, print, args=5), r"Write args=\(5,\)"),
    "one pair": (lambda extended, var, x: extended.batch_reduce_to("SUM", (x, x)), "expected a list of pairs"),
    "one value": (lambda extended, var, x: extended.batch_reduce_to("SUM", x), "expected a list of pairs"),
    "a triple": (lambda extended, var, x: extended.batch_reduce_to("SUM", [(x, x, x)]), "expected a list of pairs"),
    "text": (lambda extended, var, x: extended.batch_reduce_to("SUM", ["ab"]), "expected a list of pairs"),
}


@MODES
@pytest.mark.parametrize("given", MISUSES)
def test_arguments_of_another_type_are_refused_with_what_to_write(strategy, mode, given):
    call, said = MISUSES[given]
    variable, x = make(strategy), each(strategy)

    with pytest.raises(
        (TypeError, ValueError), match=rf"(?s:(update|update_non_slot|batch_reduce_to)\(\) got .*){said}"
    ):
        mode(lambda: call(strategy.extended, variable, x))()


@MODES
def test_values_and_destinations_may_be_zipped(strategy, mode):
    x = each(strategy)

    first, second = mode(
        lambda: strategy.extended.batch_reduce_to("SUM", zip([x, x], ["CPU:0", "CPU:0"], strict=True))
    )()

    assert float(first) == float(second) == 6.0


def test_pairs_of_another_type_are_refused_by_cross_device_ops():
    with pytest.raises(ValueError, match=r"batch_reduce\(\) got 5; expected a list of pairs"):
        tf.distribute.NcclAllReduce().batch_reduce("SUM", [5])


@MODES
@pytest.mark.parametrize("axis", [0, -1])
def test_gathering_scalars_says_how_to_give_them_a_dimension(strategy, mode, axis):
    x = each(strategy)

    with pytest.raises(ValueError, match=r"Scalars were to be gathered.*tensor\[None\]"):
        mode(lambda: strategy.gather(x, axis))()


@MODES
def test_a_per_replica_value_in_an_operation_is_refused_at_its_line(strategy, mode):
    x = each(strategy)

    with pytest.raises(ValueError, match=r"a per-replica value, with 3 components, at .*test_verbs\.py:\d+"):
        mode(lambda: tf.reduce_mean(strategy.run(lambda own: own * 2.0, args=(x,))))()

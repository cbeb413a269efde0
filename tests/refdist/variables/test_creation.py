"""What becomes of a new variable: how many copies, where, of which value, and for whom."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.clusters.workers import run_workers
from refdist._core.variables import creation
from tests.generators import DTYPES

NONE, SUM, MEAN, FIRST = tf.VariableAggregation
AUTO, UNSYNCHRONIZED, ON_WRITE, ON_READ = tf.VariableSynchronization
ctx = tf.distribute.get_replica_context


def replica_id():
    return ctx().replica_id_in_sync_group


def make(strategy, value=1.0, **options):
    with strategy.scope():
        return tf.Variable(value, **options)


def host(count):
    with tf.using("host", gpus=count):
        return tf.distribute.MirroredStrategy()


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[1:4])


class TestCopies:
    """One on each home, all of one value."""

    @pytest.mark.parametrize("count", [1, 3, 7])
    @pytest.mark.parametrize("synchronization", [AUTO, ON_WRITE, ON_READ])
    def test_there_is_one_on_the_device_of_each_replica(self, names, count, synchronization):
        strategy = tf.distribute.MirroredStrategy(names[1 : 1 + count])
        variable = make(strategy, 2.0, synchronization=synchronization, aggregation=MEAN)
        parts = strategy.experimental_local_results(variable)

        assert names[1 : 1 + count] == [part.device[-5:] for part in parts]
        assert names[1 : 1 + count] == [tf.device_name(part.read_value())[-5:] for part in parts]
        assert [2.0] * count == [float(part.numpy()) for part in parts]

    def test_each_knows_what_was_asked_for(self, strategy):
        options = {"synchronization": ON_READ, "aggregation": SUM, "trainable": False, "name": "w", "dtype": tf.float64}
        if strategy.extended.backend.name == "jax":
            options["dtype"] = tf.float16
        variable = make(strategy, 1.0, **options)

        for one in (variable, *variable.values):
            assert (ON_READ, SUM, False) == (one.synchronization, one.aggregation, one.trainable)
            assert (options["dtype"], (), 0) == (one.dtype, one.shape, one.ndim)
            assert strategy is one.distribute_strategy

    def test_without_a_name_they_are_called_variable_and_numbered(self, strategy):
        variable = make(strategy)

        assert ["Variable:0", "Variable/replica_1:0", "Variable/replica_2:0"] == [one.name for one in variable.values]

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
    def test_they_have_any_dtype_and_shape(self, dtype, shape):
        variable = make(host(3), np.ones(shape, dtype))

        assert [(dtype, shape)] * 3 == [(one.numpy().dtype, np.shape(one.numpy())) for one in variable.values]

    def test_a_device_scope_does_not_move_them(self, names, strategy):
        with strategy.scope(), tf.device(names[7]):
            variable = tf.Variable(1.0)

        assert names[1:4] == [one.device[-5:] for one in variable.values]


class TestInitialValues:
    """Given once, for all copies."""

    def test_a_function_is_called_once_on_the_device_of_the_first_copy(self, names, strategy):
        places = []

        def initial():
            places.append(tf.device_name(tf.constant(0.0))[-5:])
            return 3.0

        variable = make(strategy, initial)

        assert [names[1]] == places
        assert [3.0] * 3 == [float(one.numpy()) for one in variable.values]

    def test_a_tensor_that_lies_elsewhere_is_brought_to_all_homes(self, names, strategy):
        with tf.device(names[6]):
            tensor = tf.constant([1.0, 2.0])
        variable = make(strategy, tensor)

        assert [[1.0, 2.0]] * 3 == [one.numpy().tolist() for one in variable.values]
        assert names[1:4] == [tf.device_name(one.read_value())[-5:] for one in variable.values]

    def test_a_variable_gives_its_value_and_stays_itself(self, strategy):
        first = make(strategy, 2.0)
        second = make(strategy, first)
        second.assign(5.0)

        assert (2.0, 5.0) == (float(first.numpy()), float(second.numpy()))

    def test_a_combined_value_of_an_on_read_variable_is_one_too(self, strategy):
        parts = make(strategy, 0.0, synchronization=ON_READ, aggregation=SUM)
        strategy.run(lambda: parts.assign(tf.constant(1.0) * replica_id()))

        assert [3.0] * 3 == [float(one.numpy()) for one in make(strategy, parts).values]

    @pytest.mark.parametrize(("value", "dtype"), [(1, tf.float32), (True, tf.int32), (1.5, tf.float16)])
    def test_they_are_converted_to_the_dtype_that_is_asked_for(self, strategy, value, dtype):
        assert [(dtype, value)] * 3 == [(one.dtype, one.numpy()) for one in make(strategy, value, dtype=dtype).values]

    def test_what_would_lose_something_is_refused(self, strategy):
        with pytest.raises(TypeError, match="losing"):
            make(strategy, 1.5, dtype=tf.int32)

    def test_they_must_be_there(self, strategy):
        with pytest.raises(ValueError, match="no initial_value"):
            make(strategy, None)

    def test_a_shape_must_be_that_of_the_value_unless_nobody_looks(self, strategy):
        with pytest.raises(ValueError, match=r"shape \(1,\) and shape=\(2,\)"):
            make(strategy, [1.0], shape=(2,))

        assert (1,) == make(strategy, [1.0], shape=(2,), validate_shape=False).shape
        assert (1,) == make(strategy, [1.0], shape=[1]).shape


class TestInReplicas:
    """Replicas that make a variable at one place make one together."""

    def test_all_get_the_same_one(self, strategy):
        seen = strategy.run(lambda: tf.Variable([1.0, 2.0], aggregation=SUM))
        strategy.run(lambda: seen.assign_add(tf.constant([1.0, 1.0])))

        assert [[4.0, 5.0]] * 3 == [one.numpy().tolist() for one in seen.values]

    def test_the_value_is_that_of_the_first_replica(self, strategy):
        made = strategy.run(lambda: tf.Variable(tf.constant(10.0) * (replica_id() + 1)))

        assert [10.0] * 3 == [float(one.numpy()) for one in made.values]

    def test_each_run_makes_new_ones(self, strategy):
        first, second = (strategy.run(lambda: tf.Variable(1.0)) for _ in range(2))
        first.assign(5.0)

        assert (5.0, 1.0) == (float(first.numpy()), float(second.numpy()))

    def test_two_in_one_line_are_two(self, strategy):
        one, other = strategy.run(lambda: (tf.Variable(1.0), tf.Variable(2.0)))

        assert (1.0, 2.0) == (float(one.numpy()), float(other.numpy()))

    def test_names_tell_those_of_one_helper_apart(self, strategy):
        def helper(name, value):
            return tf.Variable(value, name=name)

        one, other = strategy.run(lambda: (helper("one", 1.0), helper("other", 2.0)))

        assert [("one:0", 1.0), ("other:0", 2.0)] == [(v.name, float(v.numpy())) for v in (one, other)]

    def test_names_in_another_order_are_refused(self, strategy):
        def body():
            order = ["one", "other"] if replica_id() else ["other", "one"]
            return [tf.Variable(float(len(name)), name=name) for name in order]

        with pytest.raises(RuntimeError, match="made the variable 'one' where another replica made 'other'"):
            strategy.run(body)

    def test_a_merge_function_makes_one_for_all(self, strategy):
        made = strategy.run(lambda: ctx().merge_call(lambda _: tf.Variable(4.0)))

        assert [4.0] * 3 == [float(one.numpy()) for one in made.values]

    def test_one_that_was_made_is_read_at_once_on_the_device_of_the_replica(self, names, strategy):
        read = strategy.run(lambda: tf.Variable(1.0) + 1.0)

        assert [(2.0, name) for name in names[1:4]] == [
            (float(part), tf.device_name(part)[-5:]) for part in strategy.experimental_local_results(read)
        ]


class TestCreators:
    """Functions that see every creation."""

    def test_they_see_one_creation_for_all_copies(self, strategy):
        seen = []

        def creator(following, **kwargs):
            seen.append((kwargs["name"], kwargs["aggregation"]))
            return following(**kwargs)

        with strategy.scope(), tf.variable_creator_scope(creator):
            tf.Variable(1.0, name="w", aggregation=SUM)

        assert [("w", SUM)] == seen

    def test_they_can_change_the_aggregation_and_the_value(self, strategy):
        def creator(following, **kwargs):
            return following(**{**kwargs, "aggregation": MEAN, "initial_value": 7.0})

        with strategy.scope(), tf.variable_creator_scope(creator):
            variable = tf.Variable(1.0)

        assert (MEAN, [7.0] * 3) == (variable.aggregation, [float(one.numpy()) for one in variable.values])

    def test_they_work_in_replicas_too(self, strategy):
        def creator(following, **kwargs):
            return following(**{**kwargs, "initial_value": 7.0})

        with strategy.scope(), tf.variable_creator_scope(creator):
            variable = strategy.run(lambda: tf.Variable(1.0))

        assert [7.0] * 3 == [float(one.numpy()) for one in variable.values]


class TestRefused:
    """What cannot be made says what was given, what was expected, and what to do."""

    @pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int32, np.int64])
    @pytest.mark.parametrize("synchronization", [AUTO, ON_WRITE, ON_READ])
    def test_a_mean_of_whole_numbers(self, dtype, synchronization):
        with pytest.raises(ValueError, match=r"'n:0' of dtype .* has aggregation MEAN; expected a floating dtype"):
            make(host(2), dtype(1), aggregation=MEAN, synchronization=synchronization, name="n")

    def test_an_integer_with_another_aggregation_is_made(self):
        assert [NONE, SUM, FIRST] == [make(host(2), 1, aggregation=one).aggregation for one in (NONE, SUM, FIRST)]

    @pytest.mark.parametrize("synchronization", [UNSYNCHRONIZED, "ON_READ", 3, None])
    def test_a_synchronization_that_is_none(self, synchronization):
        with pytest.raises(ValueError, match=r"'w' has synchronization .*; expected AUTO, ON_WRITE or ON_READ"):
            make(host(2), 1.0, synchronization=synchronization, name="w")

    @pytest.mark.parametrize("aggregation", ["SUM", 1, None, tf.distribute.ReduceOp.SUM])
    def test_an_aggregation_that_is_none(self, aggregation):
        with pytest.raises(ValueError, match=r"'w' has aggregation .*; expected a member of tf.VariableAggregation"):
            make(host(2), 1.0, aggregation=aggregation, name="w")

    def test_a_partitioner(self):
        with pytest.raises(ValueError, match=r"'w' was to be made with a partitioner .*; expected none"):
            make(host(2), 1.0, partitioner=tf.compat.v1.fixed_size_partitioner(2), name="w")

        assert 1.0 == float(make(host(2), 1.0, partitioner=None).numpy())

    @pytest.mark.parametrize("made", [None, 3, "w"])
    def test_a_creator_that_returns_something_else(self, made):
        strategy = host(2)
        with (
            tf.variable_creator_scope(lambda following, **kwargs: made),
            strategy.scope(),
            pytest.raises(TypeError, match=f"returned a {type(made).__name__}; expected a variable"),
        ):
            tf.Variable(1.0)


def test_a_strategy_of_one_device_makes_variables_there(names, any_backend):
    strategy = tf.distribute.OneDeviceStrategy(names[2])
    variable = make(strategy, 1.0)
    strategy.run(lambda: variable.assign_add(1.0))

    assert (names[2], 2.0) == (variable.device[-5:], float(variable.numpy()))
    assert strategy is variable.distribute_strategy


def test_without_a_strategy_a_variable_lies_in_the_device_scope_or_on_the_host(names, any_backend):
    with tf.device(names[3]):
        there = tf.Variable(1.0)

    assert (names[3], "CPU:0") == (there.device[-5:], tf.Variable(1.0).device[-5:])
    assert there.distribute_strategy is None


def test_under_central_storage_variables_take_turns_on_no_device_but_the_one(names, any_backend):
    strategy = tf.distribute.experimental.CentralStorageStrategy(names[1:4], names[5])

    assert [names[5]] * 3 == [make(strategy).device[-5:] for _ in range(3)]


class TestWorkers:
    """Variables that the workers of a cluster make together."""

    def together(self, program, workers=2):
        with tf.using("simulator", gpus=2):
            return run_workers(lambda index: program(tf.distribute.MultiWorkerMirroredStrategy(), index), workers)

    @pytest.mark.parametrize("inside", [False, True])
    def test_they_start_from_the_value_of_the_first(self, inside):
        def program(strategy, index):
            def initial():
                return 10.0 * (index + 1)

            made = strategy.run(lambda: tf.Variable(initial)) if inside else make(strategy, initial)
            return [float(one.numpy()) for one in made.values]

        assert [[10.0, 10.0]] * 3 == self.together(program, workers=3)

    def test_values_of_different_shape_are_refused_with_the_shapes(self):
        with pytest.raises(ValueError, match=r"'w' with initial values of shapes \(1,\), \(2,\); expected one shape"):
            self.together(lambda strategy, index: make(strategy, [1.0] * (index + 1), name="w"))


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("names_made", [("a", "b"), ("a", None), (None, "a")])
def test_replicas_that_name_one_variable_differently_are_told(names_made, staged):
    strategy = host(2)

    def run():
        return strategy.run(lambda: tf.Variable(1.0, name=names_made[int(replica_id())]).read_value())

    with pytest.raises(RuntimeError, match="expected one name"):
        (tf.function(run) if staged else run)()


def test_workers_that_name_one_variable_differently_are_told():
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        strategy.run(lambda: tf.Variable(1.0, name=f"v{replica_id()}"))

    with tf.using("host", gpus=2), pytest.raises(RuntimeError):
        run_workers(program, 2)


def test_names_may_differ_from_turn_to_turn():
    strategy = host(2)
    made = strategy.run(lambda: [tf.Variable(1.0, name=f"v{turn}") for turn in range(3)])

    assert ["v0:0", "v1:0", "v2:0"] == [one.name for one in made]


@pytest.mark.parametrize("trainable", [None, True, False])
@pytest.mark.parametrize("scoped", [False, True])
def test_a_variable_that_is_read_together_is_trainable_if_that_is_said(scoped, trainable):
    scope = host(2).scope() if scoped else tf.distribute.get_strategy().scope()
    with scope:
        variable = tf.Variable(1.0, trainable, synchronization=ON_READ, aggregation=SUM)

    assert bool(trainable) is variable.trainable


@pytest.mark.parametrize("gpus", [1, 2])
def test_replicas_of_several_workers_make_what_is_missing_once(gpus):
    def program(index):
        strategy, kept = tf.distribute.MultiWorkerMirroredStrategy(), []

        def step():
            if not kept:  # as layers do, which are built when they are first called
                kept.append(tf.Variable(lambda: 1.0 + index, name="first"))
                kept.append(tf.Variable(5.0, name="second"))
            return [one.read_value() for one in kept]

        for _ in range(2):
            made = strategy.run(step)
        return [[float(part) for part in strategy.experimental_local_results(one)] for one in made]

    with tf.using("host", gpus=gpus):
        assert [[[1.0] * gpus, [5.0] * gpus]] * 2 == run_workers(program, 2)


def test_a_replica_that_is_gone_lends_its_turn_to_nobody(monkeypatch):
    """In functions, one replica is gone before the next comes, which Python may put into the same place."""
    monkeypatch.setattr(creation, "id", lambda _: 7, raising=False)

    with pytest.raises(RuntimeError, match="expected one name"):
        strategy = host(2)
        strategy.run(lambda: tf.Variable(1.0, name=("a", "b")[int(replica_id())]))

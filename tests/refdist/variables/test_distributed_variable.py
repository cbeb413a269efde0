"""A variable with several copies: which of them code sees, and what it says about itself."""

import copy
import operator

import numpy as np
import pytest

import refdist as tf

NONE, SUM, MEAN, FIRST = tf.VariableAggregation
ON_READ = tf.VariableSynchronization.ON_READ
ctx = tf.distribute.get_replica_context


def replica_id():
    return ctx().replica_id_in_sync_group


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[1:4])


def make(strategy, value=1.0, **options):
    with strategy.scope():
        return tf.Variable(value, **options)


def own(strategy):
    """A variable with the values 1, 2, 3 on the replicas."""
    variable = make(strategy, 0.0, synchronization=ON_READ, aggregation=SUM)
    strategy.run(lambda: variable.assign(tf.constant(1.0) * (replica_id() + 1)))
    return variable


class TestInReplicas:
    """A replica sees its own copy."""

    def test_its_device_is_that_of_the_replica(self, names, strategy):
        variable = make(strategy)
        seen = strategy.run(lambda: variable.device[-5:])

        assert names[1:4] == list(strategy.experimental_local_results(seen))
        assert names[1] == variable.device[-5:]

    def test_in_a_function_too(self, names, strategy):
        variable, seen = make(strategy, synchronization=ON_READ), []
        strategy.run(tf.function(lambda: seen.append(variable.device[-5:])))

        assert names[1:4] == seen

    def test_as_an_argument_it_is_the_variable_itself(self, strategy):
        variable = own(strategy)
        strategy.run(lambda v: v.assign_add(tf.constant(1.0)), args=(variable,))

        assert [2.0, 3.0, 4.0] == [float(one.numpy()) for one in variable.values]

    @pytest.mark.parametrize("operation", [operator.add, operator.mul, operator.sub, operator.truediv])
    def test_operators_take_the_copy_of_the_replica(self, strategy, operation):
        variable = own(strategy)
        result = strategy.run(lambda: operation(variable, 2.0))

        assert [operation(x, 2.0) for x in (1.0, 2.0, 3.0)] == [float(part) for part in result.values]

    def test_numpy_and_indexing_take_the_copy_of_the_replica(self, strategy):
        variable = make(strategy, [0.0, 0.0], synchronization=ON_READ, aggregation=SUM)
        strategy.run(lambda: variable.assign(tf.constant([1.0, 4.0]) * (replica_id() + 1)))
        result = strategy.run(lambda: variable[1] + 0.0)

        assert [4.0, 8.0, 12.0] == [float(part) for part in result.values]
        assert [6.0, 24.0] == np.asarray(variable).tolist()


class TestOutside:
    """Other code sees one value."""

    def test_operators_take_the_combined_value(self, strategy):
        variable = own(strategy)

        assert (8.0, 4.0, 12.0) == (float(variable + 2.0), float(variable - 2.0), float(variable * 2.0))

    def test_local_results_are_the_copies(self, strategy):
        copies = strategy.experimental_local_results(own(strategy))

        assert [1.0, 2.0, 3.0] == [float(one.numpy()) for one in copies]

    def test_it_prints_one_line_for_each_copy(self, strategy):
        text = repr(make(strategy, 1.0, name="w"))

        assert "MirroredVariable:{" == text.splitlines()[0]
        assert [f"  {i}: <tf.Variable '{n}'" for i, n in enumerate(("w:0", "w/replica_1:0", "w/replica_2:0"))] == [
            line.split(" shape")[0] for line in text.splitlines()[1:-1]
        ]

    def test_one_that_is_read_together_says_so(self, strategy):
        assert repr(own(strategy)).startswith("SyncOnReadVariable:{")

    def test_in_a_scope_without_replicas_it_is_the_combined_value_too(self, strategy):
        variable = own(strategy)
        with strategy.scope():
            assert 6.0 == float(variable.read_value())

    def test_under_another_strategy_it_is_read_from_outside_and_not_written(self, names, strategy):
        variable, other = own(strategy), tf.distribute.MirroredStrategy(names[:2])
        read = other.run(lambda: variable.read_value() + 0.0)

        assert [6.0, 6.0] == [float(part) for part in read.values]
        for verb in ("assign", "assign_add", "assign_sub"):
            with pytest.raises(RuntimeError, match=rf"{verb}\(\) of 'Variable:0'[\s\S]*one strategy at a time"):
                other.run(lambda verb=verb: getattr(variable, verb)(1.0))


class TestCopied:
    """A deep copy is a variable of its own, of the same strategy."""

    @pytest.mark.parametrize("synchronization", [tf.VariableSynchronization.AUTO, ON_READ])
    def test_it_has_the_values_and_neither_follows_the_other(self, strategy, synchronization):
        variable = make(strategy, 1.0, synchronization=synchronization, aggregation=MEAN)
        other = copy.deepcopy(variable)
        variable.assign(5.0)
        strategy.run(lambda: other.assign_add(tf.constant(1.0)))

        assert ([5.0] * 3, [2.0] * 3) == tuple([float(c.numpy()) for c in v.values] for v in (variable, other))
        assert [c.device for c in variable.values] == [c.device for c in other.values]
        assert strategy is other.distribute_strategy

    def test_replicas_that_have_written_the_first_write_the_copy(self, strategy):
        variable = make(strategy, 1.0, aggregation=MEAN)

        def add(written):
            strategy.run(lambda: written.assign_add(tf.constant(1.0)))

        add(variable)
        other = copy.deepcopy(variable)
        add(other)

        assert (2.0, 3.0) == (float(variable), float(other))

    def test_one_copy_of_a_variable_can_be_copied_by_itself(self, strategy):
        variable = own(strategy)
        alone = copy.deepcopy(variable.values[1])
        variable.assign(30.0)

        assert (2.0, [10.0] * 3) == (float(alone.numpy()), [float(c.numpy()) for c in variable.values])

    def test_a_component_that_is_written_alone_changes_the_whole(self, strategy):
        variable = own(strategy)
        variable.values[1].assign(10.0)

        assert ([1.0, 10.0, 3.0], 14.0) == ([float(c.numpy()) for c in variable.values], float(variable.numpy()))


@pytest.mark.parametrize("aggregation", ["NONE", "ONLY_FIRST_REPLICA", "SUM", "MEAN"])
@pytest.mark.parametrize(("backend", "devices"), [("simulator", {"gpus": 1}), ("jax", {"cpus": 2})])
def test_what_another_worker_writes_reaches_the_devices_of_this_one(backend, devices, aggregation):
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            variable = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation[aggregation])

        def body():
            variable.assign(tf.constant([4.0, 5.0]))
            variable.assign_add(variable.read_value())
            variable.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([1])))
            return tf.convert_to_tensor(variable) + tf.constant(1.0)

        return np.asarray(strategy.run(body)).tolist(), np.asarray(variable.read_value()).tolist()

    with tf.using(backend, **devices):
        written = tf.cluster.run_workers(program, 2)

    value = [24.0, 32.0] if aggregation == "SUM" else [8.0, 11.0]
    assert [([number + 1 for number in value], value)] * 2 == written


def test_slices_with_the_same_bits_are_equal_nan_or_not(strategy):
    variable = make(strategy, [1.0, 2.0], aggregation=NONE)
    strategy.run(lambda: variable.scatter_add(tf.IndexedSlices(tf.constant([np.nan]), tf.constant([1]))))

    assert "[1.0, nan]" == str(variable.numpy().tolist())
    with pytest.raises(ValueError, match="different values from replica 0 and replica 1"):
        strategy.run(
            lambda: variable.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([replica_id() % 2])))
        )

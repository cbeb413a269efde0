import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.variables.placement import Placement
from tests.refdist.servers import backend, make, partitioners, resolver, server

assert backend  # a fixture
NONE, SUM, MEAN, FIRST = tf.VariableAggregation
ctx = tf.distribute.get_replica_context


@given(ps=generators.integers(1, 7), workers=generators.integers(1, 3), count=generators.integers(0, 9))
@settings(max_examples=20, deadline=None)
def test_variables_take_turns_on_the_servers(ps, workers, count):
    with tf.using("host"):
        strategy = make(ps, workers)
        with strategy.scope():
            variables = [tf.Variable(float(index)) for index in range(count)]

        assert [server(index % ps) for index in range(count)] == [variable.device for variable in variables]
        assert tuple(map(server, range(ps))) == strategy.extended.parameter_devices


def test_the_plan_has_one_replica_and_a_home_on_each_server(backend):
    plan = make(ps=3).extended.plan

    assert ("parameter_server", 1, Placement.CENTRAL) == (plan.name, plan.replicas, plan.placement)
    assert tuple(map(server, range(3))) == plan.homes
    assert backend.devices()[:1] == plan.devices


def test_what_is_read_from_two_servers_meets_on_the_coordinator(backend):
    strategy = make(ps=2)
    with strategy.scope():
        total, count = tf.Variable(6.0), tf.Variable(4.0)

    assert [server(0), server(1)] == [total.device, count.device]
    assert 1.5 == float(total.read_value() / count.read_value()) == float(total / count)
    assert backend.devices()[0] == backend.device_of(total.read_value())


def test_a_variable_that_could_not_be_made_takes_no_turn():
    strategy = make()
    with strategy.scope():
        with pytest.raises(ValueError, match="initial_value"):
            tf.Variable()

        assert server(0) == tf.Variable(1.0).device


def test_a_variable_lies_beside_the_one_that_it_belongs_to_and_takes_no_turn(backend):
    strategy = make(ps=3)
    with strategy.scope():
        variables = [tf.Variable(0.0) for _ in range(2)]
        with strategy.extended.colocate_vars_with(variables[0]):
            slot = tf.Variable(0.0)
        following = tf.Variable(0.0)

    assert [server(0), server(2)] == [slot.device, following.device]
    outside = tf.Variable(0.0)
    with (
        pytest.raises(ValueError, match="made in this strategy's scope"),
        strategy.extended.colocate_vars_with(outside),
    ):
        pass


@pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
@pytest.mark.parametrize("synchronization", [tf.VariableSynchronization.AUTO, tf.VariableSynchronization.ON_READ])
def test_a_variable_has_one_copy_that_replicas_and_others_read_and_write(backend, aggregation, synchronization):
    strategy = make()
    with strategy.scope():
        variable = tf.Variable([1.0, 2.0], aggregation=aggregation, synchronization=synchronization)
    strategy.run(lambda: variable.assign_add(tf.constant([1.0, 1.0])))
    variable.assign_sub([0.5, 0.5])

    (only,) = strategy.experimental_local_results(variable)

    assert only is variable
    assert [1.5, 2.5] == variable.numpy().tolist() == np.asarray(strategy.run(variable.read_value)).tolist()
    assert strategy.extended.variable_created_in_scope(variable)


def test_what_is_not_scheduled_runs_on_the_coordinator(backend):
    strategy = make()
    with strategy.scope():
        made = tf.constant(1.0)

    assert tf.device_name(made) == tf.device_name(strategy.run(lambda: tf.constant(1.0))) == backend.devices()[0]
    assert (0, 1) == strategy.run(lambda: (ctx().replica_id_in_sync_group, ctx().num_replicas_in_sync))


def test_it_reduces_gathers_and_meets_as_any_strategy_of_one_replica(backend):
    strategy = make()
    value = strategy.run(lambda: tf.constant([1.0, 3.0]))

    assert 2.0 == float(strategy.reduce("MEAN", value, axis=0))
    assert [1.0, 3.0] == np.asarray(strategy.gather(value, axis=0)).tolist()
    assert 1.0 == float(strategy.run(lambda: ctx().all_reduce("SUM", tf.constant(1.0))))
    assert 6.0 == float(strategy.run(lambda: ctx().merge_call(lambda _, x: x * 2, args=(tf.constant(3.0),))))


def test_a_value_can_be_brought_to_a_server_and_a_block_can_run_there(backend):
    strategy = make(ps=3)
    with strategy.scope():
        variable = [tf.Variable(1.0) for _ in range(3)][2]
        there = strategy.extended.reduce_to("SUM", tf.constant(2.0), variable)
        with tf.device(variable.device):
            also = tf.constant(2.0)

    assert 4.0 == float(there) + float(also)
    assert tf.device_name(there) == tf.device_name(also)
    if backend.name != "jax":  # whose arrays lie on devices of this machine
        assert variable.device == tf.device_name(there)


def test_update_changes_a_variable_where_it_lies(backend):
    strategy = make()
    with strategy.scope():
        variable = tf.Variable(1.0)
        strategy.extended.update(variable, lambda copy, x: copy.assign_add(x), args=(2.0,))

    assert (3.0, server(0)) == (variable.numpy(), variable.device)


def test_a_compiled_step_reads_and_writes_variables_on_the_servers(backend):
    strategy = make()
    with strategy.scope():
        variables = [tf.Variable(float(index)) for index in range(3)]
    traces = []

    @tf.function
    def step(x):
        def replica():
            traces.append(None)
            for variable in variables:
                variable.assign_add(x)
            return variables[2] * 2.0

        return strategy.run(replica)

    assert [8.0, 12.0] == [float(step(tf.constant(2.0))) for _ in range(2)]
    assert [4.0, 5.0, 6.0] == [float(variable) for variable in variables]
    assert 1 == len(traces)
    assert [server(0), server(1), server(0)] == [variable.device for variable in variables]


def test_a_function_that_names_no_strategy_can_read_a_variable_of_the_servers(backend):
    strategy = make()
    with strategy.scope():
        variable = tf.Variable(3.0)

    assert 4.0 == float(tf.function(lambda: variable + 1.0)())


def test_two_strategies_have_turns_of_their_own_and_do_not_mix(backend):
    first, second = make(ps=2), make(ps=7, workers=1)
    with first.scope():
        mine = [tf.Variable(1.0) for _ in range(2)]
        with pytest.raises(RuntimeError, match="one strategy at a time"), second.scope():
            pass
    with second.scope():
        yours = tf.Variable(1.0)
        with pytest.raises(RuntimeError, match="one strategy at a time"):
            mine[0].assign(2.0)
        with pytest.raises(ValueError, match="another strategy"):
            second.extended.update(mine[0], lambda copy: copy)

    assert [server(0), server(1), server(0)] == [variable.device for variable in (*mine, yours)]


def test_a_scope_can_be_nested_in_itself_and_left_by_an_error():
    strategy = make()
    with pytest.raises(KeyError), strategy.scope(), strategy.scope():
        raise KeyError

    assert not tf.distribute.has_strategy()


def test_other_strategies_do_not_take_the_devices_of_workers():
    with tf.using("host", gpus=2):
        make(workers=3)

        assert 2 == tf.distribute.MirroredStrategy().num_replicas_in_sync
        assert {"GPU": 2} == tf.distribute.cluster_resolver.TFConfigClusterResolver().num_accelerators()
        assert 2 == len(tf.config.list_physical_devices("GPU"))


def test_the_resolver_is_that_of_the_strategy(monkeypatch):
    cluster = {"worker": ["a:1"], "ps": ["b:1"], "chief": ["c:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}}))
    chosen = tf.distribute.cluster_resolver.TFConfigClusterResolver()

    assert tf.distribute.experimental.ParameterServerStrategy(chosen).cluster_resolver is chosen


@pytest.mark.parametrize(
    "jobs",
    [
        {},
        {"chief": 1, "worker": 2},
        {"chief": 1, "worker": 2, "ps": 0},
        {"chief": 1, "ps": 2},
        {"chief": 2, "worker": 1, "ps": 1},
        {"chief": 1, "worker": 1, "ps": 1, "baker": 1},
    ],
)
def test_a_cluster_of_other_jobs_is_refused(jobs):
    with pytest.raises(ValueError, match="at least one ps and one worker"):
        tf.distribute.ParameterServerStrategy(resolver(**jobs))


@pytest.mark.parametrize("task", ["worker", "ps", "evaluator"])
def test_only_the_chief_makes_the_strategy(task):
    with pytest.raises(ValueError, match=f"in the task {task}:0; expected the chief"):
        tf.distribute.ParameterServerStrategy(resolver(task, worker=1, ps=1, evaluator=1))


def test_arguments_of_other_types_are_refused():
    with pytest.raises(TypeError, match="cluster_resolver"):
        tf.distribute.ParameterServerStrategy()
    for wrong in (None, 3, {"ps": ["a:1"]}, tf.train.ClusterSpec({"ps": ["a:1"]})):
        with pytest.raises(TypeError, match="ClusterResolver"):
            tf.distribute.ParameterServerStrategy(wrong)
    with pytest.raises(TypeError, match="partitioners"):
        make(partitioner=3)


def test_the_names_are_where_they_are_documented():
    distribute = tf.distribute

    assert distribute.ParameterServerStrategy is distribute.experimental.ParameterServerStrategy
    assert distribute.coordinator.ClusterCoordinator is distribute.experimental.coordinator.ClusterCoordinator
    assert issubclass(distribute.ParameterServerStrategy, distribute.Strategy)
    assert issubclass(partitioners.MinSizePartitioner, partitioners.Partitioner)


class TestV1:
    make = staticmethod(tf.compat.v1.distribute.experimental.ParameterServerStrategy)

    def test_a_worker_computes_on_its_own_device_with_variables_on_the_servers(self):
        with tf.using("host"):
            strategy = self.make(resolver("worker", worker=2, ps=2))
            with strategy.scope():
                variables = [tf.Variable(1.0) for _ in range(3)]
            total = strategy.run(lambda: sum(variables))

        assert "/job:worker/replica:0/task:0/device:CPU:0" == total.device
        assert [server(0), server(1), server(0)] == [variable.device for variable in variables]

    def test_without_a_cluster_it_keeps_variables_on_the_host(self):
        with tf.using("host", gpus=2):
            strategy = self.make()
            with strategy.scope():
                variable = tf.Variable(1.0)

        assert 2 == strategy.num_replicas_in_sync
        assert "/job:localhost/replica:0/task:0/device:CPU:0" == variable.device

    def test_a_worker_that_is_not_there_is_refused(self):
        chosen = resolver("worker", worker=2, ps=1)
        chosen.task_id = 2
        with pytest.raises(ValueError, match="expected 0 to 1"):
            self.make(chosen)

    def test_something_else_than_a_resolver_is_refused(self):
        with pytest.raises(TypeError, match="ClusterResolver"):
            self.make(3)

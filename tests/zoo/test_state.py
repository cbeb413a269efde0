"""Real bugs around the state of replicas: variables that drift apart, or were made in the wrong place."""

import gc

import numpy as np
import pytest

import refdist as tf
from tests.lines import line_of
from tests.zoo.ways import both_ways, mirrored, number, replica, runner


def at(comment):
    return rf"test_state\.py:{line_of(__file__, comment)}"


@both_ways
def test_assign_without_aggregation(way):
    strategy = mirrored(3)
    with strategy.scope():
        u = tf.Variable(0.0, name="u")

    def step():
        u.assign(10.0 * number())  # different values

    with pytest.raises(ValueError, match=r"'u:0' got different values from replica 0 and replica 1") as raised:
        runner(strategy, way)(step)

    raised.match(at("# different values"))
    assert [0.0] * 3 == [float(copy) for copy in strategy.experimental_local_results(u)]


@both_ways
def test_keras3_gradients_not_aggregated(way):
    strategy = mirrored(2)
    with strategy.scope():
        w = tf.Variable(1.0, name="w")

    def step(x):
        with tf.GradientTape() as tape:
            loss = w * x
        w.assign_sub(0.1 * tape.gradient(loss, w))  # its own gradient

    x = strategy.experimental_distribute_values_from_function(lambda c: tf.constant(1.0 + c.replica_id_in_sync_group))
    with pytest.raises(
        ValueError, match=r"assign_?\w*\(\) of 'w:0' got different values from replica 0 and replica 1"
    ) as raised:
        runner(strategy, way)(step, (x,))

    raised.match(at("# its own gradient"))


@both_ways
def test_only_the_last_replica_differs_and_is_named(way):
    strategy = mirrored(4)
    with strategy.scope():
        u = tf.Variable(0.0)

    with pytest.raises(ValueError, match="replica 0 and replica 3"):
        runner(strategy, way)(lambda: u.assign(tf.cast(number() > 2.0, tf.float32)))


@both_ways
def test_equal_values_need_no_aggregation(way):
    strategy = mirrored(3)
    with strategy.scope():
        u = tf.Variable(0.0)

    runner(strategy, way)(lambda: u.assign(replica().all_reduce("sum", number())))

    assert 3.0 == float(u)


@both_ways
def test_parameter_replaced_after_wrapping(way):
    strategy = mirrored(2)
    replacement = tf.Variable(1.0, name="replacement")

    def step():
        replacement.assign_sub(0.1)  # outside of the scope

    with pytest.raises(RuntimeError, match="'replacement:0', made outside of every scope") as raised:
        runner(strategy, way)(step)

    raised.match(at("# outside of the scope"))
    assert 1.0 == float(replacement)


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_variable_of_no_scope_may_be_written_where_there_is_one_replica_or_none(replicas):
    strategy = mirrored(replicas)
    plain = tf.Variable(1.0)
    plain.assign_add(1.0)
    if replicas == 1:
        strategy.run(lambda: plain.assign_add(1.0))
    with strategy.scope():
        plain.assign_add(1.0)

    assert 5.0 - replicas == float(plain)


@both_ways
def test_component_written_behind_the_strategys_back(way):
    strategy = mirrored(2)
    with strategy.scope():
        w = tf.Variable(1.0, name="w")
    strategy.experimental_local_results(w)[1].assign(7.0)  # one copy alone

    with pytest.raises(ValueError, match=r"'w:0' differ: 1.0 on replica 0, 7.0 on replica 1") as raised:
        runner(strategy, way)(lambda: w + 1.0)

    raised.match(at("# one copy alone"))


@both_ways
def test_copies_that_were_all_written_alike_may_go_on(way):
    strategy = mirrored(2)
    with strategy.scope():
        w = tf.Variable([1.0, 2.0])
    for copy in strategy.experimental_local_results(w):
        copy.assign([7.0, 8.0])

    total = strategy.reduce("SUM", runner(strategy, way)(lambda: w.read_value()), axis=None)

    assert [14.0, 16.0] == list(total.numpy())


def test_a_drift_is_the_matter_of_its_own_strategy_and_is_forgotten_with_its_variable():
    strategy = mirrored(2)
    other = tf.distribute.MirroredStrategy()
    with strategy.scope():
        w = tf.Variable(1.0)
    strategy.experimental_local_results(w)[1].assign(7.0)

    other.run(number)
    del w
    gc.collect()
    strategy.run(number)


def test_each_replica_may_have_its_own_copy_of_what_is_combined_when_read():
    strategy = mirrored(2)
    with strategy.scope():
        own = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )
    strategy.experimental_local_results(own)[1].assign(7.0)

    strategy.run(lambda: own.assign_add(1.0))

    assert 9.0 == float(own)


@both_ways
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_optimizer_outside_scope(way, momentum):
    strategy = mirrored(2)
    optimizer = tf.keras.optimizers.SGD(1.0, momentum=momentum)
    with strategy.scope():
        v = tf.Variable(1.0)

    def step():
        optimizer.apply_gradients([(tf.constant(1.0), v)])  # of no scope

    with pytest.raises(ValueError, match=r"the optimizer 'sgd\w*', with its .* made outside of every scope") as raised:
        runner(strategy, way)(step)

    raised.match(at("# of no scope"))
    assert 1.0 == float(v)


@both_ways
def test_variable_created_outside_scope(way):
    strategy = mirrored(2)
    v = tf.Variable(1.0, name="v")
    with strategy.scope():
        optimizer = tf.keras.optimizers.SGD(1.0, momentum=0.9)

    with pytest.raises(ValueError, match="the variable 'v:0', made outside of every scope"):
        runner(strategy, way)(lambda: optimizer.apply_gradients([(tf.constant(1.0), v)]))

    assert 1.0 == float(v)


@both_ways
def test_an_optimizer_of_the_scope_updates_once(way):
    strategy = mirrored(2)
    with strategy.scope():
        v, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(1.0, momentum=0.9)

    runner(strategy, way)(lambda: optimizer.apply_gradients([(tf.constant(1.0), v)]))

    assert (-1.0, 1) == (float(v), int(optimizer.iterations))


@both_ways
def test_variable_created_in_step(way):
    strategy = mirrored(2)

    def step(x):
        made = tf.Variable(0.0)  # anew in each step
        return made + x

    run = strategy.run if way == "eager" else tf.function(lambda step, given: strategy.run(step, given))
    with pytest.raises(ValueError, match=r"first (run|call) only"):
        for _ in range(2):
            run(step, (tf.constant(1.0),))


def test_the_line_where_a_variable_is_made_again_is_named():
    strategy = mirrored(2)

    def step():
        return tf.Variable(0.0)  # again

    strategy.run(step)
    with pytest.raises(ValueError, match=at("# again")):
        strategy.run(step)


def test_two_objects_may_each_make_their_variables_in_their_first_run():
    strategy = mirrored(2)

    class Layer:
        weight = None

        def call(self):
            if self.weight is None:
                self.weight = tf.Variable(1.0)
            return self.weight * 2.0

    first, second = Layer(), Layer()
    for layer in (first, second, first, second):
        strategy.run(layer.call)

    assert first.weight is not second.weight


@pytest.mark.parametrize(
    "use",
    [np.asarray, float, bool, list, np.sum, lambda x: f"{x:.2f}", lambda x: x + 1, lambda x: 1 - x, lambda x: x < 1],
)
def test_a_value_of_several_replicas_is_not_one_value(use):
    strategy = mirrored(2)
    losses = strategy.run(number)

    with pytest.raises(
        TypeError, match=r"per-replica value, with 2 components, was used as one value.*strategy\.reduce\(\)"
    ):
        use(losses)


def test_a_value_of_all_replicas_captured_in_one_is_told():
    strategy = mirrored(2)
    losses = strategy.run(number)

    with pytest.raises(TypeError, match=r"Pass it to run\(\) as an argument"):
        strategy.run(lambda: losses * 2.0)
    assert "0: tf.Tensor(0.0" in f"{losses}"


@both_ways
def test_replicas_that_write_a_variable_of_another_strategy_are_told(way):
    strategy = mirrored(2)
    with tf.distribute.OneDeviceStrategy("GPU:0").scope():
        count = tf.Variable(0.0)

    with pytest.raises(
        RuntimeError,
        match=r"'Variable:0', made in the scope of <OneDeviceStrategy.*expected a variable of the strategy",
    ):
        runner(strategy, way)(lambda: count.assign_add(1.0))
    assert 0.0 == float(count)
    runner(count.distribute_strategy, way)(lambda: count.assign_add(1.0))
    assert 1.0 == float(count)

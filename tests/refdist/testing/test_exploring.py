import itertools

import numpy as np
import pytest

import refdist as tf
from refdist._core.base.where import entered
from refdist._core.testing.exploring import DrawnTurns, NothingToExplore, NotRepeatable, explore

REPLICAS = 4


def number():
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def on_replicas(step):
    """A program that runs a step on the replicas of a strategy."""

    def program():
        tf.use("simulator", gpus=REPLICAS)
        strategy = tf.distribute.MirroredStrategy()
        return strategy.experimental_local_results(strategy.run(step))

    return program


def trained():
    """What replicas do in a training loop, and nothing that depends on who goes first."""
    tf.use("simulator", gpus=REPLICAS)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weight = tf.Variable([0.1, 0.2], aggregation=tf.VariableAggregation.MEAN)
        count = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )

    @tf.function
    def step(x):
        def replica_step(x):
            replica = tf.distribute.get_replica_context()
            count.assign_add(tf.reduce_sum(x))
            weight.assign_sub(0.1 * tf.reduce_mean(x, axis=0))
            return replica.all_gather(replica.all_reduce("SUM", x) * (1.0 + number()), axis=0)

        return strategy.experimental_local_results(strategy.run(replica_step, args=(x,)))

    rows = tf.data.Dataset.from_tensor_slices(np.arange(32, dtype=np.float32).reshape(16, 2) / 10).batch(8)
    results = [step(batch) for batch in strategy.experimental_distribute_dataset(rows)]

    def worker(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        return strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0) + index), axis=None)

    return results, weight, count, tf.cluster.run_workers(worker, 3)


def test_a_training_loop_computes_the_same_bits_in_every_order():
    assert explore(trained, range(8)).found is None


def test_state_of_python_that_replicas_share_is_found_with_its_line_and_both_values():
    def program():
        arrived = []

        def step():
            arrived.append(number())
            return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(float(arrived[0])))

        return on_replicas(step)()

    found = explore(program, range(8)).found
    assert (0, None, False) == (found.seed, found.error, found.draws)
    assert "all_reduce(SUM) at " in found.text
    assert "in the order of the replicas: 0., 0., 0., 0.\n" in found.text
    assert "in the order of seed 0: 2., 2., 2., 2." in found.text


def test_what_replicas_share_out_among_themselves_is_the_same_in_the_end():
    def program():
        queue = [1.0, 2.0, 3.0, 4.0]
        return on_replicas(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(queue.pop())))()

    assert explore(program, range(8)).found is None


def test_an_error_that_depends_on_the_order_is_found_and_its_seed_repeats_it():
    def program():
        arrived = []

        def step():
            arrived.append(number())
            tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))
            assert arrived[:2] != [1, 0], arrived

        return on_replicas(step)()

    first = explore(program, range(100))
    assert 1 < first.orders < 100
    (seed,) = {first.found.seed}
    again = explore(program, [seed]).found

    assert first.orders - 1 == seed
    assert "" == first.found.text
    assert str(first.found.error) == str(again.error)
    assert "raised in replica" in first.found.error.__notes__[0]


def test_only_errors_count_where_that_is_asked_for():
    def program():
        arrived = []
        on_replicas(lambda: arrived.append(number()))()
        return arrived

    assert explore(program, [0]).found is not None
    assert explore(program, [0], errors_only=True).found is None


def test_draws_of_replicas_are_told():
    program = on_replicas(lambda: tf.random.normal([]))

    assert explore(program, [0]).found.draws
    assert explore(on_replicas(lambda: tf.random.stateless_normal([], [number(), 0])), [0]).found is None


def test_an_error_in_the_order_of_the_replicas_is_left_to_the_caller():
    with pytest.raises(ZeroDivisionError):
        explore(on_replicas(lambda: 1 / 0), [0])


def test_a_program_that_differs_by_itself_is_refused():
    turn = itertools.count()

    with pytest.raises(
        NotRepeatable, match="two runs in the order of the replicas differ, first in the returned value"
    ):
        explore(on_replicas(lambda: next(turn)), [0])


def test_a_program_without_several_replicas_is_refused():
    with pytest.raises(NothingToExplore, match="strategy of at least two"):
        explore(lambda: 1.0, [0])


def test_what_a_meeting_error_says_does_not_depend_on_the_order():
    def step():
        replica = tf.distribute.get_replica_context()
        return tf.constant(0.0) if number() == 1 else replica.all_reduce("SUM", tf.constant(1.0))

    said = set()
    for seed in range(5):
        with pytest.raises(tf.errors.MeetingError) as error, entered(turns=DrawnTurns(seed)):
            on_replicas(step)()
        said.add(str(error.value))

    assert 1 == len(said)


def test_an_error_names_those_who_had_come_before_in_that_order():
    def step():
        if number() == 1:
            raise ValueError
        tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))

    assert [2, 0, 1, 3] == list(DrawnTurns(0)(4))
    with pytest.raises(ValueError) as error, entered(turns=DrawnTurns(0)):
        on_replicas(step)()
    assert "meanwhile, replicas 2, 0: " in error.value.__notes__[1]

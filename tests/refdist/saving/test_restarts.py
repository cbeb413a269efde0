"""A program of several workers that is killed and started again goes on as if nothing had happened, with any number of workers."""

import os
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist.cluster import run_workers

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

FEATURES = 3


class Killed(Exception):
    """Stands for what ends a program from outside."""


def policy(dataset, name):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[name]
    return dataset.with_options(options)


def train(folder, make, steps, every=1, kill_after=None, from_function=False):
    """Make the program of a worker: it goes on where it was, and returns its weights and the samples of this start."""

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        distribute = (
            strategy.distribute_datasets_from_function if from_function else strategy.experimental_distribute_dataset
        )
        iterator = iter(distribute(make))
        step = tf.Variable(0)
        with strategy.scope():
            weights = tf.Variable(np.ones(FEATURES))
            seen = tf.Variable(
                0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
            )
        checkpoint = tf.train.Checkpoint(weights=weights, seen=seen, step=step, iterator=iterator)
        manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=2)
        manager.restore_or_initialize()

        def replica(numbers):
            rows = np.stack([np.cos(np.asarray(numbers) * factor) for factor in range(1, FEATURES + 1)], axis=-1)
            errors = rows @ np.asarray(weights) - 1.0
            seen.assign_add(float(len(rows)))
            total = tf.distribute.get_replica_context().all_reduce("SUM", errors @ rows)
            weights.assign_sub(np.asarray(total) * 0.01)

        samples = []
        while steps is None or int(step) < steps:
            element = next(iterator, None)
            if element is None:
                break
            samples.append(
                [int(x) for part in strategy.experimental_local_results(element) for x in np.asarray(part).tolist()]
            )
            strategy.run(replica, args=(element,))
            step.assign_add(1)
            if kill_after == int(step):
                raise Killed
            if int(step) % every == 0:
                manager.save()
        return weights.numpy(), float(seen), samples, iterator.state()

    return program


def started(count, local, *arguments, **options):
    with tf.using("simulator", gpus=local), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return run_workers(train(*arguments, **options), count)


def pipelines(draw):
    """A dataset of generated shape, as a function that makes it, and how many steps it has."""
    total, batch, seed = (
        draw(generators.integers(13, 24)),
        draw(generators.integers(3, 7)),
        draw(generators.integers(0, 9)),
    )
    shuffled, mapped, repeated = [draw(generators.booleans()) for _ in range(3)]

    def make():
        dataset = tf.data.Dataset.range(total)
        dataset = dataset.shuffle(total, seed=seed) if shuffled else dataset
        dataset = dataset.repeat(2) if repeated else dataset
        dataset = dataset.map(lambda x: x) if mapped else dataset
        return policy(dataset.batch(batch), "DATA")

    return make, -(-total * (2 if repeated else 1) // batch)


@settings(max_examples=12)
@given(data=generators.data())
def test_it_goes_on_with_any_number_of_workers_and_no_sample_is_lost_or_seen_twice(tmp_path_factory, data):
    make, steps = pipelines(data.draw)
    first, second = data.draw(generators.sampled_from([(2, 2), (2, 3), (4, 2), (3, 1), (1, 2)]))
    local, every = data.draw(generators.integers(1, 2)), data.draw(generators.integers(1, 3))
    kill_after = data.draw(generators.integers(1, steps))
    undisturbed = started(first, local, tmp_path_factory.mktemp("whole"), make(), steps, every=9)
    folder = tmp_path_factory.mktemp("killed")
    with pytest.raises(Killed):
        started(first, local, folder, make(), steps, every=every, kill_after=kill_after)
    again = started(second, local, folder, make(), steps, every=9)

    done = (kill_after - 1) // every * every  # the steps before the last checkpoint
    for results in (undisturbed, again):
        for weights, seen, _, state in results:
            assert undisturbed[0][3] == state
            assert undisturbed[0][1] == pytest.approx(seen, rel=1e-6)  # a sum is shared out among the replicas
            if first == second:
                assert undisturbed[0][0].tobytes() == weights.tobytes()
            np.testing.assert_allclose(undisturbed[0][0], weights, rtol=0, atol=1e-5)

    def step_by_step(results):
        return [sorted(x for _, _, samples, _ in results for x in samples[step]) for step in range(len(results[0][2]))]

    assert step_by_step(undisturbed)[done:] == step_by_step(again)


def test_an_order_that_nobody_has_chosen_is_kept_too(tmp_path):
    def make():
        return policy(tf.data.Dataset.range(24).shuffle(24).batch(4), "DATA")

    before = started(2, 1, tmp_path, make(), 3)
    after = started(3, 1, tmp_path, make(), 6)
    seen = [x for _, _, samples, _ in [*before, *after] for step in samples for x in step]

    assert list(range(24)) == sorted(seen)


@pytest.fixture
def files(tmp_path):
    names = [str(tmp_path / f"{number}.txt") for number in range(4)]
    for number, name in enumerate(names):
        with open(name, "w") as file:
            file.writelines(f"{10 * number + line}\n" for line in range(6 + number))
    return names


def lines(names):
    return tf.data.TextLineDataset(names).map(lambda line: np.int64(line)).batch(4)


@settings(max_examples=8)
@given(data=generators.data())
def test_workers_with_parts_of_their_own_go_on_wherever_they_were_killed(tmp_path_factory, data):
    names = [str(tmp_path_factory.mktemp("files") / f"{number}.txt") for number in range(4)]
    for number, name in enumerate(names):
        with open(name, "w") as file:
            file.writelines(f"{10 * number + line}\n" for line in range(data.draw(generators.integers(1, 8))))
    batch, seed = data.draw(generators.integers(1, 6)), data.draw(generators.integers(0, 3))
    count, local = data.draw(generators.integers(1, 3)), data.draw(generators.integers(1, 2))
    dealt = data.draw(generators.booleans())

    def read(some):
        return tf.data.TextLineDataset(some).map(lambda line: np.int64(line)).shuffle(9, seed=seed).batch(batch)

    def start(folder, **options):
        def of_worker(given):
            return read(names[given.input_pipeline_id :: given.num_input_pipelines])

        make = of_worker if dealt else policy(read(names), "FILE")
        return started(count, local, folder, make, None, from_function=dealt, **options)

    whole = start(tmp_path_factory.mktemp("whole"), every=99)
    steps = len(whole[0][2])
    if steps == 0:
        return
    folder, kill_after = tmp_path_factory.mktemp("killed"), data.draw(generators.integers(1, steps))
    with pytest.raises(Killed):
        start(folder, every=2, kill_after=kill_after)
    again = start(folder, every=99)

    done = (kill_after - 1) // 2 * 2
    for one, other in zip(whole, again, strict=True):
        assert (one[0].tobytes(), one[2][done:]) == (other[0].tobytes(), other[2])
        assert one[1] == pytest.approx(other[1], rel=1e-6)


@pytest.mark.parametrize("from_function", [False, True])
def test_workers_with_files_of_their_own_go_on_in_the_same_number_and_no_other_is_taken(tmp_path, files, from_function):
    def of_worker(given):
        return lines(files[given.input_pipeline_id :: given.num_input_pipelines])

    make = of_worker if from_function else policy(lines(files), "FILE")
    options = {"from_function": from_function}
    whole = started(2, 1, tmp_path / "whole", make, 4, **options)
    with pytest.raises(Killed):
        started(2, 1, tmp_path / "kept", make, 4, kill_after=3, **options)
    refusal = r"of 2 worker\(s\), each in its own part.*; expected as many workers.*AutoShardPolicy\.DATA"
    for others in (1, 3, 4):
        with pytest.raises(ValueError, match=refusal):
            started(others, 1, tmp_path / "kept", make, 4, **options)
    again = started(2, 1, tmp_path / "kept", make, 4, **options)

    for one, other in zip(whole, again, strict=True):
        assert (one[0].tobytes(), one[2][2:], one[3]) == (other[0].tobytes(), *other[2:])


def test_where_nothing_was_taken_from_files_yet_any_number_of_workers_begins(tmp_path, files):
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        iterator = iter(strategy.experimental_distribute_dataset(policy(lines(files), "FILE")))
        with strategy.scope():
            checkpoint = tf.train.Checkpoint(weights=tf.Variable(1.0), iterator=iterator)
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path / "kept"), max_to_keep=2)
        if manager.restore_or_initialize() is None:
            manager.save()
        return [int(x) for element in iterator for x in np.asarray(element)]

    with tf.using("simulator", gpus=1):
        for count in (2, 3, 4):
            everything = sorted(x for one in run_workers(program, count) for x in one)

            assert [10 * number + line for number in range(4) for line in range(6 + number)] == everything
        with pytest.raises(ValueError, match=r"one position for all of them|counts"):
            started(1, 1, tmp_path / "one", policy(lines(files), "DATA"), 1)
            started(2, 1, tmp_path / "one", policy(lines(files), "FILE"), 2)


def test_a_position_of_one_worker_is_not_taken_for_those_of_several_that_a_function_feeds(tmp_path):
    def make(given):
        return tf.data.Dataset.range(40).batch(4)

    started(1, 1, tmp_path, make, 2, from_function=True)
    with pytest.raises(ValueError, match=r"of 1 worker\(s\).* and now there are 2 workers"):
        started(2, 1, tmp_path, make, 3, from_function=True)
    assert os.listdir(tmp_path)


def test_a_staged_step_that_takes_its_own_batches_goes_on_too(tmp_path):
    def program(steps, kill_after=None):
        def of_worker(index):
            strategy = tf.distribute.MultiWorkerMirroredStrategy()
            dataset = tf.data.Dataset.range(24).shuffle(24, seed=1).map(lambda x: np.float32(x)).batch(6)
            iterator = iter(strategy.experimental_distribute_dataset(policy(dataset, "DATA")))
            with strategy.scope():
                weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
                step = tf.Variable(0)
            manager = tf.train.CheckpointManager(
                tf.train.Checkpoint(weight=weight, step=step, iterator=iterator), str(tmp_path), max_to_keep=1
            )
            manager.restore_or_initialize()

            @tf.function
            def train():
                strategy.run(lambda x: weight.assign_add(tf.reduce_sum(tf.cos(x * weight))), args=(next(iterator),))

            while int(step) < steps:
                train()
                step.assign_add(1)
                if int(step) == kill_after:
                    raise Killed
                manager.save()
            return float(weight)

        return of_worker

    with tf.using("simulator", gpus=1):
        expected = run_workers(program(4), 2)
        (tmp_path / "checkpoint").unlink()
        with pytest.raises(Killed):
            run_workers(program(4, kill_after=3), 2)

        assert expected == run_workers(program(4), 2)

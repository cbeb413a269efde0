"""Bugs of real programs in how data reach the replicas: each is told, and a program without it is not."""

import numpy as np
import pytest

import refdist as tf

Dataset, AutoShard = tf.data.Dataset, tf.data.experimental.AutoShardPolicy
EITHER = pytest.mark.parametrize("staged", [False, True], ids=["eager", "staged"])


def total(x):
    return tf.reduce_sum(tf.cast(x, tf.float32))


def loop(strategy, distributed, staged, step=total, steps=None):
    """The training loop of all programs here: a step for each batch, or a number of steps."""

    def one(iterator):
        return strategy.run(step, args=(next(iterator),))

    one = tf.function(one) if staged else one
    iterator = iter(distributed)
    taken = []
    while steps is None or len(taken) < steps:
        try:
            taken.append(one(iterator))
        except (StopIteration, tf.errors.OutOfRangeError):
            if steps is not None:
                raise
            break
    return taken


def on_replicas(program, gpus=2, key=int):
    with tf.using("simulator", gpus=gpus), tf.simulator.ledger(key=key) as ledger:
        program(tf.distribute.MirroredStrategy())
    return ledger


def on_workers(program, workers=2, gpus=1, key=int):
    with tf.using("simulator", gpus=gpus), tf.simulator.ledger(key=key) as ledger:
        tf.cluster.run_workers(lambda worker: program(tf.distribute.MultiWorkerMirroredStrategy(), worker), workers)
    return ledger


def sharded_by(data, policy):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    return data.with_options(options)


def told(ledger, kind, **asked):
    """The finding of a kind; it names the line of this file that distributed the data."""
    with pytest.raises(tf.simulator.LedgerError) as caught:
        ledger.check(**asked)
    (finding,) = [one for one in caught.value.findings if one.kind == kind]
    assert "test_data.py:" in finding.sentence
    assert finding.sentence in str(caught.value)
    return finding


# 22


@EITHER
def test_fewer_files_than_workers(staged, tmp_path):
    def lines(count):
        files = [tmp_path / f"{count}_{index}.txt" for index in range(count)]
        for index, file in enumerate(files):
            file.write_text("".join(f"{index * 4 + number}\n" for number in range(4)))
        data = tf.data.TextLineDataset([str(file) for file in files])
        return data.map(lambda text: tf.strings.to_number(text)).batch(2)

    def program(strategy, worker, count):
        data = sharded_by(lines(count), AutoShard.FILE)
        loop(strategy, strategy.experimental_distribute_dataset(data), staged)

    with pytest.raises(ValueError, match="1 files for 2 workers") as caught:
        on_workers(lambda strategy, worker: program(strategy, worker, 1))
    assert "raised in worker 0 of 2" in caught.value.__notes__
    on_workers(lambda strategy, worker: program(strategy, worker, 2)).check(each_once=True, even=True)


@EITHER
def test_a_shard_without_samples_in_a_dataset_function(staged):
    def program(strategy, worker, samples):
        def data(context):
            mine = samples[context.input_pipeline_id]
            return Dataset.from_tensor_slices(np.array(mine, np.int64)).batch(2)

        loop(strategy, strategy.distribute_datasets_from_function(data), staged)

    with pytest.warns(RuntimeWarning, match="Replica 0 got no rows in any of the 3 steps"):
        ledger = on_workers(lambda strategy, worker: program(strategy, worker, [[0, 1, 2, 3, 4, 5], []]))
    finding = told(ledger, "idle")
    assert ((1,), (1,), (0, 1, 2)) == (finding.workers, finding.replicas, finding.steps)
    on_workers(lambda strategy, worker: program(strategy, worker, [[0, 1, 2], [3, 4, 5]])).check(each_once=True)


# 23


@EITHER
def test_unsharded_iterable(staged):
    def program(strategy, worker, shard):
        def data(context):
            everything = Dataset.range(8)
            mine = everything.shard(context.num_input_pipelines, context.input_pipeline_id) if shard else everything
            return mine.batch(2)

        loop(strategy, strategy.distribute_datasets_from_function(data), staged)

    finding = told(on_workers(lambda strategy, worker: program(strategy, worker, False)), "same_shard")
    assert ((0, 1), tuple(range(8))) == (finding.workers, tuple(sorted(finding.samples)))
    assert ".shard(context.num_input_pipelines, context.input_pipeline_id)" in finding.sentence
    on_workers(lambda strategy, worker: program(strategy, worker, True)).check(each_once=True, expected=range(8))


@EITHER
def test_auto_sharding_switched_off(staged):
    def program(strategy, worker, policy):
        data = sharded_by(Dataset.range(8).batch(4), policy)
        loop(strategy, strategy.experimental_distribute_dataset(data), staged)

    finding = told(on_workers(lambda strategy, worker: program(strategy, worker, AutoShard.OFF)), "same_shard")
    assert (0, 1) == finding.workers
    on_workers(lambda strategy, worker: program(strategy, worker, AutoShard.DATA)).check(each_once=True)


# 24


@EITHER
def test_global_batch_in_per_replica_function(staged):
    def program(strategy, size_of):
        distributed = strategy.distribute_datasets_from_function(
            lambda context: Dataset.range(8).batch(size_of(context))
        )
        loop(strategy, distributed, staged)

    finding = told(on_replicas(lambda strategy: program(strategy, lambda context: 4)), "batch_size", global_batch=4)
    assert "A step consumes 8 samples on 2 replicas, where 4 were expected" in finding.sentence
    assert "context.get_per_replica_batch_size(4)" in finding.sentence
    right = on_replicas(lambda strategy: program(strategy, lambda context: context.get_per_replica_batch_size(4)))
    right.check(each_once=True, global_batch=4)


# 25


@EITHER
def test_eval_padding_counts_samples_twice(staged):
    def program(strategy, padded):
        numbers = [*range(22), *(range(2) if padded else ())]
        data = Dataset.from_tensor_slices(np.array(numbers)).batch(8)
        loop(strategy, strategy.experimental_distribute_dataset(data), staged)

    finding = told(on_replicas(lambda strategy: program(strategy, True)), "twice", each_once=True)
    assert ((0, 1), (0, 2), (0, 1)) == (finding.samples, finding.steps, finding.replicas)
    on_replicas(lambda strategy: program(strategy, False)).check(each_once=True)


# 26


@EITHER
def test_drop_remainder_in_evaluation(staged):
    def program(strategy, drop):
        data = Dataset.range(20).batch(8, drop_remainder=drop)
        loop(strategy, strategy.experimental_distribute_dataset(data), staged)

    finding = told(on_replicas(lambda strategy: program(strategy, True)), "never", each_once=True)
    assert (16, 17, 18, 19) == finding.samples
    assert "covers 16 of 20 samples" in finding.sentence
    assert "drop_remainder=True: leave it out" in finding.sentence
    on_replicas(lambda strategy: program(strategy, False)).check(each_once=True)


# 27


@EITHER
def test_own_shuffle_seed_before_sharding(staged):
    def program(strategy, worker, seed):
        def data(context):
            order = np.random.RandomState(1234 + seed * context.input_pipeline_id).permutation(8)
            mine = order[context.input_pipeline_id * 4 :][:4]
            return Dataset.from_tensor_slices(mine).batch(2)

        loop(strategy, strategy.distribute_datasets_from_function(data), staged)

    ledger = on_workers(lambda strategy, worker: program(strategy, worker, 1))
    finding = told(ledger, "overlap", expected=range(8))
    assert ((0, 1), {2, 6}) == (finding.workers, set(finding.samples))
    assert "one seed on all workers" in finding.sentence
    assert {4, 5} == set(told(ledger, "never", expected=range(8)).samples)
    on_workers(lambda strategy, worker: program(strategy, worker, 0)).check(expected=range(8))


# 41: the mean itself is told where it is taken; the ledger says which piece was empty


@EITHER
def test_empty_replica_gives_nan(staged):
    def program(strategy, samples):
        loop(strategy, strategy.experimental_distribute_dataset(Dataset.range(samples).batch(4)), staged)

    finding = told(on_replicas(lambda strategy: program(strategy, 5)), "empty", even=True)
    assert ((1,), (1,)) == (finding.replicas, finding.steps)
    assert "1 samples are cut into [1, 0]" in finding.sentence
    on_replicas(lambda strategy: program(strategy, 8)).check(even=True)


# 42


@EITHER
def test_first_element_of_empty_batch(staged):
    def program(strategy, samples):
        data = strategy.experimental_distribute_dataset(Dataset.range(samples).batch(4))
        loop(strategy, data, staged, step=lambda x: tf.reduce_sum(x - x[0]))

    with pytest.raises(IndexError) as caught:
        on_replicas(lambda strategy: program(strategy, 5))
    assert any("raised in replica 1 of 2" in note for note in caught.value.__notes__)
    on_replicas(lambda strategy: program(strategy, 8)).check(even=True)


# 43 and 60: what a worker that has left keeps others waiting for


@EITHER
@pytest.mark.parametrize("short", [0, 1], ids=["chief_finishes_first", "different_number_of_batches"])
def test_different_number_of_batches(staged, short):
    def program(strategy, worker, difference):
        def one(x):
            return strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", x))

        one = tf.function(one) if staged else one
        for _ in range(3 - difference * (worker == short)):
            one(tf.constant(1.0))

    with pytest.raises(tf.errors.MeetingError, match=rf"worker {short} of 2: returned") as caught:
        on_workers(lambda strategy, worker: program(strategy, worker, 1))
    assert "test_data.py:" in str(caught.value)
    on_workers(lambda strategy, worker: program(strategy, worker, 0))


@EITHER
def test_shards_of_different_length_in_a_distributed_dataset(staged):
    def program(strategy, worker, lengths):
        def data(context):
            first = sum(lengths[: context.input_pipeline_id])
            return Dataset.range(first, first + lengths[context.input_pipeline_id]).batch(2)

        loop(strategy, strategy.distribute_datasets_from_function(data), staged)

    finding = told(on_workers(lambda strategy, worker: program(strategy, worker, [6, 4])), "empty", even=True)
    assert ((1,), (2,)) == (finding.workers, finding.steps)
    on_workers(lambda strategy, worker: program(strategy, worker, [6, 6])).check(even=True, each_once=True)


# 44: that a mean of means is wrong is for assert_same_on to say; the ledger says that the pieces differ


@EITHER
def test_mean_of_unequal_splits(staged):
    def program(strategy, samples):
        loop(strategy, strategy.experimental_distribute_dataset(Dataset.range(samples).batch(4)), staged)

    finding = told(on_replicas(lambda strategy: program(strategy, 7)), "indivisible", even=True)
    assert (1,) == finding.steps
    assert "3 samples are cut into [2, 1], and a mean of means weighs them wrongly" in finding.sentence
    on_replicas(lambda strategy: program(strategy, 8)).check(even=True)


# 45


@EITHER
def test_same_order_every_epoch(staged):
    def program(strategy, anew):
        data = Dataset.range(8).shuffle(8, seed=1, reshuffle_each_iteration=anew).batch(4)
        for _ in range(3):
            loop(strategy, strategy.experimental_distribute_dataset(data), staged)

    finding = told(on_replicas(lambda strategy: program(strategy, False)), "same_order")
    assert "Epochs 0, 1, 2 have the same order" in finding.sentence
    on_replicas(lambda strategy: program(strategy, True)).check(each_once=True)


# 63


@EITHER
def test_batch_not_divisible_idle_replica(staged):
    def program(strategy, batch):
        loop(strategy, strategy.experimental_distribute_dataset(Dataset.range(24).batch(batch)), staged)

    with pytest.warns(RuntimeWarning, match=r"Replica 3 got no rows in any of the 4 steps.*test_data\.py"):
        ledger = on_replicas(lambda strategy: program(strategy, 6), gpus=4, key=None)
    finding = told(ledger, "idle")
    assert (3,) == finding.replicas
    assert "A batch of 6 on 4 replicas is cut into [2, 2, 2, 0]" in finding.sentence
    on_replicas(lambda strategy: program(strategy, 8), gpus=4, key=None).check(even=True)


# 64


@EITHER
def test_steps_per_epoch_exceeds_data(staged):
    lengths, batch = [6, 4], 2

    def program(strategy, worker, steps):
        def data(context):
            return Dataset.range(lengths[context.input_pipeline_id]).batch(batch)

        loop(strategy, strategy.distribute_datasets_from_function(data), staged, steps=steps)

    end, words = (tf.errors.OutOfRangeError, "no more elements") if staged else (StopIteration, "ended after 3 steps")
    with pytest.raises(end, match=words) as caught:
        on_workers(lambda strategy, worker: program(strategy, worker, 4))
    assert "raised in worker 0 of 2" in caught.value.__notes__
    on_workers(lambda strategy, worker: program(strategy, worker, min(lengths) // batch))

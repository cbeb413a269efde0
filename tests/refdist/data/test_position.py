"""A loop that is left and taken up again delivers what is left, whatever the stages are, and in the same order."""

import itertools
import json

import numpy as np
import pytest

import refdist as tf
from refdist.cluster import run_workers
from refdist.data import sources
from refdist.data.stage import Stage

Dataset = tf.data.Dataset


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for index in range(3):
        (folder / f"{index}.txt").write_text("".join(f"{index}{line}\n" for line in range(4)))
        with tf.io.TFRecordWriter(str(folder / f"{index}.rec")) as writer:
            for line in range(4):
                writer.write(f"{index}{line}".encode())
    return [str(folder / f"{index}") for index in range(3)]


def texts(files, end):
    return [name + end for name in files]


def numbers(count=12):
    return Dataset.from_generator(lambda: iter(range(count)), tf.int64, ())


# Each makes a pipeline anew, as a program does that starts again; shuffles without a seed are among them.
STAGES = {
    "from_tensors": lambda files: Dataset.from_tensors([1, 2]).repeat(5),
    "from_tensor_slices": lambda files: Dataset.from_tensor_slices(
        {"a": np.arange(9), "b": np.arange(18).reshape(9, 2)}
    ),
    "range": lambda files: Dataset.range(3, 30, 4),
    "from_generator": lambda files: numbers(),
    "list_files": lambda files: Dataset.list_files(files[0][:-1] + "*.txt", seed=3),
    "text lines": lambda files: tf.data.TextLineDataset(texts(files, ".txt")),
    "records": lambda files: tf.data.TFRecordDataset(texts(files, ".rec")).batch(5),
    "map": lambda files: Dataset.range(12).map(lambda x: x * 3),
    "parallel map": lambda files: numbers().map(lambda x: x * 3, num_parallel_calls=4),
    "map after batch": lambda files: Dataset.range(12).shuffle(5).batch(3).map(lambda x: x * 3),
    "filter": lambda files: Dataset.range(20).filter(lambda x: x % 3 > 0),
    "flat_map": lambda files: Dataset.range(5).flat_map(Dataset.range),
    "interleave": lambda files: Dataset.range(6).interleave(Dataset.range, cycle_length=3, block_length=2),
    "parallel interleave": lambda files: numbers(6).interleave(Dataset.range, 2, num_parallel_calls=tf.data.AUTOTUNE),
    "interleave of shuffled files": lambda files: (
        Dataset.from_tensor_slices(texts(files, ".txt"))
        .shuffle(3)
        .interleave(lambda name: tf.data.TextLineDataset(name).shuffle(4, seed=1), cycle_length=2)
    ),
    "batch": lambda files: Dataset.range(14).batch(4),
    "batch without the rest": lambda files: Dataset.range(14).batch(4, drop_remainder=True),
    "padded_batch": lambda files: Dataset.range(8).map(lambda n: np.full(int(n) % 3, n)).padded_batch(2, [2]),
    "unbatch": lambda files: Dataset.range(14).batch(4).unbatch(),
    "rebatch": lambda files: Dataset.range(14).batch(4).rebatch(3),
    "repeat": lambda files: Dataset.range(4).repeat(3),
    "repeat without end": lambda files: Dataset.range(4).shuffle(3).repeat(),
    "shuffle": lambda files: Dataset.range(14).shuffle(20),
    "shuffle in a small buffer": lambda files: numbers().shuffle(4, seed=2),
    "shuffle once": lambda files: Dataset.range(8).shuffle(8, reshuffle_each_iteration=False).repeat(2),
    "shuffle of epochs": lambda files: Dataset.range(6).shuffle(6).repeat(3).batch(4),
    "shard": lambda files: Dataset.range(14).shuffle(14, seed=5).shard(3, 1),
    "take": lambda files: Dataset.range(14).shuffle(14).take(6),
    "skip": lambda files: Dataset.range(14).shuffle(14).skip(6),
    "zip": lambda files: Dataset.zip(Dataset.range(9).shuffle(9), numbers().shuffle(3)),
    "concatenate": lambda files: Dataset.range(5).shuffle(5).concatenate(numbers(4).shuffle(4)),
    "enumerate": lambda files: Dataset.range(9).shuffle(9).enumerate(5),
    "prefetch": lambda files: Dataset.range(9).shuffle(9).prefetch(3),
    "cache": lambda files: Dataset.range(9).shuffle(9).cache().repeat(2),
    "with_options": lambda files: Dataset.range(9).shuffle(9).with_options(tf.data.Options()),
    "apply": lambda files: Dataset.range(9).apply(lambda dataset: dataset.shuffle(4).batch(2)),
}
ENOUGH = 30


def plain(elements):
    return [tf.nest.map_structure(lambda leaf: np.asarray(leaf).tolist(), element) for element in elements]


def some(iterator, count):
    return plain(itertools.islice(iterator, count))


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("epochs_before", [0, 1])
def test_every_stage_goes_on_where_it_was(name, epochs_before, files):
    endless = "without end" in name
    for done in range(8):
        dataset = STAGES[name](files)
        for _ in range(epochs_before):
            some(iter(dataset), ENOUGH)
        iterator = iter(dataset)
        seen = some(iterator, done)
        state = json.loads(json.dumps(iterator.state()))
        left = some(iterator, ENOUGH)
        again = iter(STAGES[name](files))
        again.restore(state)

        assert left == some(again, ENOUGH)
        assert endless or len(seen) + len(left) == len(some(iter(STAGES[name](files)), ENOUGH))


def test_the_table_above_has_every_stage(files):
    def stages(kind):
        return {kind, *(one for sub in kind.__subclasses__() for one in stages(sub))}

    seen = {type(stage) for make in STAGES.values() for stage in make(files).stage.walk()}
    # A loader has no pipeline of ours around it; what it delivers is counted as a generator's elements are.
    assert {Stage, sources.Loader} == {kind for kind in stages(Stage) if kind.__module__.startswith("refdist")} - seen


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("counts", [(1, 3), (3, 2)])
def test_a_batch_of_every_stage_goes_on_with_other_replicas(name, counts, files):
    def loop(dataset, count):
        with tf.using("simulator", gpus=count):
            strategy = tf.distribute.MirroredStrategy()
        return strategy, iter(strategy.experimental_distribute_dataset(dataset))

    def samples(strategy, elements):
        for element in elements:
            for part in zip(*map(strategy.experimental_local_results, tf.nest.flatten(element)), strict=True):
                yield from zip(*(np.asarray(leaf).tolist() for leaf in part), strict=True)

    def samples_of(name):
        made = STAGES[name](files)
        ranks = {len(leaf.shape) for leaf in tf.nest.flatten(made.element_spec)}
        return made.unbatch() if ranks == {1} else made

    for done in (0, 1, 2):
        strategy, iterator = loop(samples_of(name).batch(4), counts[0])
        list(samples(strategy, itertools.islice(iterator, done)))
        other, again = loop(samples_of(name).batch(3), counts[1])
        again.restore(iterator.state())

        assert list(itertools.islice(samples(strategy, iterator), ENOUGH)) == list(
            itertools.islice(samples(other, again), ENOUGH)
        )


@pytest.mark.parametrize("policy", ["FILE", "DATA"])
def test_a_position_holds_for_its_worker_and_is_refused_by_another(policy, files):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
    states = {}

    def program(index):
        dataset = tf.data.TextLineDataset(texts(files, ".txt")).batch(2).with_options(options)
        iterator = iter(tf.distribute.MultiWorkerMirroredStrategy().experimental_distribute_dataset(dataset))
        if not states.get(index):
            next(iterator)
            states[index] = iterator.state()
            return list(map(plain, iterator))
        iterator.restore(states[index])
        return list(map(plain, iterator))

    with tf.using("simulator", gpus=1):
        assert run_workers(program, 2) == run_workers(program, 2)
        with pytest.raises(ValueError, match=r"0 of 2.*expected.*0 of 3"):
            run_workers(program, 3)
        states[0] = states[1]
        with pytest.raises(ValueError, match=r"1 of 2.*expected.*0 of 2"):
            run_workers(program, 2)

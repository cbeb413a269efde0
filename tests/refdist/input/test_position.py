"""A loop that is left and taken up again delivers what is left, whatever the stages are, and in the same order."""

import itertools
import json

import numpy as np
import pytest

import refdist as tf
from refdist._core.clusters.workers import run_workers
from refdist._core.input import replica_batches, sources, transforms, windows
from refdist._core.input.stage import Stage

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

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


def saved(path):
    Dataset.range(9).save(path)
    return Dataset.load(path)


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
    "ragged_batch": lambda files: (
        Dataset.range(8).map(lambda n: tf.range(n % 3)).ragged_batch(2).map(lambda rows: rows.to_tensor(shape=[2, 2]))
    ),
    "unbatch": lambda files: Dataset.range(14).batch(4).unbatch(),
    "rebatch": lambda files: Dataset.range(14).batch(4).rebatch(3),
    "window": lambda files: Dataset.range(9).shuffle(9).window(3, 2).flat_map(lambda window: window.batch(2)),
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
    "cache in a file": lambda files: Dataset.range(9).cache(files[0] + "cache").repeat(2),
    "load": lambda files: saved(files[0] + "saved"),
    "with_options": lambda files: Dataset.range(9).shuffle(9).with_options(tf.data.Options()),
    "take_while": lambda files: Dataset.range(14).take_while(lambda x: x < 12),
    "scan": lambda files: Dataset.range(9).shuffle(9).scan(np.int64(0), lambda state, x: (state + x, state + x)),
    "unique": lambda files: Dataset.range(9).shuffle(9).map(lambda x: x % 5).unique(),
    "choose": lambda files: Dataset.choose_from_datasets(
        [Dataset.range(9).shuffle(9), numbers().shuffle(3)], Dataset.range(2).repeat()
    ),
    "sample": lambda files: Dataset.sample_from_datasets([Dataset.range(9), numbers().shuffle(3)]),
    "sample anew": lambda files: Dataset.sample_from_datasets(
        [Dataset.range(9), numbers()], rerandomize_each_iteration=True
    ),
    "counter without end": lambda files: Dataset.counter(),
    "random without end": lambda files: Dataset.random(),
    "group_by_window": lambda files: (
        Dataset.range(12).shuffle(12).group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3)
    ),
    "ignore_errors": lambda files: Dataset.range(9).shuffle(9).map(lambda x: 12 // x).ignore_errors(),
    "assert_cardinality": lambda files: Dataset.range(9).shuffle(9).apply(tf.data.experimental.assert_cardinality(9)),
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
    # A loader has no pipeline of ours around it; what it delivers is counted as a generator's elements are. What a window holds
    # is an element, and no stage of the pipeline. What is divided among workers, or stands abreast for replicas, is tested there.
    assert {
        Stage,
        sources.Loader,
        transforms.DividedBatches,
        transforms.CutEqually,
        replica_batches.Abreast,
        windows.InMemoryElements,
    } == {kind for kind in stages(Stage) if kind.__module__.startswith("refdist")} - seen


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


def test_a_position_holds_for_its_worker_and_is_refused_by_another(files):
    states = {}

    def program(index):
        dataset = with_policy(tf.data.TextLineDataset(texts(files, ".txt")).batch(2), "FILE")
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


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("size", [4, 6])
@pytest.mark.parametrize("seed", [3, None])
def test_a_position_among_divided_batches_holds_on_any_number_of_workers(workers, size, seed):
    states = []

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        dataset = with_policy(Dataset.range(30).shuffle(30, seed=seed).batch(size if states else 6), "DATA")
        iterator = iter(strategy.experimental_distribute_dataset(dataset))
        if states:
            iterator.restore(states[0])
            return [np.asarray(element).tolist() for element in iterator]
        seen = [np.asarray(next(iterator)).tolist() for _ in range(2)]
        return seen, json.loads(json.dumps(iterator.state()))

    with tf.using("simulator", gpus=1):
        seen, positions = zip(*run_workers(program, 2), strict=True)
        assert positions[0] == positions[1]
        states += positions
        rest = run_workers(program, workers)

    assert list(range(30)) == sorted(x for steps in [*seen, *rest] for step in steps for x in step)


def with_policy(dataset, policy):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
    return dataset.with_options(options)


def left_on_workers(make, local, states=None, done=0):
    """What is left for each worker after some steps, or after the positions given; and its position there."""

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        iterator = iter(strategy.experimental_distribute_dataset(make()))
        if states is not None:
            iterator.restore(states[index])
        for _ in range(done):
            next(iterator)
        state = json.loads(json.dumps(iterator.state()))
        parts = [part for element in iterator for part in strategy.experimental_local_results(element)]
        return state, [one for part in parts for one in np.asarray(part).tolist()]

    with tf.using("simulator", gpus=local):
        return zip(*run_workers(program, 2), strict=True)


@pytest.mark.parametrize("policy", ["FILE", "OFF"])
@pytest.mark.parametrize("local", [1, 2, 3])
@pytest.mark.parametrize("resized", [8, 5, 3])
@pytest.mark.parametrize("done", [1, 2, 3])
def test_a_position_inside_a_batch_of_several_workers_holds_for_other_replicas_and_sizes(
    policy, local, resized, done, tmp_path
):
    for index in range(2):
        (tmp_path / f"{index}").write_text("".join(f"{index}{line}\n" for line in range(30)))

    def make(size):
        names = [str(tmp_path / f"{index}") for index in range(2)]
        return with_policy(tf.data.TextLineDataset(names).batch(size), policy)

    states, left = left_on_workers(lambda: make(8), 1, done=done)
    same, again = left_on_workers(lambda: make(resized), local, states)
    _, once_more = left_on_workers(lambda: make(resized), local, same)

    assert left == again == once_more
    assert states == same, "a position that was restored and not used is the same position"


def test_a_position_inside_a_batch_of_several_workers_holds_for_one_worker_and_a_loop_without_a_strategy():
    def make():
        return with_policy(Dataset.range(30).batch(8), "OFF")

    states, left = left_on_workers(make, 1, done=3)
    with tf.using("simulator", gpus=1):
        strategy = tf.distribute.MirroredStrategy()
    for iterator in (
        iter(strategy.experimental_distribute_dataset(make())),
        iter(strategy.distribute_datasets_from_function(lambda given: make())),
        iter(make()),
    ):
        iterator.restore(states[0])

        assert left[0] == [int(x) for element in iterator for x in np.asarray(element)] == list(range(12, 30))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(14).batch(8).repeat(1),
        lambda: Dataset.range(14).batch(8).map(lambda x: x, num_parallel_calls=2),
        lambda: Dataset.range(14).batch(3).rebatch(8),
        lambda: [np.arange(8), np.arange(8, 14)],
    ],
)
def test_a_last_batch_is_cut_alike_after_a_restart(make):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
    iterator = iter(strategy.experimental_distribute_dataset(make()))
    next(iterator)
    again = iter(strategy.experimental_distribute_dataset(make()))
    again.restore(json.loads(json.dumps(iterator.state())))

    assert [[8, 9, 10, 11], [12, 13]] == [np.asarray(part).tolist() for part in next(again).values]


def test_a_shuffle_without_a_seed_inside_a_flat_map_stops_no_loop_but_those_that_would_lose_elements():
    def make(policy):
        inner = Dataset.range(4)
        return with_policy(Dataset.range(3).flat_map(lambda x: inner.shuffle(4)).batch(2), policy)

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        return [
            int(x) for e in strategy.experimental_distribute_dataset(make(policies[0])) for x in np.asarray(e).tolist()
        ]

    policies = ["OFF"]
    with tf.using("simulator", gpus=1):
        for got in run_workers(program, 2):
            assert sorted(got) == sorted([0, 1, 2, 3] * 3)
        policies[0] = "DATA"
        with pytest.raises(ValueError, match="lost or come twice"):
            run_workers(program, 2)


@pytest.mark.parametrize("make", [lambda n: Dataset.range(n).batch(3), lambda n: Dataset.range(n).batch(3).repeat(1)])
def test_the_end_is_a_position_and_what_lies_beyond_it_is_refused(make):
    iterator = iter(make(9))
    list(iterator)
    state = iterator.state()
    again = iter(make(9))
    again.restore(state)

    assert [] == list(again)
    with pytest.raises(ValueError, match="expected at most"):
        iter(make(6)).restore(state)


def test_a_position_among_windows_is_that_of_the_next_window():
    def make():
        return Dataset.range(9).shuffle(9, seed=1).window(3, shift=2)

    iterator = iter(make())
    next(iterator)
    again = iter(make())
    again.restore(json.loads(json.dumps(iterator.state())))

    assert [some(iter(window), 9) for window in iterator] == [some(iter(window), 9) for window in again]


def test_restoring_one_loop_changes_no_other_over_the_same_dataset():
    def orders(restore):
        dataset = Dataset.range(20).shuffle(20, seed=1)
        loops = [iter(dataset) for _ in range(3)]
        state = {**loops[0].state(), "shuffles": [[5, 0]]}
        some(loops[1], 2)
        if restore:
            loops[2].restore(state)
        return [some(loop, 20) for loop in (*loops[:2], iter(dataset), iter(dataset))]

    assert orders(restore=False) == orders(restore=True)


def test_restoring_a_loop_does_not_give_its_seed_to_the_dataset():
    dataset = Dataset.range(20).shuffle(20, reshuffle_each_iteration=False)
    before = some(iter(dataset), 20)
    other = iter(dataset)
    other.restore(iter(Dataset.range(20).shuffle(20, seed=2, reshuffle_each_iteration=False)).state())

    assert before != some(other, 20)
    assert before == some(iter(dataset), 20)


@pytest.mark.parametrize("shuffled", [{"seed": 1}, {"reshuffle_each_iteration": False}, {}])
def test_a_generator_over_a_shuffled_dataset_has_no_position_unless_its_order_is_found_again(shuffled):
    def make(**given):
        inner = Dataset.range(20).shuffle(20, **given)
        return Dataset.from_generator(lambda: iter(inner), output_signature=tf.TensorSpec((), tf.int64)).batch(4)

    iterator = iter(make(**shuffled))
    next(iterator)
    with pytest.raises(ValueError, match="expected an order that can be found again"):
        iterator.state()
    iterator = iter(make(seed=1, reshuffle_each_iteration=False))
    next(iterator)
    again = iter(make(seed=1, reshuffle_each_iteration=False))
    again.restore(iterator.state())

    assert some(iterator, 9) == some(again, 9)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Dataset.range(n),
        lambda n: Dataset.range(n).batch(2),
        lambda n: Dataset.range(n).batch(2).prefetch(1),
        lambda n: Dataset.range(9).take(n).batch(2),
    ],
)
def test_a_position_beyond_an_empty_dataset_is_refused_and_its_beginning_is_not(make):
    iterator = iter(make(3))
    beginning = iterator.state()
    next(iterator)
    with pytest.raises(ValueError, match="expected at most 0"):
        iter(make(0)).restore(iterator.state())
    empty = iter(make(0))
    empty.restore(beginning)

    assert [] == list(empty)

"""No sample is lost, repeated, changed or mixed up, however the pipeline is built."""

import json
import zlib

import numpy as np
import pytest

import refdist as tf
from refdist._core.clusters.workers import run_workers
from simulator import ledger

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

Dataset = tf.data.Dataset
Policy = tf.data.experimental.AutoShardPolicy


def plain(dataset):
    elements = dataset.as_numpy_iterator()
    return [one if isinstance(one, bytes) else np.asarray(one).tolist() for one in elements]


def two():
    with tf.using("simulator", gpus=2):
        return tf.distribute.MirroredStrategy()


def parts(strategy, element):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(element)]


def on_workers(make, workers=2):
    """What each worker gets of a dataset that it makes itself."""

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        distributed = strategy.experimental_distribute_dataset(make())
        return [x for element in distributed for x in np.asarray(element).tolist()]

    with tf.using("simulator", gpus=1):
        return run_workers(program, workers)


def with_policy(dataset, policy):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    return dataset.with_options(options)


@pytest.fixture
def files(tmp_path):
    for index in range(4):
        (tmp_path / f"{index}.txt").write_text(f"{index}0\n{index}1\n")
    return [str(tmp_path / f"{index}.txt") for index in range(4)]


def test_a_position_in_the_middle_of_a_batch_of_several_workers_keeps_the_rest_of_it():
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        dataset = with_policy(Dataset.range(16).batch(8), Policy.OFF)
        iterator = iter(strategy.experimental_distribute_dataset(dataset))
        next(iterator)
        other = iter(strategy.experimental_distribute_dataset(dataset))
        other.restore(json.loads(json.dumps(iterator.state())))
        return [np.asarray(x).tolist() for x in other], [np.asarray(x).tolist() for x in iterator]

    with tf.using("simulator", gpus=1):
        results = run_workers(program, 2)

    left = [[4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    assert [(left, left)] * 2 == results


def test_a_buffer_that_is_filled_again_does_not_change_earlier_elements():
    def generator():
        buffer = np.zeros(1)
        for index in range(4):
            buffer[:] = index
            yield buffer

    shared = np.zeros(1)

    def fill(x):
        shared[:] = x
        return shared

    assert [[[0], [1]], [[2], [3]]] == plain(Dataset.from_generator(generator).batch(2))
    assert [[[0], [1]], [[2], [3]]] == plain(Dataset.range(4).map(fill).batch(2))


def test_data_that_are_not_all_files_are_shared_out_by_element(files):
    def make():
        numbered = Dataset.zip(tf.data.TextLineDataset(files), Dataset.range(8))
        return numbered.map(lambda line, number: number).batch(1)

    with pytest.warns(UserWarning, match="files alone"):
        first, second = on_workers(make)

    assert list(range(8)) == sorted(first + second)
    with pytest.raises(ValueError, match="RangeDataset"):
        on_workers(lambda: with_policy(make(), Policy.FILE))


def test_shuffled_file_names_are_shared_out_before_they_are_shuffled(files):
    pattern = files[0].replace("0.txt", "*.txt")
    seen = on_workers(lambda: tf.data.TextLineDataset(Dataset.list_files(pattern)).batch(2))

    assert sorted(f"{i}{j}".encode() for i in range(4) for j in range(2)) == sorted(seen[0] + seen[1])


@pytest.mark.parametrize(
    "choose",
    [
        lambda names: names.take(3),
        lambda names: names.skip(1),
        lambda names: names.repeat(2),
        lambda names: names.filter(lambda name: not name.item().endswith(b"0.txt")),
        lambda names: names.shuffle(4, seed=2).take(2),
        lambda names: names.batch(1).unbatch().skip(1),
    ],
)
@pytest.mark.parametrize(
    "read", [tf.data.TextLineDataset, lambda names: names.interleave(tf.data.TextLineDataset, cycle_length=2)]
)
def test_file_names_are_chosen_before_they_are_shared_out(choose, read, files):
    def make():
        return read(choose(Dataset.list_files(files[0].replace("0.txt", "*.txt"), shuffle=False)))

    first, second = on_workers(lambda: make().batch(1))

    assert sorted(plain(make())) == sorted(first + second)
    assert first
    assert second


def test_chosen_names_are_the_same_on_all_workers_without_a_seed_too(files):
    pattern = files[0].replace("0.txt", "*.txt")
    first, second = on_workers(lambda: tf.data.TextLineDataset(Dataset.list_files(pattern).take(2)).batch(2))

    assert (2, 2, 4) == (len(first), len(second), len({*first, *second}))
    with pytest.raises(ValueError, match="1 files for 2 workers"):
        on_workers(lambda: tf.data.TextLineDataset(Dataset.list_files(pattern).take(1)).batch(2))


@pytest.mark.parametrize("seed", [1, None])
def test_workers_that_share_out_shuffled_elements_shuffle_alike(seed):
    shared = with_policy(Dataset.range(8).shuffle(8, seed=seed).batch(2), Policy.DATA)
    for make in (lambda: shared, lambda: with_policy(Dataset.range(8).shuffle(8, seed=seed).batch(2), Policy.DATA)):
        first, second = on_workers(make)
        assert list(range(8)) == sorted(first + second)


def test_a_cache_of_one_worker_is_not_that_of_another(files):
    cached = tf.data.TextLineDataset(files).cache().batch(2)
    first, second = on_workers(lambda: cached)

    assert 8 == len({*first, *second})


def test_a_position_over_a_cache_of_shuffled_data_holds_in_a_new_pipeline():
    def make():
        return Dataset.range(8).shuffle(8, seed=1).cache().batch(2)

    dataset = make()
    plain(dataset)
    iterator = iter(dataset)
    seen = [next(iterator).tolist() for _ in range(2)]
    other = iter(make())
    other.restore(iterator.state())

    assert list(range(8)) == sorted(x for batch in [*seen, *(element.tolist() for element in other)] for x in batch)


def test_a_hint_is_followed_on_one_worker_too_and_refused_elsewhere():
    hinted = Dataset.range(4).shard(tf.data.experimental.SHARD_HINT, tf.data.experimental.SHARD_HINT).batch(2)
    distributed = two().experimental_distribute_dataset(with_policy(hinted, Policy.HINT))

    assert [[[0], [1]], [[2], [3]]] == [parts(two(), element) for element in distributed]
    with pytest.raises(ValueError, match="SHARD_HINT"):
        plain(hinted)
    with pytest.raises(ValueError, match="no stage has a hint"):
        on_workers(lambda: with_policy(Dataset.range(4).batch(2), Policy.HINT))


def test_a_position_that_counts_batches_is_not_taken_for_one_that_counts_other_batches():
    def make(size):
        return Dataset.range(12).batch(size).repeat(1)

    iterator = iter(make(4))
    next(iterator)
    with pytest.raises(ValueError, match="batches of 4"):
        iter(make(2)).restore(iterator.state())
    same = iter(make(4))
    same.restore(iterator.state())

    assert [4, 5, 6, 7] == next(same).tolist()


def test_a_shuffle_made_outside_flat_map_is_found_again():
    def make():
        inner = Dataset.range(4).shuffle(4, seed=7)
        return Dataset.range(2).flat_map(lambda x: inner)

    dataset = make()
    first = plain(dataset)
    iterator = iter(dataset)
    seen = [int(next(iterator)) for _ in range(3)]
    other = iter(make())
    other.restore(iterator.state())

    assert first == seen + [int(x) for x in other]


def test_padded_shapes_belong_to_their_keys():
    element = {"b": np.ones(1), "a": (np.ones(2),)}
    (batch,) = Dataset.from_tensors(element).padded_batch(1, padded_shapes={"b": [5], "a": ([3],)}).as_numpy_iterator()

    assert ((1, 5), (1, 3)) == (batch["b"].shape, batch["a"][0].shape)


def test_text_is_kept_as_it_is():
    texts = [b"a\x00", b"bcd"]
    taken_apart = Dataset.from_tensor_slices(texts).batch(2).unbatch().batch(2)
    made = Dataset.from_generator(lambda: iter(np.array(texts, dtype=object)))

    assert [texts] == plain(taken_apart)
    assert texts == plain(made)
    assert "string" in repr(Dataset.range(2).map(lambda x: np.array(["ab"])))


def test_the_epoch_after_a_restored_one_is_the_next_one():
    def make():
        return Dataset.range(6).shuffle(6, seed=3)

    dataset = make()
    epochs = [plain(dataset) for _ in range(3)]
    dataset = make()
    plain(dataset)
    state = iter(dataset).state()
    resumed = make()
    iterator = iter(resumed)
    iterator.restore(state)

    assert epochs[1:] == [[int(x) for x in iterator], plain(resumed)]


def test_looking_at_a_dataset_does_not_change_it():
    def make():
        return Dataset.range(4).shuffle(4, seed=5).interleave(Dataset.from_tensors, cycle_length=1)

    looked_at = make()
    repr(looked_at)
    looked_at.concatenate(make())

    assert plain(make()) == plain(looked_at)


def test_a_strategy_made_outside_the_workers_is_refused_inside():
    with tf.using("simulator", gpus=1):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with pytest.raises(RuntimeError, match="Make it in the program"):
            run_workers(lambda index: strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None), 2)


def test_the_ledger_counts_the_samples_of_loaders():
    with tf.using("simulator", gpus=2), ledger() as record:
        list(tf.distribute.MirroredStrategy().experimental_distribute_dataset([np.arange(4), np.arange(4)]))

    assert [range(2), range(2, 4), range(4, 6), range(6, 8)] == [one.samples for one in record.deliveries]


@pytest.mark.parametrize("attempt", [
    lambda: plain(Dataset.from_tensors((np.arange(4), np.arange(6))).rebatch(2)),
    lambda: plain(Dataset.range(3).rebatch(2)),
    lambda: plain(Dataset.from_generator(lambda: iter([1, 2.5])).batch(2)),
])  # fmt: skip
def test_parts_that_do_not_fit_together_are_refused(attempt):
    with pytest.raises(ValueError, match="expected"):
        attempt()


def test_leaving_out_everything_ends_at_once():
    assert [] == plain(Dataset.range(3).repeat().skip(-1)) == plain(Dataset.range(3).map(lambda x: x).repeat().skip(-1))


def test_a_first_batch_without_examples_is_delivered_empty():
    distributed = two().experimental_distribute_dataset([np.zeros(0), np.arange(4.0)])

    assert [[[], []], [[0, 1], [2, 3]]] == [parts(two(), element) for element in distributed]


def test_a_damaged_length_is_an_error_and_no_gigantic_allocation(tmp_path):
    import struct

    from refdist._core.input.tfrecord import masked_checksum

    for length in (2**33, 2**63):
        header = struct.pack("<Q", length)
        (tmp_path / "bad").write_bytes(header + struct.pack("<I", masked_checksum(header)) + b"abc")
        with pytest.raises(tf.errors.DataLossError, match="only 3 are there"):
            plain(tf.data.TFRecordDataset(str(tmp_path / "bad")))


def test_streams_that_follow_each_other_are_all_read(tmp_path):
    (tmp_path / "two").write_bytes(zlib.compress(b"a\n") + zlib.compress(b"b\n"))

    assert [b"a", b"b"] == plain(tf.data.TextLineDataset(str(tmp_path / "two"), compression_type="ZLIB"))


def test_large_rows_are_not_taken_by_the_thousand():
    import tracemalloc

    rows = np.zeros((512, 64, 64, 3), np.float32)
    dataset = Dataset.from_tensor_slices(rows).shuffle(512, seed=1).map(lambda x: x).batch(4)
    tracemalloc.start()
    try:
        next(dataset.as_numpy_iterator())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < rows.nbytes / 4


def test_any_integer_is_a_seed():
    assert [0, 1, 2] == sorted(plain(Dataset.range(3).shuffle(3, seed=-1)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(0).shuffle(3).repeat(),
        lambda: Dataset.range(3).take(0).shuffle(3, seed=1).repeat().batch(2),
        lambda: Dataset.from_tensor_slices(np.zeros((0, 2))).shuffle(9).repeat().shuffle(4).batch(2),
        lambda: Dataset.range(3).filter(lambda x: x > 5).shuffle(3).repeat(),
        lambda: Dataset.range(3).map(lambda x: x).take(0).repeat(),
        lambda: Dataset.zip(Dataset.range(0).shuffle(2), Dataset.range(3)).repeat(),
        lambda: Dataset.range(0).shuffle(2).window(2).repeat(),
        lambda: Dataset.range(3).flat_map(lambda x: Dataset.range(0).shuffle(2).repeat()).repeat(),
        lambda: Dataset.range(3).interleave(lambda x: Dataset.range(0)).repeat(),
        lambda: Dataset.range(0).concatenate(Dataset.range(0)).cache().repeat(),
        lambda: Dataset.range(3).shard(9, 8).shuffle(2).repeat(),
        lambda: Dataset.range(3).batch(4, drop_remainder=True).unbatch().repeat(),
    ],
)
def test_nothing_repeated_without_end_is_nothing(make):
    assert [] == plain(make())


@pytest.mark.parametrize(
    ("attempt", "error"),
    [
        (lambda empty: empty.map(lambda x, y: x), TypeError),
        (lambda empty: empty.map(lambda x: x + "a"), TypeError),
        (lambda empty: empty.map(lambda x: None), TypeError),
        (lambda empty: empty.filter(lambda x: x), ValueError),
        (lambda empty: empty.filter(lambda x, y: True), TypeError),
        (lambda empty: empty.flat_map(lambda x: x), TypeError),
        (lambda empty: empty.interleave(lambda x: x), TypeError),
        (lambda empty: empty.unbatch(), ValueError),
        (lambda empty: empty.rebatch(2), ValueError),
        (lambda empty: empty.batch(2).padded_batch(2, padded_shapes=()), ValueError),
        (lambda empty: empty.map(lambda x: (x, x)).padded_batch(2, padded_shapes=((), (), ())), TypeError),
    ],
)
@pytest.mark.parametrize(
    "empty",
    [
        lambda: Dataset.range(0),
        lambda: Dataset.range(4).take(0),
        lambda: Dataset.from_tensor_slices(np.zeros(0, np.int64)),
        lambda: Dataset.range(2).repeat(0).shuffle(3).repeat(),
        lambda: Dataset.zip(Dataset.range(4), Dataset.range(0)).map(lambda a, b: a + b),
    ],
)
def test_what_is_wrong_with_a_stage_over_an_empty_dataset_is_said_when_it_is_made(attempt, error, empty):
    with pytest.raises(error):
        attempt(empty())

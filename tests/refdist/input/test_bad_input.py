"""What is wrong with the data is said clearly, where it is wrong, and nothing is delivered twice."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.clusters.workers import run_workers

Dataset = tf.data.Dataset
PAIR = (np.arange(2), np.arange(2))


def plain(dataset):
    return [np.asarray(element).tolist() for element in dataset.as_numpy_iterator()]


def two():
    with tf.using("simulator", gpus=2):
        return tf.distribute.MirroredStrategy()


@pytest.mark.parametrize("elements", [[PAIR, np.arange(2)], [np.arange(2), PAIR], [{"a": np.arange(2)}, PAIR]])
@pytest.mark.parametrize(
    "distribute",
    [
        lambda make: two().experimental_distribute_dataset(make),
        lambda make: two().distribute_datasets_from_function(lambda given: Dataset.from_generator(make)),
        lambda make: Dataset.from_generator(make),
    ],
)
def test_elements_of_unequal_structure_are_refused_and_counted(distribute, elements):
    with pytest.raises(ValueError, match=r"Element 1 of this pass .* expected the same nest"):
        list(distribute(lambda: iter(elements)))


def delivered_on_workers(make, workers=2):
    """What each worker of a failing program got before the failure, and the failure."""
    got = [[] for _ in range(workers)]

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        distributed = strategy.experimental_distribute_dataset(make(index))
        for element in distributed:
            got[index] += np.asarray(element).tolist()

    with tf.using("simulator", gpus=1), pytest.raises(Exception) as raised:
        run_workers(program, workers)
    return got, raised.value


def everything(dataset):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return dataset.with_options(options)


def test_a_generator_that_raises_names_element_and_worker_and_ends_the_others_at_the_same_step():
    def make(index):
        def numbers():
            for number in range(8):
                if (index, number) == (1, 5):
                    raise KeyError("broken")
                yield number

        return everything(Dataset.from_generator(numbers, tf.int64, ()).batch(2))

    (first, second), error = delivered_on_workers(make)

    assert isinstance(error, KeyError)
    assert ["raised while element 5 of FlatMapDataset was made", "raised in worker 1 of 2"] == error.__notes__[:2]
    assert (list(range(4)), list(range(4))) == (first, second)


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_file_that_is_missing_or_cut_is_named_with_its_worker_and_the_others_end_at_the_same_step(tmp_path, damage):
    names = [str(tmp_path / f"{index}.rec") for index in range(2)]
    for name in names:
        with tf.io.TFRecordWriter(name) as writer:
            for record in (b"one", b"two", b"three"):
                writer.write(record)
    data = (tmp_path / "1.rec").read_bytes()
    (tmp_path / "1.rec").unlink()
    if damage == "cut":
        (tmp_path / "1.rec").write_bytes(data[:-3])

    (first, second), error = delivered_on_workers(lambda index: tf.data.TFRecordDataset(names).batch(1))

    assert ([] if damage == "missing" else [b"one", b"two"]) == first == second
    assert isinstance(error, FileNotFoundError if damage == "missing" else tf.errors.DataLossError)
    assert names[1] in str(error)
    assert ["raised in worker 1 of 2"] == error.__notes__[:1]
    assert damage == "missing" or f"at byte {2 * (3 + 16)} of" in str(error)


def test_what_is_no_file_is_said_to_be_none(tmp_path):
    with pytest.raises(IsADirectoryError, match="expected a file"):
        plain(tf.data.TextLineDataset(str(tmp_path)))
    for wrong in (None, 3, [3]):
        with pytest.raises(TypeError, match="expected a name"):
            tf.data.TFRecordDataset(wrong)

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


@pytest.mark.parametrize("number", [np.array([None]), np.array([2]), [2], "2", 2.5])
@pytest.mark.parametrize("method", ["batch", "repeat", "take", "skip", "prefetch", "enumerate", "shuffle"])
def test_what_is_no_integer_is_refused_by_every_method_in_the_same_words(method, number):
    with pytest.raises(TypeError, match=rf"{method}\(\) got .*; expected an integer"):
        getattr(Dataset.range(4), method)(number)


@pytest.mark.parametrize("number", [2, np.int64(2), np.array(2), tf.constant(2)])
@pytest.mark.parametrize("method", ["batch", "repeat", "take", "skip", "prefetch", "enumerate", "shuffle"])
def test_integers_of_every_kind_are_taken(method, number):
    expected = [str(element) for element in getattr(Dataset.range(4), method)(2)]

    assert len(expected) == len(list(getattr(Dataset.range(4), method)(number)))


@pytest.mark.parametrize("seed", [[1], "a", 2.5])
def test_a_seed_that_is_no_integer_is_refused_before_anything_is_delivered(seed):
    with pytest.raises(TypeError, match=r"shuffle\(\) got seed=.*; expected an integer"):
        Dataset.range(4).shuffle(2, seed=seed)
    with pytest.raises(TypeError, match=r"list_files\(\) got seed=.*; expected an integer"):
        Dataset.list_files("*", seed=seed)


@pytest.mark.parametrize("size", [None, True, tf.data.AUTOTUNE])
def test_prefetch_takes_what_tensorflow_takes_for_how_many(size):
    assert [0, 1] == plain(Dataset.range(2).prefetch(size))


@pytest.mark.parametrize("method", [lambda data: data.apply(None), lambda data: data.reduce(0, None)])
def test_a_function_that_is_none_is_refused(method):
    with pytest.raises(TypeError, match="got None, a NoneType; expected a function"):
        method(Dataset.range(2))


@pytest.mark.parametrize("given", [None, 5, [5], "a", Dataset.range(2)])
def test_what_are_no_datasets_are_refused(given):
    with pytest.raises(TypeError, match=r"sample_from_datasets\(\) got a .*; expected a list of tf.data.Datasets"):
        Dataset.sample_from_datasets(given)
    with pytest.raises(TypeError, match=r"choose_from_datasets\(\) got a .*; expected a list of tf.data.Datasets"):
        Dataset.choose_from_datasets(given, Dataset.range(2))


def test_choices_that_are_no_dataset_are_refused():
    with pytest.raises(TypeError, match=r"choose_from_datasets\(\) got a int; expected a list of tf.data.Datasets"):
        Dataset.choose_from_datasets([Dataset.range(2)], 5)


def test_weights_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match=r"weights='ab'; expected a number for each dataset"):
        Dataset.sample_from_datasets([Dataset.range(2)], weights="ab")


@pytest.mark.parametrize("pattern", [None, 5, [5], Dataset.range(2)])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(TypeError, match=r"list_files\(\) got .*; expected a pattern such as"):
        Dataset.list_files(pattern)


@pytest.mark.parametrize(
    "kind", [str, lambda path: [path], lambda path: str(path).encode(), lambda path: tf.constant([str(path)])]
)
def test_patterns_may_be_text_bytes_paths_and_tensors(tmp_path, kind):
    path = tmp_path / "a.txt"
    path.write_text("a")

    assert [str(path).encode()] == plain(Dataset.list_files(kind(path))) or [str(path)] == plain(
        Dataset.list_files(kind(path))
    )


@pytest.mark.parametrize("data", [5, None, int])
def test_what_delivers_nothing_is_not_distributed(data):
    with pytest.raises(TypeError, match=r"The data are a .*; expected a tf.data.Dataset"):
        tf.distribute.get_strategy().experimental_distribute_dataset(data)

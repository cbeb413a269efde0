import numpy as np
import pytest

import refdist as tf


def data():
    return tf.data.Dataset.range(3).map(lambda x: {"a": x, "b": (tf.range(x), tf.strings.as_string(x))})


def plain(dataset):
    return [(int(one["a"]), one["b"][0].tolist(), one["b"][1]) for one in dataset.as_numpy_iterator()]


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_what_was_saved_is_loaded(tmp_path, compression):
    data().save(str(tmp_path / "here"), compression)
    found = tf.data.Dataset.load(str(tmp_path / "here"), compression=compression)

    assert [(0, [], b"0"), (1, [0], b"1"), (2, [0, 1], b"2")] == plain(found)
    assert data().element_spec == found.element_spec
    assert (3 if compression is None else tf.data.UNKNOWN_CARDINALITY) == int(found.cardinality())


def test_arrays_of_all_kinds_come_back_as_they_were(tmp_path):
    given = (
        np.array([[1.5, 2]], "float16"),
        np.array([b"", b"xyz"], object),
        np.array(True),
        tf.constant([1.0], tf.bfloat16),
    )
    tf.data.experimental.save(tf.data.Dataset.from_tensors(given), str(tmp_path))
    (found,) = tf.data.experimental.load(str(tmp_path)).as_numpy_iterator()

    assert [np.asarray(one).tolist() for one in given] == [np.asarray(one).tolist() for one in found]
    assert [np.asarray(one).dtype for one in given] == [np.asarray(one).dtype for one in found]


def test_a_cache_in_a_file_is_written_once_and_found_by_later_programs(tmp_path):
    calls = []

    def numbers():
        calls.append(1)
        yield from (1, 2, 3)

    def made():
        return tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int32)).cache(
            str(tmp_path / "c")
        )

    first = made()
    found = [[int(one) for one in loop] for loop in (first, first, made())]

    assert [[1, 2, 3]] * 3 == found
    assert 1 == len(calls)


def test_a_loop_that_was_left_leaves_no_cache(tmp_path):
    cached = tf.data.Dataset.range(3).cache(str(tmp_path / "c"))
    loop = iter(cached)
    next(loop)
    del loop

    assert [0, 1, 2] == [int(one) for one in cached]
    assert ["c.elements"] == sorted(one.name for one in tmp_path.iterdir())


def test_a_cache_of_one_worker_is_not_read_by_another(tmp_path):
    def cached(index):
        return (
            tf.data.Dataset.range(4)
            .apply(lambda one: tf.data.Dataset.of(shared(one.stage, index)))
            .cache(str(tmp_path / "c"))
        )

    def shared(stage, index):
        part = stage.over()
        part.share = f"worker {index}"
        return part

    assert 4 == len(list(cached(0)))
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"expected a file for each worker\. Put the number"):
        list(cached(1))


def test_what_is_refused_says_what_to_do(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"expected a folder that save\(\) of refdist wrote\. Write data of TensorFlow"
    ):
        tf.data.Dataset.load(str(tmp_path))
    with pytest.raises(NotImplementedError, match=r"expected none.*\. Leave them out"):
        data().save(str(tmp_path), shard_func=lambda x: 0)
    with pytest.raises(NotImplementedError, match=r"expected none.*\. Use shuffle"):
        tf.data.Dataset.load(str(tmp_path), reader_func=lambda x: x)
    with pytest.raises(TypeError, match=r"expected tensors\. Take them apart"):
        tf.data.Dataset.range(4).window(2).save(str(tmp_path))
    with tf.io.TFRecordWriter(str(tmp_path / "data.elements")) as file:
        file.write(b"{}")
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"expected elements of a dataset\. Correct"):
        tf.data.Dataset.load(str(tmp_path))

"""Large files are read piece by piece."""

import tracemalloc

import numpy as np
import pytest

import refdist as tf
from refdist._core.input import stage


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records_of_a_large_file_are_not_held_in_memory(tmp_path, compression):
    path, record, count = str(tmp_path / "large"), bytes(100_000), 200
    with tf.io.TFRecordWriter(path, options=compression or None) as writer:
        for _ in range(count):
            writer.write(record)
    tracemalloc.start()
    try:
        seen = sum(1 for _ in tf.data.TFRecordDataset(path, compression_type=compression).batch(2).as_numpy_iterator())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert count // 2 == seen
    assert peak < len(record) * count / 4


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_lines_of_a_large_file_are_not_held_in_memory(tmp_path, compression):
    path, line, count = tmp_path / "large", b"x" * 999 + b"\n", 20_000
    data = line * count
    if compression == "GZIP":
        import gzip

        path.write_bytes(gzip.compress(data))
    elif compression == "ZLIB":
        import zlib

        path.write_bytes(zlib.compress(data))
    else:
        path.write_bytes(data)
    del data
    tracemalloc.start()
    try:
        seen = sum(1 for _ in tf.data.TextLineDataset(str(path), compression_type=compression).as_numpy_iterator())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert count == seen
    assert peak < len(line) * count / 4


@pytest.mark.parametrize("interleaved", [False, True])
def test_a_set_of_many_files_takes_no_more_memory_than_a_few_of_its_records(tmp_path, interleaved):
    path, record, count = str(tmp_path / "one"), bytes(50_000), 8
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(count):
            writer.write(record)
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()

    def peak(files):
        dataset = tf.data.TFRecordDataset([path] * files)
        if interleaved:
            names = tf.data.Dataset.from_tensor_slices([path] * files)
            dataset = names.interleave(tf.data.TFRecordDataset, cycle_length=2)
        tracemalloc.start()
        try:
            steps = sum(1 for _ in strategy.experimental_distribute_dataset(dataset.batch(4).prefetch(2)))
            return steps, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    (_, few), (steps, many) = peak(5), peak(50)

    assert 50 * count // 4 == steps
    assert many < few + 2 * len(record)


@pytest.mark.parametrize(
    "change",
    [
        lambda dataset: dataset.shard(3, 1),
        lambda dataset: dataset.repeat(2),
        lambda dataset: dataset.take(90),
        lambda dataset: dataset.skip(10),
        lambda dataset: dataset.shuffle(200, seed=1),
        lambda dataset: dataset.shuffle(7, seed=1),
        lambda dataset: dataset.shuffle(200).repeat(2).shard(2, 0).skip(3).take(50).prefetch(2),
    ],
)
@pytest.mark.parametrize(
    "source", [lambda: tf.data.Dataset.range(100), lambda: tf.data.Dataset.from_tensor_slices(np.arange(100))]
)
def test_batches_of_arrays_are_taken_whole_and_not_element_by_element(source, change, monkeypatch):
    def one_by_one(rows):
        raise AssertionError("an element was taken by itself")

    monkeypatch.setattr(stage, "_one_by_one", one_by_one)
    batches = list(change(source()).batch(8).as_numpy_iterator())

    assert {8} == {len(batch) for batch in batches[:-1]}
    with pytest.raises(AssertionError, match="by itself"):
        list(change(source()).map(lambda x: x).batch(8).as_numpy_iterator())

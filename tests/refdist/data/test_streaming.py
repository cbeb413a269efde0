"""Large files are read piece by piece."""

import tracemalloc

import pytest

import refdist as tf


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

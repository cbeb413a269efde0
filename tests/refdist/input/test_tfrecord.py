"""Files of records: their bytes, what is refused, and what others can read while they are written."""

import gzip
import pathlib
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.input.tfrecord import masked_checksum

FIXTURES = pathlib.Path(__file__).parent.parent.parent / "fixtures"
RECORDS = [b"", b"first", b"\x00\xff" * 3, "grün".encode(), b"x" * 100]
COMPRESSIONS = {"plain": "", "gzip": "GZIP", "zlib": "ZLIB"}


def read(path, compression=""):
    return [bytes(record.numpy()) for record in tf.data.TFRecordDataset([str(path)], compression_type=compression)]


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_files_written_here_have_the_bytes_that_tensorflow_writes(name, tmp_path):
    path = tmp_path / "mine"
    with tf.io.TFRecordWriter(str(path), options=COMPRESSIONS[name] or None) as writer:
        for record in RECORDS:
            writer.write(record)

    assert RECORDS == read(path, COMPRESSIONS[name])
    # What a compressed file holds is compared: how well it is compressed is each library's own affair.
    opened = {"plain": bytes, "gzip": gzip.decompress, "zlib": zlib.decompress}[name]
    assert (FIXTURES / "plain.tfrecord").read_bytes() == opened(path.read_bytes())
    assert opened((FIXTURES / f"{name}.tfrecord").read_bytes()) == opened(path.read_bytes())


def test_only_bytes_can_be_written_and_a_closed_writer_stays_closed(tmp_path):
    writer = tf.io.TFRecordWriter(str(tmp_path / "a"))
    with pytest.raises(TypeError, match="expected bytes"):
        writer.write("text")
    writer.flush()
    writer.close()
    writer.close()


@given(records=generators.lists(generators.binary(max_size=300), max_size=5))
@settings(max_examples=30)
def test_each_record_stands_between_its_length_and_a_checksum_of_each(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("records") / "a"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)

    data, found = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        checksums = struct.unpack("<I", data[8:12]) + struct.unpack("<I", data[12 + length : 16 + length])
        assert (masked_checksum(data[:8]), masked_checksum(data[12 : 12 + length])) == checksums
        found.append(data[12 : 12 + length])
        data = data[16 + length :]
    assert records == found


@pytest.mark.parametrize("record", [bytearray(b"abc"), memoryview(b"abc")])
def test_what_holds_bytes_is_written_as_these(tmp_path, record):
    with tf.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        writer.write(record)

    assert [b"abc"] == read(tmp_path / "a")


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_what_was_flushed_can_be_read_before_the_file_is_closed(tmp_path, compression):
    with tf.io.TFRecordWriter(str(tmp_path / "a"), options=compression) as writer:
        writer.write(b"abc")
        writer.flush()
        so_far = (tmp_path / "a").read_bytes()
        if compression is not None:
            so_far = zlib.decompressobj(31 if compression == "GZIP" else 15).decompress(so_far)
        writer.write(b"d")

    assert struct.pack("<Q", 3) == so_far[:8]
    assert b"abc" == so_far[12:15]
    assert [b"abc", b"d"] == read(tmp_path / "a", compression or "")


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
@pytest.mark.parametrize("verb", [lambda writer: writer.write(b"late"), lambda writer: writer.flush()])
def test_a_writer_that_is_closed_writes_nothing(tmp_path, compression, verb):
    writer = tf.io.TFRecordWriter(str(tmp_path / "a"), options=compression)
    writer.write(b"in time")
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"closed; expected an open one"):
        verb(writer)

    assert [b"in time"] == read(tmp_path / "a", compression or "")


def test_a_block_that_fails_leaves_a_whole_file(tmp_path):
    with pytest.raises(KeyError), tf.io.TFRecordWriter(str(tmp_path / "a"), options="ZLIB") as writer:
        writer.write(b"before")
        raise KeyError

    assert [b"before"] == read(tmp_path / "a", "ZLIB")


@pytest.mark.parametrize("wrong", ["RAR", "gzip", 3])
def test_a_compression_that_is_none_is_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match="expected 'GZIP', 'ZLIB', or None"):
        tf.io.TFRecordOptions(wrong)
    with pytest.raises(ValueError, match="expected 'GZIP', 'ZLIB', or None"):
        tf.io.TFRecordWriter(str(tmp_path / "a"), options=wrong)
    assert "" == tf.io.TFRecordOptions(None).compression_type == tf.io.TFRecordOptions("").compression_type

import gzip
import pathlib
import zlib

import pytest

import refdist as tf

FIXTURES = pathlib.Path(__file__).parent.parent.parent / "fixtures"
RECORDS = [b"", b"first", b"\x00\xff" * 3, "grün".encode(), b"x" * 100]
OFFSETS = [0, 16, 37, 59, 80]  # of the records in a file that is not compressed
COMPRESSIONS = {"plain": "", "gzip": "GZIP", "zlib": "ZLIB"}


def read(dataset):
    return [element.item() if hasattr(element, "item") else element for element in dataset.as_numpy_iterator()]


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_files_written_by_tensorflow_are_read(name):
    assert RECORDS == read(
        tf.data.TFRecordDataset(str(FIXTURES / f"{name}.tfrecord"), compression_type=COMPRESSIONS[name])
    )


def test_several_files_are_read_one_after_the_other_and_only_when_wanted(tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\r\n")
    names = [str(tmp_path / "a.txt"), str(tmp_path / "missing.txt")]
    iterator = tf.data.TextLineDataset(names).as_numpy_iterator()

    assert [b"1", b"2"] == [next(iterator), next(iterator)]
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        next(iterator)


def test_carriage_returns_count_for_nothing_as_in_tensorflow(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\rc\nd\r\r\n\r\ne\r")

    assert [b"a", b"bc", b"d", b"", b"e"] == read(tf.data.TextLineDataset(str(tmp_path / "a.txt")))


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
@pytest.mark.parametrize("kind", [tf.data.TextLineDataset, tf.data.TFRecordDataset])
def test_a_compressed_file_without_a_byte_is_damaged_and_one_of_nothing_is_empty(kind, compression, tmp_path):
    (tmp_path / "cut").write_bytes(b"")
    (tmp_path / "whole").write_bytes(gzip.compress(b"") if compression == "GZIP" else zlib.compress(b""))

    with pytest.raises(tf.errors.DataLossError, match="cut"):
        read(kind(str(tmp_path / "cut"), compression_type=compression))
    assert [] == read(kind(str(tmp_path / "whole"), compression_type=compression))


@pytest.mark.parametrize(
    ("change", "offset", "why"),
    [
        (lambda data: data[:-3], 80, "of 100 bytes only 100 are there"),
        (lambda data: data[:-7], 80, "of 100 bytes only 97 are there"),
        (lambda data: data[:30], 16, "of 5 bytes only 2 are there"),
        (lambda data: data[:18], 16, "header is cut off"),
        (lambda data: data[:30] + b"?" + data[31:], 16, "checksum of its data"),
        (lambda data: data[:16] + b"\x07" + data[17:], 16, "checksum of its length"),
    ],
)
def test_a_damaged_file_is_an_error_with_file_and_offset_after_the_good_records(tmp_path, change, offset, why):
    path = tmp_path / "damaged"
    path.write_bytes(change((FIXTURES / "plain.tfrecord").read_bytes()))

    delivered = read_until(rf"at byte {offset} of '.*damaged' is damaged: .*{why}", path, "")

    assert RECORDS[: OFFSETS.index(offset)] == delivered


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_a_damaged_compressed_file_is_one_too_with_the_offset_in_its_content(tmp_path, compression):
    path, records = tmp_path / "damaged", [bytes([number]) * 1000 for number in range(100)]
    with tf.io.TFRecordWriter(str(path), options=compression) as writer:
        for record in records:
            writer.write(record)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])

    delivered = read_until("of the content of", path, compression)

    assert 0 < len(delivered) < 100
    assert records[: len(delivered)] == delivered
    with pytest.raises(tf.errors.DataLossError, match=f"at byte {1016 * len(delivered)} of the content of '.*damaged'"):
        read(tf.data.TFRecordDataset(str(path), compression_type=compression))


def read_until(error, path, compression):
    """The records of a file before the one with this error."""
    delivered = []
    with pytest.raises(tf.errors.DataLossError, match=error):
        for record in tf.data.TFRecordDataset(str(path), compression_type=compression).as_numpy_iterator():
            delivered.append(record.item() if hasattr(record, "item") else record)
    return delivered


def test_a_cut_off_or_wrong_compression_is_named(tmp_path):
    path = tmp_path / "cut"
    path.write_bytes((FIXTURES / "gzip.tfrecord").read_bytes()[:-12])
    with pytest.raises(tf.errors.DataLossError, match="damaged"):
        read(tf.data.TFRecordDataset(str(path), compression_type="GZIP"))
    with pytest.raises(tf.errors.DataLossError, match=r"gzipped file.*correct compression_type"):
        read(tf.data.TFRecordDataset(str(FIXTURES / "plain.tfrecord"), compression_type="GZIP"))
    with pytest.raises(ValueError, match="GZIP"):
        tf.data.TFRecordDataset(str(path), compression_type="RAR")


def test_compressed_text_is_read(tmp_path):
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(b"one\ntwo")

    assert [b"one", b"two"] == read(tf.data.TextLineDataset(str(tmp_path / "a.gz"), compression_type="GZIP"))


def test_files_are_listed_and_read_in_turn(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
    files = tf.data.Dataset.list_files(str(tmp_path / "*"), shuffle=False)

    assert [str(tmp_path / "a").encode(), str(tmp_path / "b").encode()] == read(files)
    assert [b"a1", b"b1", b"a2", b"b2"] == read(
        files.interleave(lambda name: tf.data.TextLineDataset(name), cycle_length=2)
    )

"""Datasets that are read from files."""

import gzip
import io
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from refdist._core.base.errors import DataLossError, InvalidArgumentError
from refdist._core.input.dataset import Dataset
from refdist._core.input.mapping import FlatMap
from refdist._core.input.stage import UNKNOWN_CARDINALITY, Iteration, Stage
from refdist._core.input.tfrecord import TFRecordOptions, masked_checksum
from refdist._core.replicas.specs import TensorSpec

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_DECOMPRESSION_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)


class Reader(Stage):
    """Reads files one after the other, and opens each only when its records are wanted."""

    def __init__(
        self,
        name: str,
        files: Sequence[str],
        compression: str | None,
        records: Callable[[BinaryIO, str], Iterator[bytes]],
    ) -> None:
        super().__init__()
        self.name, self.files, self._records = name, tuple(files), records
        self._compression = TFRecordOptions(compression).compression_type

    def spec(self) -> Any:
        return TensorSpec((), object)

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for name in self.files:
            try:
                with opened(name, self._compression) as file:
                    for record in self._records(file, name):
                        yield np.array(record, dtype=object)
            except FileNotFoundError as error:
                raise FileNotFoundError(
                    f"The file {name!r} does not exist; expected a file to read. Correct its name."
                ) from error
            except IsADirectoryError as error:
                raise IsADirectoryError(
                    f"{name!r} is a folder; expected a file to read. List its files with tf.data.Dataset.list_files()."
                ) from error
            except _DECOMPRESSION_ERRORS as error:
                raise DataLossError(
                    f"The file {name!r} is damaged ({error}); expected a complete file compressed with "
                    f"{self._compression or 'nothing'}. Write it again, or correct compression_type."
                ) from error

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY

    def sharded(self, count: int, index: int) -> "Reader":
        """Return the same reader for every count-th file only."""
        copy = self.over()
        assert isinstance(copy, Reader)
        copy.files, copy.share = self.files[index::count], f"files of worker {index} of {count}"
        return copy


class TextLineDataset(Dataset):
    """The lines of one or more text files."""

    def __init__(self, filenames: Any, compression_type: str | None = None, **options: Any) -> None:
        super().__init__(reading_stage("TextLineDataset", filenames, compression_type, _lines))


class TFRecordDataset(Dataset):
    """The records of one or more TFRecord files."""

    def __init__(self, filenames: Any, compression_type: str | None = None, **options: Any) -> None:
        super().__init__(reading_stage("TFRecordDataset", filenames, compression_type, records))


class FixedLengthRecordDataset(Dataset):
    """The records of one length in one or more files, between a header and a footer."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        buffer_size: int | None = None,
        compression_type: str | None = None,
        **options: Any,
    ) -> None:
        def pieces(file: BinaryIO, name: str) -> Iterator[bytes]:
            return _pieces(file.read(), name, int(record_bytes), int(header_bytes or 0), int(footer_bytes or 0))

        super().__init__(reading_stage("FixedLengthRecordDataset", filenames, compression_type, pieces))


def _pieces(data: bytes, name: str, size: int, header: int, footer: int) -> Iterator[bytes]:
    end = len(data) - footer
    if end < header or (end - header) % size:
        raise InvalidArgumentError(
            f"The file {name!r} has {len(data)} bytes; expected a multiple of {size}, and {header} before and {footer} after that. "
            f"Correct record_bytes, header_bytes or footer_bytes."
        )
    return (data[start : start + size] for start in range(header, end, size))


def _lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Deliver the lines of a text file without their ends; carriage returns are dropped everywhere, as in TensorFlow."""
    for line in file:
        yield line.removesuffix(b"\n").replace(b"\r", b"")


def records(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Deliver the records that `tf.io.TFRecordWriter` wrote, and verify the checksums of each."""
    offset = 0
    while True:
        try:
            data = _record(file, name, offset)
        except _DECOMPRESSION_ERRORS as error:
            raise _damaged(f"the content of {name!r}", offset, str(error)) from error
        if data is None:
            return
        offset += _HEADER.size + len(data) + _FOOTER.size
        yield data


def _record(file: BinaryIO, name: str, offset: int) -> bytes | None:
    """Return the next record, or None at the end of the file."""
    header = file.read(_HEADER.size)
    if not header:
        return None
    if len(header) < _HEADER.size:
        raise _damaged(repr(name), offset, "its header is cut off")
    length, checksum = _HEADER.unpack(header)
    if masked_checksum(header[:8]) != checksum:
        raise _damaged(repr(name), offset, "the checksum of its length is wrong")
    data = _read_up_to(file, length)
    footer = file.read(_FOOTER.size)
    if len(data) < length or len(footer) < _FOOTER.size:
        raise _damaged(repr(name), offset, f"of {length} bytes only {len(data)} are there")
    if masked_checksum(data) != _FOOTER.unpack(footer)[0]:
        raise _damaged(repr(name), offset, "the checksum of its data is wrong")
    return data


def _read_up_to(file: BinaryIO, length: int) -> bytes:
    """Read so many bytes, or as many as there are: in pieces, because a damaged length may exceed all memory."""
    pieces: list[bytes] = []
    missing = length
    while missing and (piece := file.read(min(missing, 1 << 20))):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def reading_stage(
    name: str, filenames: Any, compression: str | None, records: Callable[[BinaryIO, str], Iterator[bytes]]
) -> Stage:
    """The stage that reads files, whose names may be a dataset."""
    if not isinstance(filenames, Dataset):
        return Reader(name, _names(filenames), compression, records)
    # Names that are themselves a dataset are read on demand, and can be divided among workers before that.
    made = FlatMap(filenames.stage, lambda one: Dataset(Reader(name, _names(one), compression, records)))
    made.name = name
    return made


def _names(filenames: Any) -> list[str]:
    if isinstance(filenames, (str, bytes, os.PathLike)):
        filenames = [filenames]
    try:
        values = filenames.ravel().tolist() if isinstance(filenames, np.ndarray) else list(filenames)
        return [os.fsdecode(value.item() if isinstance(value, np.ndarray) else value) for value in values]
    except TypeError as error:
        raise TypeError(
            f"The files are {filenames!r}; expected a name, a list of names, or a dataset of names. Pass paths or strings."
        ) from error


def opened(name: str, compression: str) -> Any:
    """Open a file that may be compressed."""
    file = open(name, "rb")  # noqa: SIM115
    if compression == "GZIP":
        with file:
            if not file.read(1):
                raise EOFError("it has no bytes, which nothing compressed has")
        return gzip.open(name, "rb")
    return file if not compression else io.BufferedReader(_Inflated(file))


class _Inflated(io.RawIOBase):
    """A file that is decompressed while it is read, never further than wanted."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._inflate = file, zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            if self._inflate.eof:  # another stream may follow
                rest = self._inflate.unused_data or self._file.read(1 << 16)
                if not rest:
                    break
                self._inflate = zlib.decompressobj()
                data = self._inflate.decompress(rest, len(buffer))
                continue
            piece = self._inflate.unconsumed_tail or self._file.read(1 << 16)
            if not piece:
                raise EOFError("the compressed data are cut off")
            data = self._inflate.decompress(piece, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _damaged(where: str, offset: int, why: str) -> DataLossError:
    return DataLossError(
        f"The record at byte {offset} of {where} is damaged: {why}; expected a complete record. The records before it were "
        f"delivered; write the file again, or correct compression_type."
    )

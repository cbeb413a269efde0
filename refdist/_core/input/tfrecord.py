"""Files of records, each with its length and two checksums, as TensorFlow writes them."""

import gzip
import struct
import zlib
from typing import Any

import google_crc32c

from refdist._core.base.errors import FailedPreconditionError


class TFRecordOptions:
    """How a file of records is compressed: "GZIP", "ZLIB", or not at all."""

    def __init__(self, compression_type: str | None = None) -> None:
        if compression_type not in (None, "", "GZIP", "ZLIB"):
            raise ValueError(
                f"The compression is {compression_type!r}; expected 'GZIP', 'ZLIB', or None. Use one of these."
            )
        self.compression_type = compression_type or ""


class TFRecordWriter:
    """Writes records to a file; use it in a `with` block.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.tfrecord"
    >>> with TFRecordWriter(str(path)) as writer:
    ...     writer.write(b"abc")
    >>> path.stat().st_size
    19
    """

    def __init__(self, path: str, options: "TFRecordOptions | str | None" = None) -> None:
        chosen = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        self._file: Any = gzip.open(path, "wb") if chosen.compression_type == "GZIP" else open(path, "wb")  # noqa: SIM115
        self._compressor = zlib.compressobj() if chosen.compression_type == "ZLIB" else None

    def write(self, record: bytes) -> None:
        """Append one record."""
        if not isinstance(record, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"write() got a {type(record).__name__}; expected bytes. Encode the record, for example with .encode()."
            )
        self._require_open("write()")
        data = bytes(record)
        length = struct.pack("<Q", len(data))
        self._write(length + _checksum(length) + data + _checksum(data))

    def flush(self) -> None:
        """Pass what was written on to the operating system, so that others can read it."""
        self._require_open("flush()")
        if self._compressor is not None:
            self._file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        """Finish the file; a second call does nothing."""
        if not self._file.closed:
            if self._compressor is not None:
                self._file.write(self._compressor.flush())
            self._file.close()

    def _require_open(self, verb: str) -> None:
        if self._file.closed:
            raise FailedPreconditionError(
                f"{verb} was called on a TFRecordWriter that is closed; expected an open one. Write before close(), or inside of "
                f"the with block."
            )

    def _write(self, data: bytes) -> None:
        self._file.write(data if self._compressor is None else self._compressor.compress(data))

    def __enter__(self) -> "TFRecordWriter":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def _checksum(data: bytes) -> bytes:
    return struct.pack("<I", masked_checksum(data))


def masked_checksum(data: bytes) -> int:
    """The CRC-32C of some bytes, rotated and offset, so that a checksum of data that contain checksums stays reliable.

    >>> hex(masked_checksum(b"abc"))
    '0x21f1576e'
    """
    crc = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF

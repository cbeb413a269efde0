"""Named arrays in a file."""

import contextlib
import errno
import json
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import google_crc32c
import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

from refdist._core.base.errors import DataLossError, NotFoundError

Arrays = Mapping[str, np.ndarray[Any, Any]]

_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "F16": "float16",
    "F32": "float32", "F64": "float64", "BF16": ml_dtypes.bfloat16, "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "C64": "complex64",
}  # fmt: skip
_RESERVED = "__metadata__"  # where the format keeps everything else
_CHECKSUM = "crc32c of "  # the keys there: one checksum for each array
_NOTE = "note on "  # and what was noted of some of them
_ABANDONED_SECONDS = 24 * 60 * 60  # an unfinished file that is older than this has no writer any more


def write_arrays(path: Path, arrays: Arrays, notes: Mapping[str, str] | None = None) -> None:
    """Write all arrays, or nothing: the file appears under its name once complete, and survives a power failure.

    Args:
        notes: a text about each of some of the arrays.
    """
    arrays = {key: np.array(array, order="C") for key, array in arrays.items()}
    for key, array in arrays.items():
        if array.dtype not in [np.dtype(dtype) for dtype in _DTYPES.values()]:
            raise TypeError(
                f"The variable {key!r} has dtype {array.dtype}; expected one that can be saved: numbers of at most 64 "
                f"bits. Leave it out, or convert it with tf.cast(). Nothing was written."
            )
    if _RESERVED in arrays:
        raise ValueError(
            f"A variable has the name {_RESERVED!r}; expected any other, because the file needs this one for itself. Rename the "
            f"variable. Nothing was written."
        )
    checksums = {f"{_CHECKSUM}{key}": _checksum(key, array) for key, array in arrays.items()}
    about = checksums | {f"{_NOTE}{key}": text for key, text in (notes or {}).items()}
    # An empty dict makes a file that cannot be read.
    write_file(path, safetensors.numpy.save(arrays, about or None))


def write_file(path: Path, data: bytes) -> None:
    """Write a whole file, or nothing: it appears under its name once complete, and survives a power failure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path.parent)
    # No two writers share a name, so each publishes what it has written itself, and the last one wins.
    unfinished = path.with_name(f".refdist-{secrets.token_hex(16)}.unfinished")
    try:
        with open(unfinished, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
        _synchronize(path.parent)
    except OSError as error:
        error.add_note(f"raised while {path} was written; the file is as it was, or complete.")
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Read all arrays of a file, and raise if one is not as it was written."""
    if not path.exists():
        there = sorted(other.name for other in path.parent.glob("*")) if path.parent.is_dir() else []
        raise NotFoundError(
            f"The file {path} does not exist; expected one written by save(). "
            f"The folder has {', '.join(there[:8]) or 'nothing in it'}."
        )
    data = path.read_bytes()
    try:
        parts = safetensors.deserialize(data)
        arrays = {
            name: np.frombuffer(part["data"], _DTYPES[part["dtype"]]).reshape(part["shape"]) for name, part in parts
        }
        checksums = _about(data, _CHECKSUM)
        older = not _about(data, "")  # files of older versions have no checksums, and say nothing else either
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise DataLossError(
            f"The file {path} is damaged ({error}); expected one written by save(), whole. Use an older checkpoint, as "
            f"CheckpointManager.restore_or_initialize() does, or save it again."
        ) from error
    for name in () if older else sorted(arrays.keys() | checksums.keys()):
        if name not in arrays or checksums.get(name) != _checksum(name, arrays[name]):
            raise DataLossError(
                f"The array {name!r} in the file {path} is damaged: its checksum does not fit; expected it as save() wrote it. "
                f"Use an older checkpoint, or save it again."
            )
    return arrays


def read_notes(path: Path) -> dict[str, str]:
    """Read what was noted of the arrays in a file that `read_arrays` can read."""
    return _about(path.read_bytes(), _NOTE)


def _checksum(name: str, array: np.ndarray[Any, Any]) -> str:
    """Return the CRC-32C of an array, together with its name, dtype and shape."""
    about = google_crc32c.value(f"{name} {array.dtype} {array.shape}".encode())
    return f"{google_crc32c.extend(about, array.tobytes()):08x}"


def _about(data: bytes, kind: str) -> dict[str, str]:
    """Return the checksums or the notes in a well-formed file; with no kind, all of them."""
    size = int.from_bytes(data[:8], "little")
    about: dict[str, str] = json.loads(data[8 : 8 + size]).get(_RESERVED) or {}
    return {key.removeprefix(kind): value for key, value in about.items() if key.startswith(kind)}


def _remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files of writers that were killed; files that may still have a writer stay."""
    for unfinished in folder.glob(".refdist-*.unfinished"):
        with contextlib.suppress(OSError):  # another writer has removed it, or it is not ours to remove
            if time.time() - unfinished.stat().st_mtime > _ABANDONED_SECONDS:
                unfinished.unlink()


def _synchronize(folder: Path) -> None:
    """Write the entries of a folder to disk."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written but not read, as all are on Windows
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems do this only for files
            raise
    finally:
        os.close(number)

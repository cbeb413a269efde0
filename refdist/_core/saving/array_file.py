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

Arrays = Mapping[str, np.ndarray[Any, Any]]

_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "F16": "float16",
    "F32": "float32", "F64": "float64", "BF16": ml_dtypes.bfloat16, "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "C64": "complex64",
}  # fmt: skip
_RESERVED = "__metadata__"  # where the format keeps what is no array
_CHECKSUM = "crc32c of "  # what the format keeps there: one for each array
_FORGOTTEN_SECONDS = 24 * 60 * 60  # a piece of a file that nobody has written to for so long has no writer any more


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write all arrays, or nothing: the file appears under its name when it is complete, and stays there if the power fails."""
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
    data = safetensors.numpy.save(arrays, checksums or None)  # an empty dict makes a file that cannot be read
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_forgotten(path.parent)
    # No two writers share a name, so each publishes what it has written itself, and the last one wins.
    piece = path.with_name(f".refdist-{secrets.token_hex(16)}.unfinished")
    try:
        with open(piece, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(piece, path)
        _synchronize(path.parent)
    except OSError as error:
        error.add_note(f"raised while {path} was written; the file is as it was, or complete.")
        raise
    finally:
        piece.unlink(missing_ok=True)


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Read all arrays of a file; one that is not as it was written is an error."""
    if not path.exists():
        there = sorted(other.name for other in path.parent.glob("*")) if path.parent.is_dir() else []
        raise FileNotFoundError(
            f"The file {path} does not exist; expected one written by save(). "
            f"The folder has {', '.join(there[:8]) or 'nothing in it'}."
        )
    data = path.read_bytes()
    try:
        parts = safetensors.deserialize(data)
        arrays = {
            name: np.frombuffer(part["data"], _DTYPES[part["dtype"]]).reshape(part["shape"]) for name, part in parts
        }
        checksums = _checksums(data)
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise ValueError(
            f"The file {path} is damaged ({error}); expected one written by save(). Save it again."
        ) from error
    for name in sorted(arrays.keys() | checksums.keys()) if checksums else ():  # older files have none
        if name not in arrays or checksums.get(name) != _checksum(name, arrays[name]):
            raise ValueError(
                f"The array {name!r} in the file {path} is damaged: its checksum does not fit; expected it as save() wrote it. "
                f"Use an older checkpoint, or save it again."
            )
    return arrays


def _checksum(name: str, array: np.ndarray[Any, Any]) -> str:
    """The CRC-32C of an array, and of all that the file says about it."""
    about = google_crc32c.value(f"{name} {array.dtype} {array.shape}".encode())
    return f"{google_crc32c.extend(about, array.tobytes()):08x}"


def _checksums(data: bytes) -> dict[str, str]:
    """The checksums in a file whose form is right."""
    size = int.from_bytes(data[:8], "little")
    about: dict[str, str] = json.loads(data[8 : 8 + size]).get(_RESERVED) or {}
    return {key.removeprefix(_CHECKSUM): value for key, value in about.items() if key.startswith(_CHECKSUM)}


def _remove_forgotten(folder: Path) -> None:
    """Remove what writers that were killed have left; what may still have a writer stays."""
    for piece in folder.glob(".refdist-*.unfinished"):
        with contextlib.suppress(OSError):  # another writer has removed it, or it is not ours to remove
            if time.time() - piece.stat().st_mtime > _FORGOTTEN_SECONDS:
                piece.unlink()


def _synchronize(folder: Path) -> None:
    """Have the names in a folder written to the disk."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except PermissionError:  # it may be written to and not read, as every folder on Windows
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno != errno.EINVAL:  # there are file systems that do this only for files
            raise
    finally:
        os.close(number)

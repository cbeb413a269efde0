"""Named arrays in a file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write all arrays, or nothing: the file appears under its name when it is complete."""
    for key, array in arrays.items():
        if np.dtype(np.asarray(array).dtype) not in [np.dtype(dtype) for dtype in _DTYPES.values()]:
            raise TypeError(
                f"The variable {key!r} has dtype {np.asarray(array).dtype}; expected one that can be saved: numbers of at most 64 "
                f"bits. Leave it out, or convert it with tf.cast(). Nothing was written."
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(safetensors.numpy.save({key: np.array(array, order="C") for key, array in arrays.items()}))
    os.replace(unfinished, path)


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Read all arrays of a file."""
    if not path.exists():
        there = sorted(other.name for other in path.parent.glob("*")) if path.parent.is_dir() else []
        raise FileNotFoundError(
            f"The file {path} does not exist; expected one written by save(). "
            f"The folder has {', '.join(there[:8]) or 'nothing in it'}."
        )
    try:
        parts = safetensors.deserialize(path.read_bytes())
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"The file {path} is damaged ({error}); expected one written by save(). Save it again."
        ) from error
    return {name: np.frombuffer(part["data"], _DTYPES[part["dtype"]]).reshape(part["shape"]) for name, part in parts}

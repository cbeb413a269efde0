"""Named arrays in a file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

Arrays = Mapping[str, np.ndarray[Any, Any]]


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write all arrays, or nothing: the file appears under its name when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(safetensors.numpy.save({key: np.ascontiguousarray(array) for key, array in arrays.items()}))
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
        return safetensors.numpy.load(path.read_bytes())
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"The file {path} is damaged ({error}); expected one written by save(). Save it again."
        ) from error

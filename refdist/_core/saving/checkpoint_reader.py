"""Looks into checkpoints without the objects that they were saved from."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from refdist._core.base.errors import NotFoundError
from refdist._core.saving.array_file import read_arrays
from refdist._core.saving.checkpoint_state import SUFFIX, latest_checkpoint

_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"  # as documented programs write names of variables


class CheckpointReader:
    """The arrays of a checkpoint, by name: `layer/kernel`, or documented as `layer/kernel/.ATTRIBUTES/VARIABLE_VALUE`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._arrays = read_arrays(Path(path + SUFFIX))

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each array."""
        return {name + _ENDING: list(array.shape) for name, array in self._arrays.items()}

    def get_variable_to_dtype_map(self) -> dict[str, np.dtype[Any]]:
        """The dtype of each array."""
        return {name + _ENDING: array.dtype for name, array in self._arrays.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Say whether there is an array of a name."""
        return tensor_str.removesuffix(_ENDING) in self._arrays

    def get_tensor(self, tensor_str: str) -> Any:
        """The array of a name."""
        array = self._arrays.get(tensor_str.removesuffix(_ENDING))
        if array is None:
            raise NotFoundError(
                f"The checkpoint {self._path} has no {tensor_str!r}; expected one of {', '.join(sorted(self._arrays)[:8])}. List "
                f"all of them with tf.train.list_variables()."
            )
        return array[()]

    def debug_string(self) -> str:
        """One line for each array."""
        return "\n".join(f"{name} ({array.dtype}) {list(array.shape)}" for name, array in self._arrays.items())


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """Look into a checkpoint, or into the latest one of a folder."""
    path = str(ckpt_dir_or_file)
    found = latest_checkpoint(path) if os.path.isdir(path) else path
    if found is None:
        raise NotFoundError(
            f"load_checkpoint() got the folder {path}, in which no checkpoint was saved; expected one, or the full name of a "
            f"checkpoint. Save one there with Checkpoint.save() or a CheckpointManager."
        )
    return CheckpointReader(found)


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """The names and shapes of the arrays in a checkpoint, sorted."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """The array of a name in a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)

"""`tf.train`: checkpoints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refdist.cluster import ClusterSpec
from refdist.module import Module, Waiting, give, named_variables
from refdist.storage import read_arrays, write_arrays
from refdist.variables import Variable

__all__ = ["Checkpoint", "CheckpointStatus", "ClusterSpec"]


class CheckpointStatus:
    """What became of the values of a checkpoint."""

    def __init__(self, waiting: Waiting, unmatched: list[str]) -> None:
        self._waiting, self._unmatched = waiting, unmatched

    def assert_existing_objects_matched(self) -> "CheckpointStatus":
        """Raise if a variable that exists got no value."""
        if self._unmatched:
            raise AssertionError(
                f"The variables {', '.join(self._unmatched)} got no value; expected each to be in the checkpoint. "
                f"Restore a checkpoint of the same objects."
            )
        return self

    def assert_consumed(self) -> "CheckpointStatus":
        """Raise if a variable got no value, or a value found no variable yet."""
        self.assert_existing_objects_matched()
        if self._waiting:
            raise AssertionError(
                f"The values {', '.join(sorted(self._waiting))} found no variable; expected one for each. Create the variables, or "
                f"call expect_partial()."
            )
        return self

    def expect_partial(self) -> "CheckpointStatus":
        """Say that values without a variable are in order."""
        return self


class Checkpoint(Module):
    """Saves and restores the variables of the objects given by name.

    A distributed variable is saved as one array. Values whose variables do not exist yet are kept, and given to them
    when they are set as attributes; such a variable is distributed if it was made in a scope.
    """

    def __init__(self, root: Any = None, **objects: Any) -> None:
        super().__init__()
        if root is not None:
            self.root = root
        for name, value in objects.items():
            if not isinstance(value, (Module, Variable, Mapping, list, tuple)):
                raise ValueError(
                    f"Checkpoint() got {name}={value!r}; expected a variable, a tf.Module, or a nest of these. Derive the class of "
                    f"the object from tf.Module, so that its variables are found."
                )
            setattr(self, name, value)
        self._count = 0

    def write(self, file_prefix: str) -> str:
        """Write the variables to a file, and return the name under which they can be restored."""
        arrays = {path: variable.numpy() for path, variable in named_variables(self)}
        write_arrays(_file(file_prefix), arrays)
        return str(file_prefix)

    def save(self, file_prefix: str) -> str:
        """Write the variables under a numbered name: `prefix-1`, `prefix-2`, ..."""
        name = self.write(f"{file_prefix}-{self._count + 1}")
        self._count += 1
        return name

    def restore(self, save_path: str) -> CheckpointStatus:
        """Give saved values to the variables, now or when they come into being; all of them, or none."""
        arrays = read_arrays(_file(save_path))
        variables = dict(named_variables(self))
        for path, variable in variables.items():
            if path in arrays and (arrays[path].shape, arrays[path].dtype) != (tuple(variable.shape), variable.dtype):
                raise ValueError(
                    f"The checkpoint has {path!r} as {arrays[path].dtype} of shape {arrays[path].shape}; expected "
                    f"{variable.dtype} of shape {tuple(variable.shape)}, as the variable has. Restore a checkpoint of the "
                    f"same model. Nothing was restored."
                )
        unmatched = [path for path in variables if path not in arrays]
        give(arrays, self, "")
        return CheckpointStatus(arrays, unmatched)

    read = restore


def _file(prefix: str) -> Path:
    return Path(f"{prefix}.safetensors")

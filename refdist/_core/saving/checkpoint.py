"""Checkpoints: the variables of objects, saved and restored by name."""

import contextvars
import threading
from pathlib import Path
from typing import Any

from refdist._core.backends.choosing import using
from refdist._core.saving.array_file import Arrays, read_arrays, write_arrays
from refdist._core.saving.module import SavedValues, Trackable, is_trackable, joined, named_variables
from refdist._core.variables.variable import Variable

_COUNTER = "save_counter"
_COUNTING = threading.Lock()


class CheckpointStatus:
    """What happened to the values of a checkpoint."""

    def __init__(self, values: SavedValues, unmatched: list[str]) -> None:
        self._values, self._unmatched = values, unmatched

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
        if self._values.paths:
            raise AssertionError(
                f"The values {', '.join(self._values.paths)} found no variable; expected one for each. Create the variables, or "
                f"call expect_partial()."
            )
        return self

    def expect_partial(self) -> "CheckpointStatus":
        """Accept values without a variable."""
        return self


class Checkpoint(Trackable):
    """Saves and restores the variables of named objects.

    A distributed variable is saved as one array. Values whose variables do not exist yet are kept, and assigned
    when the variables are set as attributes; such a variable is distributed if it was made in a scope.
    """

    def __init__(self, root: Any = None, **objects: Any) -> None:
        for name, value in (objects if root is None else {"root": root, **objects}).items():
            if not is_trackable(value):
                raise ValueError(
                    f"Checkpoint() got {name}={value!r}; expected a variable, a tf.Module, a model or an optimizer of Keras, or a "
                    f"nest of these. Derive the class of the object from tf.Module, so that its variables are found."
                )
            setattr(self, name, value)

    @property
    def save_counter(self) -> Variable:
        """How often the checkpoint was saved; saved and restored with the rest, so that no number is used twice."""
        if _COUNTER not in vars(self):  # kept there, so that it is found like any other variable
            vars(self)[_COUNTER] = contextvars.Context().run(_counter)
        return vars(self)[_COUNTER]

    def write(self, file_prefix: str) -> str:
        """Write the variables to a file, and return the name under which they can be restored."""
        # In a copied context, so that a Ctrl-C while copies are combined leaves no scope open.
        arrays = contextvars.copy_context().run(_arrays, self)
        write_arrays(_file(file_prefix), arrays)
        return str(file_prefix)

    def save(self, file_prefix: str) -> str:
        """Write the variables under a numbered name: `prefix-1`, `prefix-2`, ..."""
        with _COUNTING:
            number = int(self.save_counter.assign_add(1).numpy())
        return self.write(f"{file_prefix}-{number}")

    def restore(self, save_path: str) -> CheckpointStatus:
        """Assign saved values to the variables, now or when they are created; all of them, or none."""
        values = SavedValues(read_arrays(_file(save_path)))
        _ = self.save_counter  # created now, so that it gets its value now
        unmatched = map(joined, values.give(self, (), strict=True))
        return CheckpointStatus(values, [path for path in unmatched if path != _COUNTER])  # older files have no counter

    read = restore


def _arrays(checkpoint: Checkpoint) -> Arrays:  # not a method, because users may use every private name for a variable
    return {path: variable.numpy() for path, variable in named_variables(checkpoint)}


def _counter() -> Variable:
    """Make the counter of a checkpoint, outside of any backend or scope in use, because files move between them."""
    with using("host"):
        return Variable(0, dtype="int64", trainable=False, name=_COUNTER)


def _file(prefix: str) -> Path:
    return Path(f"{prefix}.safetensors")

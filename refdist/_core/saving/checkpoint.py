"""Checkpoints: the variables of objects, saved and restored by name."""

import contextvars
import inspect
import os
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refdist._core.backends.choosing import using
from refdist._core.base.call_sites import call_site, where
from refdist._core.base.errors import NotFoundError
from refdist._core.base.where import HERE
from refdist._core.saving.array_file import Arrays, read_arrays, write_arrays
from refdist._core.saving.checkpoint_state import SUFFIX, CheckpointState
from refdist._core.saving.module import ROOT, SavedValues, Trackable, has_arrays, is_trackable, joined, named_variables
from refdist._core.saving.saving_options import CheckpointOptions, path_of, require_options
from refdist._core.variables.variable import Variable

_COUNTER = "save_counter"
_FEW = 8  # names are shown
_COUNTING = threading.Lock()


class CheckpointStatus:
    """What happened to the values of a checkpoint."""

    def __init__(self, values: SavedValues, unmatched: list[str]) -> None:
        self._values, self._unmatched = values, unmatched
        self._asked = False

    def assert_existing_objects_matched(self) -> "CheckpointStatus":
        """Raise if a variable that exists got no value."""
        self._asked = True
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

    def assert_nontrivial_match(self) -> "CheckpointStatus":
        """Raise if no value at all has found a variable."""
        self._asked = True
        if not self._values.given:
            raise AssertionError(
                f"None of the values {', '.join(self._values.paths[:8])} found a variable; expected some to. Give the objects the "
                f"names that they had in the checkpoint."
            )
        return self

    def expect_partial(self) -> "CheckpointStatus":
        """Accept values without a variable, and variables without a value."""
        self._asked = True
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Do nothing: values are restored at once, or when their variables are made."""

    def run_restore_ops(self, session: Any = None) -> None:
        """Do nothing, for the same reason."""


class PartlyRestored(CheckpointStatus):
    """The status where variables got no value: one that nobody asks warns of them.

    A class of its own, because a Ctrl-C is lost that arrives in a `__del__`.
    """

    def __init__(self, values: SavedValues, unmatched: list[str]) -> None:
        super().__init__(values, unmatched)
        self._site = call_site()[:1]

    def __del__(self) -> None:
        if not self._asked:
            left = self._values.paths
            warnings.warn(
                f"restore() at {where(self._site)} found no value for {_listed(self._unmatched)}, which keep what they had; "
                f"expected each to be in the checkpoint, which has {_listed(left) if left else 'nothing else'}. Give the objects "
                f"the names that they had when they were saved; or ask the status: assert_existing_objects_matched(), or "
                f"expect_partial().",
                UserWarning,
                stacklevel=2,
            )


class NothingRestored(CheckpointStatus):
    """The status where there was no checkpoint to restore."""

    def __init__(self) -> None:
        super().__init__(SavedValues({}), [])

    def assert_existing_objects_matched(self) -> "CheckpointStatus":
        """Raise: nothing was restored."""
        raise AssertionError(
            "restore() got None, so that nothing was restored; expected the name of a checkpoint. Save one first, or ask for "
            "this only if latest_checkpoint is not None."
        )

    assert_consumed = assert_nontrivial_match = assert_existing_objects_matched


class Checkpoint(Trackable):
    """Saves and restores the variables of named objects.

    These may be variables, modules, models, optimizers and metrics of Keras, objects of flax.nnx, iterators of datasets, and nests
    of all of them. A distributed variable is saved as one array, so that another number of replicas can restore it. Values whose
    variables do not exist yet are kept, and assigned when the variables are made; such a variable is distributed if it was made in
    a scope.

    Of several workers, each writes and reads what it is told to. All of them must save where the value of a variable is spread over
    workers (ON_READ), or each has its own part of a dataset; the file then has everybody's. `tf.train.CheckpointManager` has it
    written once.

    >>> import tempfile
    >>> import refdist as tf
    >>> step = tf.Variable(7)
    >>> path = tf.train.Checkpoint(step=step).save(tempfile.mkdtemp() + "/check")
    >>> _ = step.assign(0)
    >>> _ = tf.train.Checkpoint(step=step).restore(path).assert_consumed()
    >>> int(step)
    7

    Args:
        root: an object whose parts are saved as if they had been given by name.
        objects: what is saved, by name.
    """

    def __init__(self, root: Any = None, **objects: Any) -> None:
        for name, value in (objects if root is None else {"root": root, **objects}).items():
            _require_trackable(name, value)
            if value is not root:
                setattr(self, name, value)
        if root is not None:
            vars(self)[ROOT] = root

    @property
    def root(self) -> Any:
        """The object whose parts are saved as the checkpoint's own; without one, the checkpoint itself."""
        return vars(self).get(ROOT, self)

    @property
    def save_counter(self) -> Variable:
        """How often the checkpoint was saved; saved and restored with the rest, so that no number is used twice."""
        if _COUNTER not in vars(self):  # kept there, so that it is found like any other variable
            vars(self)[_COUNTER] = contextvars.Context().run(host_counter, _COUNTER)
        return vars(self)[_COUNTER]

    def write(self, file_prefix: str, options: CheckpointOptions | None = None) -> str:
        """Write the variables to a file, and return the name under which they can be restored."""
        require_options(options, CheckpointOptions, "write()")
        write_arrays(_file(file_prefix), arrays_of(self))
        return written(str(file_prefix), options)

    def save(self, file_prefix: str, options: CheckpointOptions | None = None) -> str:
        """Write the variables under a numbered name: `prefix-1`, `prefix-2`, ...; `tf.train.latest_checkpoint` finds it."""
        path = self.write(f"{file_prefix}-{next_number(self)}", options)
        CheckpointState(path, [path]).write(os.path.dirname(path))
        return path

    def read(self, save_path: str, options: CheckpointOptions | None = None) -> CheckpointStatus:
        """Assign what `write` has saved; the number of saves stays as it is."""
        require_options(options, CheckpointOptions, "read()")
        values = SavedValues(read_arrays(_existing(save_path)))
        return status_of(values, [joined(place) for place in values.give(self, (), strict=True)])

    def restore(self, save_path: str | None, options: CheckpointOptions | None = None) -> CheckpointStatus:
        """Assign saved values to the variables, now or when they are created; all of them, or none.

        With None, which `latest_checkpoint` is where nothing was saved yet, nothing happens.
        """
        require_options(options, CheckpointOptions, "restore()")
        if save_path is None:
            return NothingRestored()
        return status_of(*restored(self, read_arrays(_existing(save_path))))


def status_of(values: SavedValues, unmatched: list[str]) -> CheckpointStatus:
    """The status of a restore, given the values that wait and the variables that got none."""
    return (PartlyRestored if unmatched else CheckpointStatus)(values, unmatched)


def arrays_of(checkpoint: Checkpoint) -> Arrays:
    """What is saved of a checkpoint; where workers have something in parts, all of them must ask for it."""
    # In a copied context, so that a Ctrl-C while copies are combined leaves no scope open.
    return contextvars.copy_context().run(_arrays, checkpoint)


def written(path: str, options: CheckpointOptions | None) -> str:
    """Tell those who want to know that a checkpoint was written, and return its name."""
    for callback in (options.experimental_write_callbacks or ()) if options is not None else ():
        callback(*[path] * bool(inspect.signature(callback).parameters))
    return path


def restored(checkpoint: Checkpoint, arrays: Arrays) -> tuple[SavedValues, list[str]]:
    """Assign the arrays of a file that was read already; return those that wait, and the paths of variables without a value."""
    values = SavedValues(arrays)
    _ = checkpoint.save_counter  # created now, so that it gets its value now
    unmatched = map(joined, values.give(checkpoint, (), strict=True))
    return values, [path for path in unmatched if path != _COUNTER]  # older files have no counter


def next_number(checkpoint: Checkpoint) -> int:
    """Count a save; a number is used once, even if what is written under it fails."""
    frame = HERE.get().frame
    if frame is not None and frame.replica is not None and frame.replica.num_replicas_in_sync > 1:
        raise RuntimeError(
            f"save() was called in one of {frame.replica.num_replicas_in_sync} replicas at {where(call_site())}; expected a call "
            f"outside of them, because each of them would save once more. Save after run(), or in the function of a merge_call()."
        )
    with _COUNTING:
        return int(checkpoint.save_counter.assign_add(1).numpy())


def host_counter(name: str) -> Variable:
    """Make a counter of a checkpoint, on the host, because files move between backends."""
    with using("host"):
        return Variable(0, dtype="int64", trainable=False, name=name)


def _require_trackable(name: str, value: Any) -> None:
    if not is_trackable(value):
        raise ValueError(
            f"Checkpoint() got {name}={value!r}; expected a variable, a tf.Module, a model or an optimizer of Keras, an object of "
            f"flax.nnx, an iterator, or a nest of these. Derive the class of the object from tf.Module, so that its variables are "
            f"found."
        )
    if has_arrays(value):
        raise ValueError(
            f"Checkpoint() got arrays in {name}, a {type(value).__name__}; expected variables, because arrays cannot be replaced "
            f"when they are restored. Keep them in tf.VariableTree({name})."
        )


def _arrays(checkpoint: Checkpoint) -> Arrays:  # not a method, because users may use every private name for a variable
    return {path: variable.numpy() for path, variable in named_variables(checkpoint)}


def _existing(save_path: str) -> Path:
    """The file of a checkpoint; one that does not exist is told by whoever reads it."""
    path = path_of(save_path, "restore()")
    if os.path.isdir(path) and not _file(path).exists():
        raise NotFoundError(
            f"restore() got {path}, a folder; expected the name of a checkpoint, as save() has returned it. Pass "
            f"tf.train.latest_checkpoint({path!r})."
        )
    return _file(path)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_FEW]) + (f", ... ({len(names)} in all)" if len(names) > _FEW else "")


def _file(prefix: str) -> Path:
    return Path(f"{prefix}{SUFFIX}")

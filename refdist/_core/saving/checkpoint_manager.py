"""Keeps the last few checkpoints of a program, and deletes older ones."""

import contextlib
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from refdist._core.base.errors import DataLossError
from refdist._core.saving.array_file import Arrays, write_arrays
from refdist._core.saving.checkpoint import Checkpoint, arrays_of, next_number, written
from refdist._core.saving.checkpoint_state import (
    SUFFIX,
    CheckpointState,
    get_checkpoint_state,
    latest_of,
    numbered_checkpoints,
)
from refdist._core.saving.crew import crew_of
from refdist._core.saving.saving_options import CheckpointOptions, path_of, require_options

_SECONDS_PER_HOUR = 3600


class CheckpointManager:
    """Saves a checkpoint again and again, and deletes the old files.

    >>> import tempfile
    >>> import refdist as tf
    >>> folder = tempfile.mkdtemp()
    >>> manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), folder, max_to_keep=2)
    >>> [manager.save().removeprefix(folder) for _ in range(3)]
    ['/ckpt-1', '/ckpt-2', '/ckpt-3']
    >>> [path.removeprefix(folder) for path in manager.checkpoints]
    ['/ckpt-2', '/ckpt-3']

    A file is complete and on the disk before it has its name and before an older one is deleted, and it has checksums of what is in
    it. So a program that was killed finds its last checkpoint; if that is torn or damaged all the same, the manager uses the one
    before it, with a warning.

    In a strategy of several workers, all of them call `save` and `restore_or_initialize`, from the same line, as TensorFlow
    documents too: variables and datasets may be spread over them. Of the workers that were given the same folder, the first (the
    chief) writes; the others return when the file is there, or raise what has kept it from being written. A worker that was given a
    folder of its own, as documented programs do, or has the folder on a disk of its own, writes there itself. Everything is in each
    file, also everybody's position in a dataset. They restore the newest checkpoint that all of them have. Where one worker
    alone shall save, use `Checkpoint.save`.

    Args:
        checkpoint: what is saved.
        directory: the folder of the files; a manager that begins in it again goes on with what is there.
        max_to_keep: how many files are kept; None keeps all. With 1 there is none before the last.
        keep_checkpoint_every_n_hours: a file that is to be deleted stays, if the last that stayed is as many hours older.
        checkpoint_name: how the names of files begin.
        step_counter: a variable or number that says how far the program is; `checkpoint_interval` needs it.
        checkpoint_interval: how many steps there are at least between two saves.
        init_fn: called by `restore_or_initialize` where there is nothing to restore.
        last_checkpoint_step: the step of the last save, from which the interval counts.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: Any = None,
    ) -> None:
        if not isinstance(checkpoint, Checkpoint):
            raise TypeError(
                f"CheckpointManager() got {checkpoint!r}; expected a tf.train.Checkpoint. Write CheckpointManager("
                f"tf.train.Checkpoint(model=...), directory, max_to_keep=3)."
            )
        if max_to_keep is not None and (
            isinstance(max_to_keep, bool)
            or not isinstance(max_to_keep, (int, float, np.number))
            or int(max_to_keep) != max_to_keep
            or max_to_keep < 1
        ):
            raise ValueError(
                f"CheckpointManager() got max_to_keep={max_to_keep!r}; expected at least 1, or None to keep all. Pass one of these."
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                f"CheckpointManager() got checkpoint_interval={checkpoint_interval} and no step_counter; expected both, because "
                f"the interval is one of steps. Pass step_counter=optimizer.iterations, or a variable of your own."
            )
        self._checkpoint, self._name = checkpoint, checkpoint_name
        self._directory = path_of(directory, "CheckpointManager()")
        self._most, self._every_hours = max_to_keep, keep_checkpoint_every_n_hours
        self._steps, self._interval, self._initialize = step_counter, checkpoint_interval, init_fn
        self._last_step = None if last_checkpoint_step is None else _number(last_checkpoint_step)
        self._latest: str | None = None
        self._unread: list[
            str
        ] = []  # what there was when the manager began, the newest first, as long as nobody has read it
        self._saved: dict[str, float] = {}  # when each of them was saved, the oldest first
        # A second back, so that a manager that is made again at once does not find itself before its own files.
        self._last_kept = time.time() - 1.0
        self._recall()

    def _recall(self) -> None:
        """Go on with what another manager has left in the folder."""
        try:
            known = get_checkpoint_state(self._directory)
        except DataLossError as error:
            known = self._found_by_name(error)
        if known is None:
            return
        paths, times, now = known.all_model_checkpoint_paths, known.all_model_checkpoint_timestamps, time.time()
        self._latest, self._unread = known.model_checkpoint_path, known.newest_first
        # A clock that was set back must not make files look as if they had been kept in the future.
        self._last_kept = min(known.last_preserved_timestamp or self._last_kept, now)
        # Those without a time were saved by no manager, which would have kept count of them, so that none deletes them.
        times = times if len(times) == len(paths) else [0.0] * len(paths)
        saved = {path: min(when, now) for path, when in zip(paths, times, strict=True)}
        self._saved = {path: when for path, when in saved.items() if when > self._last_kept}

    def _found_by_name(self, error: Exception) -> CheckpointState | None:
        """What the files in the folder say, where the one that lists them is damaged."""
        found = numbered_checkpoints(self._directory, self._name)
        warnings.warn(
            f"{error} Until then, the files in the folder say which checkpoints there are: {', '.join(found) or 'none'}.",
            UserWarning,
            stacklevel=4,
        )
        return CheckpointState(found[0], found[::-1]) if found else None

    @property
    def checkpoint(self) -> Checkpoint:
        """What is saved."""
        return self._checkpoint

    @property
    def directory(self) -> str:
        """The folder of the files."""
        return self._directory

    @property
    def checkpoint_interval(self) -> int | None:
        """How many steps there are at least between two saves."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The checkpoint that was saved last; None if there is none, which `restore` takes too.

        One that an earlier program has left is read, and if it is damaged, the one before it is the latest, with a warning.
        """
        if self._unread:
            self._use(latest_of(self._unread) or self._unread[0], self._unread)
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The checkpoints that are there, the oldest first; those that stay because of their age are not among them."""
        return list(self._saved)

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None) -> str | None:
        """Save, and delete what is too much; None if the last save was too few steps ago.

        Args:
            checkpoint_number: the number in the name of the file; else how often the checkpoint was saved.
            check_interval: False saves before the interval has passed too, but not twice in one step.
            options: `tf.train.CheckpointOptions`.
        """
        require_options(options, CheckpointOptions, "save()")
        step = None if self._interval is None else _number(self._steps)
        if step is not None and self._last_step is not None and self._interval is not None:
            passed = step - self._last_step
            if passed < self._interval if check_interval else passed == 0:
                return None
        counted = next_number(self._checkpoint)  # counted in any case, as documented
        number = counted if checkpoint_number is None else _number(checkpoint_number)
        path = f"{os.path.join(self._directory, self._name)}-{number}"
        arrays, file = arrays_of(self._checkpoint), Path(path + SUFFIX)
        if not crew_of(self._checkpoint).write_once(file, lambda: self._write(file, arrays, path)):
            self._recall()  # what the worker has noted that has written it
            self._unread = []
        self._last_step = step
        return written(path, options)

    def _write(self, file: Path, arrays: Arrays, path: str) -> None:
        write_arrays(file, arrays)
        self._saved.pop(path, None)  # one that is written again becomes the youngest
        self._saved[path], self._latest, self._unread = time.time(), path, []
        self._record()  # before anything is deleted, so that the file never names less than there is
        self._delete_old()
        self._record()

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint and return its name; without one, call `init_fn` and return None.

        If the latest is torn, damaged or missing, the latest of those before it that are whole is restored, and a warning says
        so. If none of them is, it is an error: a program that should go on must not begin anew unseen.
        """
        latest = [] if self._latest is None else [self._latest]
        paths = self._unread or list(dict.fromkeys([*latest, *reversed(self._saved)]))
        crew = crew_of(self._checkpoint)
        found = crew.newest_whole(paths)
        if found is not None:
            path, arrays = found
            crew.restore(self._checkpoint, arrays)
            self._use(path, paths)
            if self._interval is not None:
                self._last_step = _number(self._steps)
            return path
        if self._initialize is not None:
            self._initialize()
        return None

    def sync(self) -> None:
        """Wait until everything is written: it always is."""

    def _use(self, path: str, paths: list[str]) -> None:
        """Make one of several checkpoints the latest; those before it are damaged, and no longer count among those kept."""
        for newer in paths[: paths.index(path)]:
            self._saved.pop(newer, None)
        self._latest, self._unread = path, []

    def _record(self) -> None:
        assert self._latest is not None
        CheckpointState(self._latest, self.checkpoints, [*self._saved.values()], self._last_kept).write(self._directory)

    def _delete_old(self) -> None:
        while self._most is not None and len(self._saved) > self._most:
            path = next(iter(self._saved))
            saved = self._saved.pop(path)
            if self._every_hours and saved - self._every_hours * _SECONDS_PER_HOUR >= self._last_kept:
                self._last_kept = saved
                continue
            with contextlib.suppress(FileNotFoundError):
                os.remove(path + SUFFIX)


def _number(value: Any) -> int:
    """The number that a variable, a tensor or Python has."""
    return int(np.asarray(value))

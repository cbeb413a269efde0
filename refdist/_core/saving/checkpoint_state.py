"""The file `checkpoint` in a folder of checkpoints, which says which of them there are and which is the latest."""

import dataclasses
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from refdist._core.base.errors import DataLossError, NotFoundError
from refdist._core.saving.array_file import Arrays, read_arrays, write_file

SUFFIX = ".safetensors"
_FILE = "checkpoint"
_LATEST, _ALL = "model_checkpoint_path", "all_model_checkpoint_paths"
_TIMES, _PRESERVED = "all_model_checkpoint_timestamps", "last_preserved_timestamp"
_PAUSE_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class CheckpointState:
    """What is known of the checkpoints in a folder."""

    model_checkpoint_path: str
    all_model_checkpoint_paths: list[str]
    all_model_checkpoint_timestamps: list[float] = dataclasses.field(default_factory=list[float])
    last_preserved_timestamp: float = 0.0

    def write(self, directory: str) -> None:
        """Write it into a folder, with paths that still hold when the folder is moved."""
        fields: list[tuple[str, Any]] = [(_LATEST, self._short(self.model_checkpoint_path, directory))]
        fields += [(_ALL, self._short(path, directory)) for path in self.all_model_checkpoint_paths]
        fields += [(_TIMES, stamp) for stamp in self.all_model_checkpoint_timestamps]
        if self.last_preserved_timestamp:
            fields.append((_PRESERVED, self.last_preserved_timestamp))
        text = "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields)
        write_file(Path(directory) / _FILE, text.encode())

    @property
    def newest_first(self) -> list[str]:
        """All checkpoints, the latest first; if it is there, then also files with lower numbers, which may stand in for it."""
        latest = self.model_checkpoint_path
        listed = [latest, *reversed(self.all_model_checkpoint_paths)]
        older = _numbered_below(latest) if os.path.exists(latest + SUFFIX) else []
        return list(dict.fromkeys([*listed, *older]))

    @staticmethod
    def _short(path: str, directory: str) -> str:
        folder, name = os.path.split(path)
        return name if os.path.abspath(folder) == os.path.abspath(directory) else os.path.abspath(path)


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> CheckpointState | None:
    """What the file `checkpoint` in a folder says; None if there is none."""
    file = Path(checkpoint_dir) / (latest_filename or _FILE)
    if not file.is_file():
        return None
    found: dict[str, list[Any]] = {}
    try:
        for line in filter(None, map(str.strip, file.read_text().splitlines())):
            name, value = line.split(":", 1)
            found.setdefault(name, []).append(json.loads(value))
        latest, *_ = found[_LATEST]
    except (ValueError, KeyError) as error:
        raise DataLossError(
            f"The file {file} is damaged ({error!r}); expected what save() writes. Delete it, and restore by the full name of a "
            f"checkpoint."
        ) from error
    paths = [os.path.join(checkpoint_dir, path) for path in found.get(_ALL, [])]
    preserved = found.get(_PRESERVED, [0.0])[0]
    return CheckpointState(os.path.join(checkpoint_dir, latest), paths, found.get(_TIMES, []), preserved)


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The latest checkpoint in a folder, as `restore` takes it; None if there is none.

    If its file is torn, damaged or missing, it is the latest of those before it that are whole, and a warning says so.

    >>> latest_checkpoint("/nowhere")
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    return None if state is None else latest_of(state.newest_first)


def latest_of(paths: Sequence[str]) -> str | None:
    """The first of several checkpoints that is whole; the first that is there if none is, so that `restore` says what it has."""
    try:
        return newest_whole(paths)[0]
    except (DataLossError, NotFoundError):
        return next((path for path in paths if os.path.exists(path + SUFFIX)), None)


def newest_whole(paths: Sequence[str]) -> tuple[str, Arrays]:
    """The first of several checkpoints that is whole, with its arrays, and a warning if others come before it."""
    damages: list[Exception] = []
    for path in paths:
        try:
            arrays = read_arrays(Path(path + SUFFIX))
        except (DataLossError, NotFoundError) as error:
            damages.append(error)
            continue
        if damages:
            newer = ", ".join(one + SUFFIX for one in paths[: len(damages)])
            warnings.warn(
                f"The checkpoint {newer} cannot be read; expected it whole, as save() wrote it. {path}{SUFFIX}, from before it, is "
                f"used instead. What was wrong: {damages[0]}",
                UserWarning,
                stacklevel=4,
            )
        return path, arrays
    first, *others = damages
    if others:
        first.add_note(f"None of those before it can be read either: {', '.join(map(str, others))}")
    raise first


def numbered_checkpoints(directory: str, name: str) -> list[str]:
    """The checkpoints of a name in a folder by their numbers, the highest first, whatever the file `checkpoint` says."""
    pattern = re.compile(rf"{re.escape(name)}-(\d+){re.escape(SUFFIX)}")
    try:
        found = [match for file in os.listdir(directory) if (match := pattern.fullmatch(file))]
    except FileNotFoundError:
        return []
    found.sort(key=lambda match: int(match[1]), reverse=True)
    return [os.path.join(directory, match.string.removesuffix(SUFFIX)) for match in found]


def _numbered_below(path: str) -> list[str]:
    folder, file = os.path.split(path)
    name, _, number = file.rpartition("-")
    if not number.isdecimal():
        return []
    found = numbered_checkpoints(folder or ".", name)
    lower = [one for one in found if int(one.rpartition("-")[2]) < int(number)]
    return [os.path.join(folder, os.path.basename(one)) for one in lower]


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Generator[str]:
    """Deliver each new latest checkpoint of a folder, and wait for it.

    Args:
        min_interval_secs: how long to wait at least between two checkpoints.
        timeout: how long to wait for one; None waits forever.
        timeout_fn: called after a timeout; the loop ends if it returns something true, or if there is none.
    """
    seen: str | None = None
    while True:
        began = time.time()
        new = _waited_for(checkpoint_dir, seen, timeout)
        if new is not None:
            seen = new
            yield new
            time.sleep(max(0.0, began + min_interval_secs - time.time()))
        elif timeout_fn is None or timeout_fn():
            return


def _waited_for(folder: str, seen: str | None, timeout: float | None) -> str | None:
    end = None if timeout is None else time.time() + timeout
    while True:
        state = get_checkpoint_state(folder)
        new = None if state is None else state.model_checkpoint_path
        if new is not None and new != seen and os.path.exists(new + SUFFIX):
            return new
        if end is not None and time.time() + _PAUSE_SECONDS > end:
            return None
        time.sleep(_PAUSE_SECONDS)

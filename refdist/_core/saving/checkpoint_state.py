"""The file `checkpoint` in a folder of checkpoints, which says which of them there are and which is the latest."""

import dataclasses
import json
import os
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from refdist._core.saving.array_file import write_file

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
        raise ValueError(
            f"The file {file} is damaged ({error!r}); expected what save() writes. Delete it, and restore by the full name of a "
            f"checkpoint."
        ) from error
    paths = [os.path.join(checkpoint_dir, path) for path in found.get(_ALL, [])]
    preserved = found.get(_PRESERVED, [0.0])[0]
    return CheckpointState(os.path.join(checkpoint_dir, latest), paths, found.get(_TIMES, []), preserved)


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The latest checkpoint in a folder, as `restore` takes it; None if there is none.

    >>> latest_checkpoint("/nowhere")
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not os.path.exists(state.model_checkpoint_path + SUFFIX):
        return None
    return state.model_checkpoint_path


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
        new = latest_checkpoint(folder)
        if new is not None and new != seen:
            return new
        if end is not None and time.time() + _PAUSE_SECONDS > end:
            return None
        time.sleep(_PAUSE_SECONDS)

"""What the launcher and the workers tell each other: a folder with a small file for each worker that has ended.

It is no network, it cannot hang, and one can look at it. The key-value store of JAX is not open to the launcher: only workers are
clients of it, and a client is aborted together with them.
"""

import json
import os
import pathlib
import time
from collections.abc import Mapping
from typing import Any, NamedTuple


class EndNotices:
    """The folder, as the launcher writes it; workers find its name in `REFDIST_BOARD`."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder

    def publish_end(self, worker: int, facts: Mapping[str, Any]) -> None:
        """Say that a worker has ended, and how."""
        self._write(f"{worker}.json", {"worker": worker, **facts})
        self.withdraw_stop(worker)

    def publish_stop(self, worker: int, facts: Mapping[str, Any]) -> None:
        """Say that a worker is stopped: it exists, and does nothing."""
        self._write(f"{worker}.stopped.json", {"worker": worker, **facts})

    def withdraw_stop(self, worker: int) -> None:
        """Say that a worker is not stopped, or no longer."""
        (self._folder / f"{worker}.stopped.json").unlink(missing_ok=True)

    def first_error(self) -> "OwnError | None":
        """Return the first error that a worker has had by itself."""
        found = [OwnError(**json.loads(path.read_text())) for path in self._folder.glob("[0-9]*.error.json")]
        return min(found, key=lambda one: one.at, default=None)

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        _write_whole(self._folder, name, content)


class OwnError(NamedTuple):
    """An error that ends a worker's program, and which is not about another worker."""

    worker: int
    text: str
    at: float  # as time.time() has it


def publish_error(worker: int, text: str) -> None:
    """Tell the launcher, if there is one, which error ends this worker: it may see the others end before this one."""
    folder = os.environ.get("REFDIST_BOARD")
    if folder is not None:
        _write_whole(pathlib.Path(folder), f"{worker}.error.json", OwnError(worker, text, time.time())._asdict())


def _write_whole(folder: pathlib.Path, name: str, content: Mapping[str, Any]) -> None:
    """Write a file that readers see whole or not at all."""
    hidden = folder / f".{name}"
    hidden.write_text(json.dumps(content))
    os.replace(hidden, folder / name)

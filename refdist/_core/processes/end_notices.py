"""What the launcher tells the workers about each other: a folder with a small file for each worker that has ended.

It is no network, it cannot hang, and one can look at it. The key-value store of JAX is not open to the launcher: only workers are
clients of it, and a client is aborted together with them.
"""

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any


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

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a file that readers see whole or not at all."""
        hidden = self._folder / f".{name}"
        hidden.write_text(json.dumps(content))
        os.replace(hidden, self._folder / name)

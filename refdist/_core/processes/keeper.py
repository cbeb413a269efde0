"""A process that ends the workers when the launcher was killed and could not do so itself.

It waits at the end of a pipe that only the launcher holds open. It is started as a file, without refdist, so that it is there
after a few milliseconds.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from types import TracebackType


class Keeper:
    """The launcher's side: it tells the keeper which process groups there are, and which are gone."""

    def __init__(self, folder: str) -> None:
        command = [sys.executable, "-I", "-S", __file__, folder]
        # In a session of its own: what is typed at the terminal, and what ends the launcher's group, does not reach it.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0, start_new_session=True
        )

    def __enter__(self) -> "Keeper":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def watch(self, group: int) -> None:
        """Let a group end with the launcher."""
        self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        """Say that a group is gone; its number may go to somebody else."""
        self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        # Somebody killed the keeper: the run can do without it.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode())


def keep(folder: str) -> None:
    """Wait until the launcher is gone, and end what it has not ended; nothing is left then if all went well."""
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    keep(sys.argv[1])

"""A process that ends the workers when the launcher was killed and could not do so itself.

It waits at the end of a pipe that only the launcher holds open. It is started as a file, without refdist, so that it is there
after a few milliseconds.
"""
# Whatever is imported here has to be in the standard library.

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from types import TracebackType

MOST_ROUNDS = 100  # a process that waits for a broken disk cannot be killed


class Keeper:
    """The launcher's side: it tells the keeper which process groups there are, and which are gone."""

    def __init__(self, mark: str, folder: str) -> None:
        command = [sys.executable, "-I", "-S", __file__, mark, folder]
        name = mark.partition("=")[0]
        # It has no mark itself: a launcher that runs in a worker of another one is ended by the mark of that one, and then it is
        # this keeper which ends the workers.
        environment = {key: value for key, value in os.environ.items() if key != name}
        # In a session of its own: what is typed at the terminal, and what ends the launcher's group, does not reach it.
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
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


def end_marked(mark: str) -> None:
    """Kill every process with a certain setting in its environment, such as "NAME=value".

    That finds those too that have left the group of their worker, as daemons do. It needs Linux; elsewhere they stay.
    """
    # Again, as long as there is something, since a process may have started another one meanwhile.
    for _ in range(MOST_ROUNDS):
        if not any([_kill_if_marked(folder, mark.encode()) for folder in pathlib.Path("/proc").glob("[0-9]*")]):
            return


def _kill_if_marked(folder: pathlib.Path, mark: bytes) -> bool:
    """Kill the process that a folder of /proc is about, if it is a marked one."""
    try:
        # The descriptor stands for this process alone, while a number may go to another one.
        process = os.pidfd_open(int(folder.name))
    except OSError:
        return False
    try:
        marked = mark in (folder / "environ").read_bytes().split(b"\0")
        if marked:
            signal.pidfd_send_signal(process, signal.SIGKILL)
        return marked
    except OSError:  # it is gone, or somebody else's
        return False
    finally:
        os.close(process)


def keep(mark: str, folder: str) -> None:
    """Wait until the launcher is gone, and end what it has not ended; nothing is left then if all went well."""
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    if groups:
        end_marked(mark)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    keep(*sys.argv[1:])

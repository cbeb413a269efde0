"""The parent of the process in which an implementation runs: `python -P supervisor.py`, started by the runner.

It starts that process as a copy of itself, and ends when the copy ends, in the same way, or when the runner closes its
input. It never ends before everything that the implementation has started: processes that lose their parent, even if
they have left their group or session, become children of this one. Only Linux can do that; elsewhere there is no
supervisor, and the runner ends the group.

It is run by its path, and imports nothing of the package before it forks, because numpy may start threads.
"""

import contextlib
import os
import resource
import select
import signal
import sys

INPUT, OUTPUT = 0, 1
SHOW_PLACE = signal.SIGVTALRM
"""The signal that makes a process print where it is, and end. Nothing else uses it, and it leaves no core file."""
_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h


def main() -> None:
    """Become two processes: the copy opens the implementation, the original waits."""
    if sys.platform == "linux" and os.path.exists("/proc/self/stat"):
        _adopt_orphans()
        signal.signal(SHOW_PLACE, signal.SIG_IGN)
        woken = _wake_when_a_child_ends()
        copy = os.fork()
        if copy:
            _leave_as(_supervise(copy, woken))
        os.close(signal.set_wakeup_fd(-1))
        os.close(woken)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(SHOW_PLACE, signal.SIG_DFL)
    from conformance.child import main

    main()


def _adopt_orphans() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)


def _wake_when_a_child_ends() -> int:
    """Return the end of a pipe that becomes readable when a child ends."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing)
    return reading


def _supervise(copy: int, woken: int) -> int:
    """Wait for the end of the copy, or of the input; end everything; return how the copy ended."""
    # So that the output closes when the implementation ends, which the runner takes as its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), OUTPUT)
    poll = select.poll()
    poll.register(INPUT, 0)  # input is for the copy to read; a closed writer is reported anyway
    poll.register(woken, select.POLLIN)
    ended: dict[int, int] = {}
    while copy not in ended and all(place != INPUT for place, _ in poll.poll()):
        os.read(woken, 4096)
        ended |= _ended(os.WNOHANG)
    while children := _children():
        for process in children:
            with contextlib.suppress(PermissionError):
                os.kill(process, signal.SIGKILL)
        ended |= _ended(0)
    return ended[copy]


def _ended(options: int) -> dict[int, int]:
    """Return how children ended: those that have ended, or with option 0 wait for at least one if there are any."""
    found: dict[int, int] = {}
    while True:
        try:
            process, status = os.waitpid(-1, options)
        except ChildProcessError:
            return found
        if not process:
            return found
        found[process] = status
        options = os.WNOHANG


def _children() -> list[int]:
    """Return the children of this process, including those that have ended but were not waited for."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The name of the program, in parentheses, can contain anything.
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == os.getpid():
            found.append(int(name))
    return found


def _leave_as(status: int) -> None:
    """End in the same way as another process."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()

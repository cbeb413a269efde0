"""The process above the one in which an implementation runs: `python -P supervisor.py`, started by the runner.

It starts that one as a copy of itself, and ends when it ends, in the same way, or when the runner closes its input. It
never ends before everything that the implementation has started, however far it went: processes which lose their
parent, because they left their group or their session, become children of this one. Only Linux can do that; elsewhere
there is no process above, and the runner ends the group.

It is run by its path, and imports nothing of the package before it copies itself: numpy may have threads.
"""

import contextlib
import os
import resource
import select
import signal
import sys

INPUT, OUTPUT = 0, 1
SHOW_PLACE = signal.SIGVTALRM
"""The signal on which a process writes down where it is, and ends. Nobody else uses it, and it leaves no core file."""
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
    """Return the end of a pipe that can be read after the end of a child."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing)
    return reading


def _supervise(copy: int, woken: int) -> int:
    """Wait for the end of the copy, or of the input; end everything; return how the copy ended."""
    # The runner takes an output that nobody holds open for the end of the implementation.
    os.dup2(os.open(os.devnull, os.O_WRONLY), OUTPUT)
    poll = select.poll()
    poll.register(INPUT, 0)  # what is there to be read is for the copy; that the writer has gone is told anyway
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
    """Return how children ended: all that have ended, or with option 0 at least one, if there is one at all."""
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
    """Return the children of this process, those that have ended and are not yet waited for too."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The name of the program, in brackets, can hold anything.
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == os.getpid():
            found.append(int(name))
    return found


def _leave_as(status: int) -> None:
    """End as another process ended."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()

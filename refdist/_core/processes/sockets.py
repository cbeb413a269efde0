"""The connections over which JAX's collectives run on CPUs: cut, they end a wait that nothing else would end."""

import contextlib
import os
import socket
import stat
from collections.abc import Generator


class Connections:
    """The connections that programs have made when they ran for the first time."""

    def __init__(self) -> None:
        self._made: dict[int, int] = {}  # the number of each socket by its file descriptor

    @contextlib.contextmanager
    def noted(self) -> Generator[None]:
        """Note what is made in a block."""
        before = _sockets()
        try:
            yield
        finally:
            self._made.update({fd: number for fd, number in _sockets().items() if before.get(fd) != number})

    def cut(self) -> None:
        """Cut all of them, so that whoever waits for something from another worker gets an error.

        Only for reading: a write that the end of its connection interrupts is never told to the one who waits for it.
        """
        there = _sockets()
        for fd, number in self._made.items():
            if there.get(fd) == number:
                with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fd)) as connection:
                    connection.getpeername()  # raises for one that only listens
                    connection.shutdown(socket.SHUT_RD)


def _sockets() -> dict[int, int]:
    """The sockets of this process: file descriptors, and the numbers that tell apart those which follow each other."""
    found: dict[int, int] = {}
    with contextlib.suppress(OSError):  # not every system has this folder
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError, ValueError):
                status = os.stat(int(name))
                if stat.S_ISSOCK(status.st_mode):
                    found[int(name)] = status.st_ino
    return found

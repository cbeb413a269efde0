"""A case in its own process: a fork of the one that has opened the implementation, which is quick to make."""

import os
import sys
from collections.abc import Callable
from typing import Any

RETURNED = b"returned"


def apart(function: Callable[..., object], *arguments: Any) -> None:
    """Call a function in a fork of this process, and end as the fork ended unless the function returned."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    copy = os.fork()
    if copy == 0:
        function(*arguments)
        os.write(writing, RETURNED)
        # Skips the cleanup of libraries, which may wait for threads that never end.
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
    if code < 0:
        os.kill(os.getpid(), -code)
    # An exit code of 0 says nothing: the function may have ended the process.
    returned = _read(reading)
    os.close(reading)
    os.close(writing)
    if code or returned != RETURNED:
        sys.exit(code)


def _read(reading: int) -> bytes:
    """Return what is in a pipe, without waiting for more."""
    try:
        return os.read(reading, 100)
    except BlockingIOError:
        return b""

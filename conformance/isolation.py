"""A case in a process of its own: a copy of the one that has opened the implementation, which is quick to make."""

import os
import sys
from collections.abc import Callable
from typing import Any


def apart(function: Callable[..., object], *arguments: Any) -> None:
    """Call a function in a copy of this process, and end as the copy ended, unless it ended well."""
    copy = os.fork()
    if copy == 0:
        function(*arguments)
        # Without the clean-up of libraries, which may wait for threads that never end.
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
    if code < 0:
        os.kill(os.getpid(), -code)
    if code:
        sys.exit(code)

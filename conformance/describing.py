"""What must be known of an implementation before it is run, asked of a separate process that may not survive it."""

import sys
from collections.abc import Mapping
from typing import Any

from conformance.implementations import NAMES, Description, UsageError, find, place_of
from conformance.process import Lost, Process
from conformance.results import Status
from conformance.stopping import Stop

START_SECONDS = 60.0
"""How long a process may take to import an implementation, and another one to open it."""


class SuiteError(Exception):
    """The suite itself broke, so that nothing can be said about the implementation."""


class NotStarted(SuiteError):
    """An implementation could not be imported or opened, so that every case of it ends with this status."""

    def __init__(self, name: str, doing: str, lost: Lost) -> None:
        self.status: Status = lost.status
        self.detail = f"{doing}: {lost.detail}"
        super().__init__(
            f"{name} could not be started; expected to import and open it. Mend what went wrong {doing}, or give it more "
            f"time with --start-timeout:\n{lost.detail}"
        )


def describe(name: str, limit_seconds: float = START_SECONDS) -> Description:
    """Return what is known of an implementation, which is imported in a separate process.

    Those of this project, and those that this process has already imported, need none.
    """
    module = place_of(name).partition(":")[0]
    if name in NAMES or module in sys.modules:
        return find(name).description
    process, stop = Process({}), Stop()
    try:
        process.tell({"describe": name})
        return process.answer(lambda message: Description.from_dict(accepted(message)), limit_seconds, stop)
    except Lost as error:
        raise NotStarted(name, "at import", error) from error
    finally:
        process.end()
        stop.close()


def accepted(message: Any) -> Any:
    """Return what a process answers after it has imported or opened an implementation, or raise the reason why it could not."""
    if not isinstance(message, Mapping) or not isinstance(message.get("refused", ""), str):
        raise ValueError("expected an object")
    if "refused" not in message:
        return message.get("accepted")
    if message.get("usage") is True:
        raise UsageError(message["refused"])
    raise Lost(Status.ERROR, message["refused"])

"""What replicas do together at this moment, and the line of the user's code that it comes from."""

import sys
from typing import Any

from refdist._core.base.call_sites import Site, call_site, line_text
from refdist._core.base.where import HERE
from refdist._core.replicas import lockstep
from refdist._core.testing.recorded_journal import called, users_place

_NOT_THE_USERS = frozenset(
    {"refdist", "simulator", "contextlib"}
)  # steps are blocks, which contextlib enters and leaves


def whence() -> tuple[str, str]:
    """What the replicas have met for, or nothing where no meeting is held, and the line of the user's code."""
    frame: Any = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    inside = 0  # how many of the innermost frames are not the user's
    outside = False
    while frame is not None:
        if frame.f_code is lockstep.HELD:
            meeting = frame.f_locals["meeting"]
            return called(meeting.kind), line_of(meeting.site + meeting.called_from)
        outside = outside or frame.f_globals.get("__name__", "").partition(".")[0] not in _NOT_THE_USERS
        inside += not outside
        frame = frame.f_back
    return "", line_of(call_site(inside + 2) + HERE.get().called_from) if outside else ""


def line_of(site: Site) -> str:
    """The innermost line of the user's own code, without the folders above the file: the same wherever the program lies."""
    place = users_place(site)
    return "" if place is None else f"{line_text(place.file, place.line, folders=False)}, in {place.function}"

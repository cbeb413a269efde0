"""What each worker says about itself, and what the launcher says about those that have ended."""

import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

from refdist._core.base.call_sites import Site, line_text, of_user
from refdist._core.processes.common_ledger import Entry


class Waiting(NamedTuple):
    """What a worker waits for: something that all workers do, one after another."""

    number: int  # how many such things it has done before
    what: str
    site: Site | None  # in the user's code; None where looking it up each time would take too long
    since: float  # on the monotonic clock of this process
    thread: int


@dataclasses.dataclass(frozen=True)
class Status:
    """What a worker is doing."""

    beat: int  # how often it has said so
    state: str  # runs, waits, ended
    number: int = -1
    what: str = ""
    lines: tuple[str, ...] = ()  # where in the user's code it is, the innermost first
    seconds: float = 0.0  # for how long it waits
    ledger: tuple[Entry, ...] = ()  # of what it has done with all others

    def text(self) -> bytes:
        """To be published."""
        return json.dumps(dataclasses.astuple(self)).encode()

    @staticmethod
    def of(text: bytes) -> "Status":
        """What was published."""
        beat, state, number, what, lines, seconds, ledger = json.loads(text)
        return Status(beat, state, number, what, tuple(lines), seconds, tuple(Entry(*one) for one in ledger))

    def __str__(self) -> str:
        place = f" at {', called from '.join(self.lines)}" if self.lines else ""
        if self.state == "waits":
            return f"waiting in {self.what}{place}"
        return "has ended" if self.state == "ended" else f"busy{place}"


class Ended(NamedTuple):
    """What the launcher says about a worker that has ended."""

    code: int
    signal: str | None

    def __str__(self) -> str:
        return f"was ended by {self.signal}" if self.signal else f"ended with exit code {self.code}"


def ended_workers(folder: str | None) -> dict[int, Ended]:
    """The workers that have ended, by what the launcher has written into its folder; who ended first comes first."""
    if folder is None:
        return {}
    found: dict[int, dict[str, Any]] = {}
    try:
        names = os.listdir(folder)
    except FileNotFoundError:  # the launcher is ending
        return {}
    for name in names:
        stem, _, ending = name.partition(".")
        if ending == "json" and stem.isdecimal():
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found[int(stem)] = json.load(file)
    first_to_last = sorted(found.items(), key=lambda one: one[1].get("at", 0.0))
    return {index: Ended(said["code"], said["signal"]) for index, said in first_to_last}


def lines_of(site: Site) -> tuple[str, ...]:
    """A site in words."""
    return tuple(map(str, site[:6]))


def lines_of_thread(thread: int) -> tuple[str, ...]:
    """Where in the user's code a thread is now."""
    frame: FrameType | None = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
    lines: list[str] = []
    while frame is not None and len(lines) < 3:
        code = frame.f_code
        if of_user(code.co_filename):
            lines.append(f"{line_text(code.co_filename, frame.f_lineno)}, in {code.co_name}")
        frame = frame.f_back
    return tuple(lines)


def table(rows: Mapping[int, str]) -> str:
    """A line for each place, with the workers that are there."""
    places: dict[str, list[int]] = {}
    for index, place in sorted(rows.items()):
        places.setdefault(place, []).append(index)
    return "\n".join(f"  {_workers(those)}: {place}" for place, those in places.items())


def _workers(those: Sequence[int]) -> str:
    if len(those) == 1:
        return f"worker {those[0]}"
    shown = ", ".join(map(str, those[:4]))
    return f"workers {shown}{f', ... ({len(those)} workers)' if len(those) > 4 else ''}"

"""An implementation that does what it can against the suite, and checks that let it."""

import json
import math
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from conformance.checks import Check
from conformance.results import Result, Status
from conformance.world import World
from tests.conformance.fake import plain

MEGABYTE = 2**20
PLACE = "tests.conformance.hostile"
hostile = replace(plain, name=f"{PLACE}:hostile")
isolated = replace(hostile, isolate=True)


def _ends_at_opening() -> Any:
    os._exit(0)


def _dies_at_opening() -> Any:
    print("last words", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def _is_stuck_at_opening() -> Any:
    threading.Event().wait()


def _stops_the_clocks() -> Any:
    for name in ("time", "monotonic", "perf_counter"):
        setattr(time, name, lambda: math.nan)
    return plain.open()


ending = replace(hostile, open=_ends_at_opening)
dying = replace(hostile, open=_dies_at_opening)
stuck = replace(hostile, open=_is_stuck_at_opening)
timeless = replace(hostile, open=_stops_the_clocks)


def _passes(world: World) -> None:
    world.equal(world.replicas, world.strategy().num_replicas_in_sync)


def _raises_a_long_text(world: World) -> None:
    raise RuntimeError(f"first {'x' * 30 * MEGABYTE} last")


def _expects_a_long_text(world: World) -> None:
    world.true(False, f"first {'x' * 5 * MEGABYTE} last")


def _writes_a_long_text(world: World) -> None:
    for _ in range(30):
        os.write(2, b"x" * MEGABYTE)
    os.write(2, b" last words")
    os._exit(7)


def _exits_well(world: World) -> None:
    os._exit(0)


def _dies_of_a_nameless_signal(world: World) -> None:
    os.kill(os.getpid(), signal.SIGRTMIN + 3)


def _hold_the_pipe() -> None:
    """Open a pipe that has a name, which then has its end when this process ends."""
    os.write(os.open(os.environ["HOSTILE_PIPE"], os.O_WRONLY), b"here")


def _leaves_a_process_behind(world: World) -> None:
    """Start a process far from this one, and wait until it holds the pipe open."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            _hold_the_pipe()
            os.write(writing, b".")
            signal.pause()
        os._exit(0)
    os.wait()
    os.read(reading, 1)


def _leaves_a_process_behind_and_dies(world: World) -> None:
    _leaves_a_process_behind(world)
    os._exit(7)


def _write_answer(line: bytes) -> None:
    """Write to where the answers of this process go."""
    for number in range(3, 64):
        try:
            pipe = stat.S_ISFIFO(os.fstat(number).st_mode)
            if pipe:
                os.write(number, line)
        except OSError:
            continue


def _answer(id: str, /, **changes: Any) -> bytes:
    """Return what is a right answer for a behavior with one replica, but for some changes."""
    result = Result(id, f"{PLACE}:hostile", 1, Status.PASS).to_dict()
    return json.dumps({"result": {**result, **changes}}).encode() + b"\n"


FORGED: dict[str, Callable[[str], bytes]] = {
    "text": lambda own: b"no JSON\n",
    "bytes": lambda own: b"\xff\xfe\n",
    "list": lambda own: b"[]\n",
    "number": lambda own: b"1\n",
    "nothing": lambda own: b"{}\n",
    "no result": lambda own: b'{"result": []}\n',
    "deep": lambda own: b"[" * 200_000 + b"\n",
    "deep detail": lambda own: _answer(own).replace(b'"detail": ""', b'"detail": ' + b"[" * 900 + b"]" * 900),
    "endless": lambda own: b"x" * 8 * MEGABYTE,
    "status": lambda own: _answer(own, status="SPLENDID"),
    "status of the runner": lambda own: _answer(own, status="SKIP"),
    "nested status": lambda own: _answer(own, status=["PASS"]),
    "time": lambda own: _answer(own, seconds=math.nan),
    "long time": lambda own: _answer(own, seconds=10**400),
    "number as detail": lambda own: _answer(own, detail=7),
    "other id": lambda own: _answer("RUN-01"),
    "no id": lambda own: _answer(own, id=None),
    "other count": lambda own: _answer(own, replicas=2),
    "count as text": lambda own: _answer(own, replicas="1"),
    "other implementation": lambda own: _answer(own, implementation="simulator"),
}
FORGED_IDS = {name: f"RUN-{number:02}" for number, name in enumerate(FORGED, 2)}


def _forges(name: str) -> Callable[[World], None]:
    def forge(world: World) -> None:
        _write_answer(FORGED[name](FORGED_IDS[name]))
        threading.Event().wait()

    return forge


def _answers_and_cancels_the_run(world: World) -> None:
    _write_answer(_answer("RUN-13"))
    _hold_the_pipe()
    os.kill(int(os.environ["HOSTILE_RUNNER"]), signal.SIGTERM)
    threading.Event().wait()


def _kills_the_runner(world: World) -> None:
    _leaves_a_process_behind(world)
    os.kill(int(os.environ["HOSTILE_RUNNER"]), signal.SIGKILL)
    threading.Event().wait()


def _cancels_the_run(world: World) -> None:
    os.kill(int(os.environ["HOSTILE_RUNNER"]), signal.SIGTERM)
    threading.Event().wait()


def _one(function: Callable[[World], None]) -> Mapping[str, Check]:
    """Return a check that is hostile with one replica, and one after it that is not."""
    return {
        "RUN-13": Check("RUN-13", (1,), frozenset(), function),
        "RUN-14": Check("RUN-14", (1, 2, 3), frozenset(), _passes),
    }


def passing() -> Mapping[str, Check]:
    return _one(_passes)


def raising_a_long_text() -> Mapping[str, Check]:
    return _one(_raises_a_long_text)


def expecting_a_long_text() -> Mapping[str, Check]:
    return _one(_expects_a_long_text)


def writing_a_long_text() -> Mapping[str, Check]:
    return _one(_writes_a_long_text)


def exiting_well() -> Mapping[str, Check]:
    return _one(_exits_well)


def dying_of_a_nameless_signal() -> Mapping[str, Check]:
    return _one(_dies_of_a_nameless_signal)


def leaving_a_process_behind() -> Mapping[str, Check]:
    return _one(_leaves_a_process_behind)


def leaving_a_process_behind_and_dying() -> Mapping[str, Check]:
    return _one(_leaves_a_process_behind_and_dies)


def forging() -> Mapping[str, Check]:
    """Return a check for each answer that is none, and one before them all that passes."""
    found = {FORGED_IDS[name]: Check(FORGED_IDS[name], (1,), frozenset(), _forges(name)) for name in FORGED}
    return {"RUN-01": Check("RUN-01", (1,), frozenset(), _passes), **found}


def cancelling() -> Mapping[str, Check]:
    """Return checks of which the second has answered when it cancels the run."""
    return {
        "RUN-01": Check("RUN-01", (1, 2, 3), frozenset(), _passes),
        "RUN-13": Check("RUN-13", (1,), frozenset(), _answers_and_cancels_the_run),
        "RUN-14": Check("RUN-14", (1,), frozenset(), _passes),
    }


def cancelling_at_once() -> Mapping[str, Check]:
    return _one(_cancels_the_run)


def killing_the_runner() -> Mapping[str, Check]:
    return _one(_kills_the_runner)

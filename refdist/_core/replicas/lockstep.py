"""Runs one body per replica, one at a time, pausing all of them at each meeting.

A body is a greenlet, taken from a pool and given back, so that each of thousands costs only microseconds.
Replicas run in order; a body runs until it returns or until it asks for a meeting. When all have asked, the
meeting is held once, outside the bodies, and each gets its answer. Whatever goes wrong, no body is left behind.
"""

import contextvars
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from greenlet import getcurrent, greenlet

from refdist._core.base.call_sites import Site, where
from refdist._core.base.errors import MeetingError


class Meeting(NamedTuple):
    """What one replica brings to the place where all replicas meet."""

    kind: str  # what the user called: "all_reduce(SUM)"
    details: Any  # what else must agree: shapes, dtypes, the function to call
    hold: Callable[[Any, Sequence[Any]], Sequence[Any]]  # given the host and all payloads, returns all answers
    host: Any
    payload: Any
    site: Site
    called_from: Site = ()  # what led there, which need not agree


class Errand(NamedTuple):
    """What a body has done outside of all replicas, while the others stay where they are."""

    do: Callable[[], Any]


class _Unwind(BaseException):
    """Ends a paused body, so that its `finally` blocks run."""


class _Runner(greenlet):
    """A pooled greenlet, which runs one body after another."""


class _Failure(NamedTuple):
    error: BaseException


class _Pool(threading.local):
    def __init__(self) -> None:
        self.idle: list[_Runner] = []


_POOL = _Pool()
current: Callable[[], Any] = getcurrent  # a runner always has a parent, which its type does not say
_MOST_IDLE = 16_384


def pause(meeting: Meeting) -> Any:
    """Wait, in a body, until all replicas have come to this meeting, and return the answer."""
    runner = getcurrent()
    if type(runner) is not _Runner:
        raise RuntimeError(
            f"{meeting.kind} was called from a thread or greenlet that is not the replica's own; expected the one in "
            f"which strategy.run calls the function. Call it there, and pass the result on."
        )
    hub: Any = runner.parent
    return hub.switch(meeting)


def do_outside(do: Callable[[], Any]) -> Any:
    """Call a function outside of the replicas, where workers can meet, and return its result; unlike in a meeting, no other
    replica goes on meanwhile.
    """
    return current().parent.switch(Errand(do))


def require_no_body_around() -> None:
    """Raise in a greenlet that a body has made, which would silently count as being in no replica."""
    above = getcurrent().parent
    while above is not None:
        if type(above) is _Runner:
            raise RuntimeError(
                "The replica was asked for in a greenlet that the replica's function has made; expected the function's own. Ask "
                "there, and pass the context on."
            )
        above = above.parent


def play(
    count: int,
    body: Callable[[int], Any],
    *,
    name: Callable[[int], str],
    noun: str = "replica",
    scope: Callable[[int, contextvars.Context | None], AbstractContextManager[Any]] | None = None,
) -> list[Any]:
    """Run the body of each replica to its end, holding their meetings, and return the results.

    Args:
        name: gives the replica and device that an index stands for, for messages.
        noun: what a body is, for messages.
        scope: entered around each stretch of a body, for state that greenlets do not carry along; it gets the context
            in which the body paused, or None for the first stretch.
    """
    hub = getcurrent()
    runners = _take(count, hub)
    results: list[Any] = [None] * count
    waiting: dict[int, Meeting] = {}
    answers: Sequence[Any] = [(body, index, results) for index in range(count)]
    todo: Sequence[int] = range(count)
    starting = True
    try:
        while True:
            for index, answer in zip(todo, answers, strict=True):
                runner = runners[index]
                if scope is None:
                    message = runner.switch(answer)
                else:
                    with scope(index, None if starting else runner.gr_context):
                        message = runner.switch(answer)
                if message is not None and type(message) is not Meeting:
                    message = _after_errands(message, index, runner, scope)
                if message is not None:
                    waiting[index] = message
                    continue
                waiting.pop(index, None)
                if type(results[index]) is _Failure:
                    raise _explained(results[index].error, name(index))
            if not waiting:
                _give_back(runners)
                return results
            require_same(waiting, count, name, noun)
            todo = list(waiting)
            starting = False
            first = waiting[0]
            answers = _held(first, [waiting[index].payload for index in todo])
    except BaseException as error:
        _end(runners)
        # A Ctrl-C may have arrived while the bodies were being ended.
        stops = [one.error for one in results if type(one) is _Failure and isinstance(one.error, KeyboardInterrupt)]
        if stops and stops[0] is not error:
            raise stops[0] from error
        raise


def _after_errands(
    message: Any,
    index: int,
    runner: _Runner,
    scope: Callable[[int, contextvars.Context | None], AbstractContextManager[Any]] | None,
) -> Any:
    """Do what a body wants done, outside of its scope, until it meets the others or ends."""
    while type(message) is Errand:
        answer = message.do()
        with nullcontext() if scope is None else scope(index, runner.gr_context):
            message = runner.switch(answer)
    return message


def _held(meeting: Meeting, payloads: Sequence[Any]) -> Sequence[Any]:
    try:
        return meeting.hold(meeting.host, payloads)
    except Exception as error:
        _add_note(error, f"raised while {len(payloads)} replicas met in {meeting.kind} at {where(meeting.site)}")
        raise


def _take(count: int, hub: greenlet) -> list[_Runner]:
    """Take runners from the pool, and make those that are missing."""
    idle, runners = _POOL.idle, list[_Runner]()
    for _ in range(count):
        if idle:
            runner = idle.pop()
            if runner.parent is not hub:
                runner.parent = hub
        else:
            runner = _Runner(_work, hub)
            runner.switch()  # a greenlet keeps what it is started with until it ends, so it is started with nothing
        runner.gr_context = contextvars.copy_context()
        runners.append(runner)
    return runners


def _give_back(runners: list[_Runner]) -> None:
    """Put idle runners back into the pool and take them off the list.

    Each leaves the list first: a Ctrl-C in between only loses it, whereas one given back twice would later play two replicas.
    """
    idle = _POOL.idle
    while runners:
        runner = runners.pop()
        runner.gr_context = None  # so that an idle runner keeps nothing alive
        if len(idle) < _MOST_IDLE:
            idle.append(runner)


def _work() -> None:
    """Run one body after another, for as long as the runner lives."""
    while True:
        # While the runner is idle, no local variable or argument refers to the task or to the runner itself, because that
        # would keep them alive. So the outcome, too, is left in the list of results.
        task = current().parent.switch(None)
        # Called without a star: Python then does not use the C stack, which a greenlet has to save at every switch.
        body, index, results = task
        try:
            results[index] = body(index)
        except BaseException as error:
            results[index] = _Failure(error)
        body = results = task = None


def _end(runners: list[_Runner]) -> None:
    """Unwind all paused bodies. A body that refuses to end is dropped and never used again."""
    runners.reverse()
    while runners:
        runner = runners.pop()
        frame = runner.gr_frame
        message: Any = None
        if frame is not None and frame.f_code is not _work.__code__:
            for _attempt in range(100):
                message = runner.throw(_Unwind)
                if type(message) is not Meeting:
                    break
        if type(message) is not Meeting and not runner.dead:
            _give_back([runner])


def require_same(waiting: dict[int, Meeting], count: int, name: Callable[[int], str], noun: str) -> None:
    """Raise unless all bodies wait, and for the same thing."""
    first = waiting.get(0)
    if first is not None and len(waiting) == count:
        kind, details, site = first.kind, first.details, first.site
        for meeting in waiting.values():
            # Usually they are the very same objects; comparing those as well would take a third of the time of a meeting.
            if (
                meeting.kind != kind
                or (meeting.site is not site and meeting.site != site)
                or meeting.details != details
            ):
                break
        else:
            return
    places: dict[str, list[int]] = {}
    for index in range(count):
        meeting = waiting.get(index)
        places.setdefault(_place(meeting), []).append(index)
    if len(places) == 1:  # calls on one line, which only their columns tell apart
        places = {}
        for index, meeting in waiting.items():
            column = meeting.site[0].column + 1 if meeting.site else 0
            places.setdefault(f"{_place(meeting)}, column {column}", []).append(index)
    table = "\n".join(f"  {_span(indices, name, noun)}: {place}" for place, indices in places.items())
    raise MeetingError(
        f"The {count} {noun}s do not meet:\n{table}\n"
        f"Expected all of them to come to the same call, from the same line, with the same operator, shapes and dtypes. "
        f"Make the call on every {noun}, in the same order; give a neutral value where one has nothing to add."
    )


def _place(meeting: Meeting | None) -> str:
    if meeting is None:
        return "returned"
    return f"waiting in {meeting.kind}{_detail(meeting)} at {where(meeting.site + meeting.called_from)}"


def _detail(meeting: Meeting) -> str:
    details = meeting.details
    if details is None:
        return ""
    single = not isinstance(details, tuple) or (len(details) == 2 and isinstance(details[0], tuple))
    return f" of {', '.join(map(_outline, [details] if single else details))}"


def _outline(detail: Any) -> str:
    """Print a shape and a dtype as `float32[2,3]`."""
    if isinstance(detail, tuple) and len(detail) == 2 and isinstance(detail[0], tuple):
        return f"{detail[1]}[{','.join(map(str, detail[0]))}]"
    return str(detail)


def _span(indices: list[int], name: Callable[[int], str], noun: str) -> str:
    if len(indices) == 1:
        return name(indices[0])
    shown = ", ".join(map(str, indices[:4])) + (f", ... ({len(indices)} {noun}s)" if len(indices) > 4 else "")
    return f"{noun}s {shown}"


def _explained(error: BaseException, who: str) -> BaseException:
    if isinstance(error, Exception):
        _add_note(error, f"raised in {who}")
    return error


def _add_note(error: Exception, note: str) -> None:
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)

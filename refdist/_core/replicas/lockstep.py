"""Runs one body per replica, one at a time, pausing all of them at each meeting.

A body is a greenlet, taken from a pool and given back, so that each of thousands costs only microseconds.
Replicas run in order, or in the one that `HERE.get().turns` gives; a body runs until it returns or until it asks for a
meeting. When all have asked, the meeting is held once, outside the bodies, and each gets its answer. Whatever goes wrong,
no body is left behind.
"""

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeAlias

from greenlet import getcurrent, greenlet

from refdist._core.base.call_sites import where
from refdist._core.base.journal import Journal
from refdist._core.base.where import HERE, Turns
from refdist._core.replicas.meeting import Meeting, not_met, whereabouts


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


Scope: TypeAlias = Callable[[int, contextvars.Context | None], AbstractContextManager[Any]]
"""What is entered around a stretch of a body: given its number, and the context in which it paused, or None at first."""

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
    scope: Scope | None = None,
    contexts: Sequence[contextvars.Context] | None = None,
) -> list[Any]:
    """Run the body of each replica to its end, holding their meetings, and return the results.

    Args:
        name: gives the replica and device that an index stands for, for messages.
        noun: what a body is, for messages.
        scope: entered around each stretch of a body, for state that greenlets do not carry along.
        contexts: what each body begins in a copy of; the context around all of them unless given.
    """
    hub, turns = getcurrent(), HERE.get().turns
    runners = _take(count, hub, contexts or [contextvars.copy_context()] * count)
    results: list[Any] = [None] * count
    waiting: dict[int, Meeting] = {}
    answers: Sequence[Any] = [(body, index, results) for index in range(count)]
    todo: Sequence[int] = range(count)
    met, last = 0, None  # how many meetings were held, and what the last one was
    left: dict[
        int, BaseException
    ] = {}  # who has left by sys.exit(), which ends one process where workers have their own
    try:
        while True:
            waiting = {}
            if turns is not None:
                todo, answers = _in_turn(turns, todo, answers)
            for index, answer in zip(todo, answers, strict=True):
                runner = runners[index]
                if scope is None:
                    message = runner.switch(answer)
                else:
                    with scope(index, runner.gr_context if met else None):
                        message = runner.switch(answer)
                if type(message) is Errand:
                    message = _after_errands(message, index, runner, scope)
                if message is not None:
                    waiting[index] = message
                elif type(results[index]) is _Failure:
                    error = results[index].error
                    if not isinstance(error, SystemExit):
                        raise _explained(error, name(index), waiting, name, noun)
                    left[index] = error
            if not waiting:
                _give_back(runners)
                if left:
                    raise next(iter(left.values()))
                return results
            if turns is not None:
                waiting = dict(sorted(waiting.items()))
            if not agreed(waiting, count):
                raise not_met(waiting, count, name, noun, met, last, left)
            todo = list(waiting)
            first = waiting[0]
            met, last = met + 1, (first.kind, first.site)
            answers = _held(first, [meeting.payload for meeting in waiting.values()])
    except BaseException as error:
        _end(runners, scope)
        # A Ctrl-C may have arrived while the bodies were being ended.
        stops = [one.error for one in results if type(one) is _Failure and isinstance(one.error, KeyboardInterrupt)]
        if stops and stops[0] is not error:
            raise stops[0] from error
        raise


def _in_turn(turns: Turns, todo: Sequence[int], answers: Sequence[Any]) -> tuple[Sequence[int], Sequence[Any]]:
    """Who goes on, and with what, in another order than their own."""
    places = list(turns(len(todo)))
    return [todo[place] for place in places], [answers[place] for place in places]


def _after_errands(
    message: Any,
    index: int,
    runner: _Runner,
    scope: Scope | None,
) -> Any:
    """Do what a body wants done, outside of its scope, until it meets the others or ends."""
    while type(message) is Errand:
        answer = message.do()
        with nullcontext() if scope is None else scope(index, runner.gr_context):
            message = runner.switch(answer)
    return message


def _held(meeting: Meeting, payloads: Sequence[Any]) -> Sequence[Any]:
    journal = HERE.get().journal
    try:
        if journal is None:
            return meeting.hold(meeting.host, payloads)
        return held_and_told(journal, meeting, payloads)
    except Exception as error:
        _add_note(error, f"raised while {len(payloads)} replicas met in {meeting.kind} at {where(meeting.site)}")
        raise


HELD = _held.__code__  # whose frame knows where the replicas have met


def held_and_told(journal: Journal, meeting: Meeting, payloads: Sequence[Any]) -> Sequence[Any]:
    """Hold a meeting, and tell a journal of it."""
    answers = None
    journal.meets(meeting.kind, meeting.site + meeting.called_from)
    try:
        answers = meeting.hold(meeting.host, payloads)
        return answers
    finally:
        journal.met(payloads, answers)


def _take(count: int, hub: greenlet, contexts: Sequence[contextvars.Context]) -> list[_Runner]:
    """Take runners from the pool, make those that are missing, and give each a copy of its context."""
    idle = _POOL.idle
    runners = idle[-count:]
    del idle[-count:]
    for _ in range(count - len(runners)):
        runner = _Runner(_work, hub)
        runner.switch()  # a greenlet keeps what it is started with until it ends, so it is started with nothing
        runners.append(runner)
    for runner, context in zip(runners, contexts, strict=True):
        if runner.parent is not hub:
            runner.parent = hub
        runner.gr_context = context.copy()
    return runners


def _give_back(runners: list[_Runner]) -> None:
    """Put idle runners back into the pool and take them off the list.

    They leave the list first: a Ctrl-C in between only loses them, whereas one given back twice would later play two replicas.
    """
    for runner in runners:
        runner.gr_context = None  # so that an idle runner keeps nothing alive
    idle = _POOL.idle
    given = runners[: max(0, _MOST_IDLE - len(idle))]
    runners.clear()
    idle += given


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


def _end(runners: list[_Runner], scope: Scope | None) -> None:
    """Unwind all paused bodies. A body that refuses to end is dropped and never used again.

    Each ends in its scope, as it paused: a block that it leaves on the way would else leave its own state behind for everybody.
    """
    count = len(runners)
    runners.reverse()
    while runners:
        index = count - len(runners)
        runner = runners.pop()
        frame = runner.gr_frame
        message: Any = None
        if frame is not None and frame.f_code is not _work.__code__:
            for _attempt in range(100):
                with nullcontext() if scope is None else scope(index, runner.gr_context):
                    message = runner.throw(_Unwind)
                if type(message) is not Meeting:
                    break
        if type(message) is not Meeting and not runner.dead:
            _give_back([runner])


def agreed(waiting: Mapping[int, Meeting], count: int) -> bool:
    """Say whether all bodies wait, and for the same thing."""
    first = waiting.get(0)
    if first is None or len(waiting) < count:
        return False
    kind, details, site = first.kind, first.details, first.site
    for its_kind, its_details, _, _, _, its_site, _ in waiting.values():
        # Usually they are the very same objects; comparing those as well would take a third of the time of a meeting.
        if its_kind != kind or (its_site is not site and its_site != site):
            return False
        if its_details is not details and its_details != details:
            return False
    return True


def _explained(
    error: BaseException, who: str, came: dict[int, Meeting], name: Callable[[int], str], noun: str
) -> BaseException:
    if isinstance(error, Exception):
        _add_note(error, f"raised in {who}")
        if came:
            _add_note(error, f"meanwhile, {whereabouts(came, name, noun)}")
    return error


def _add_note(error: Exception, note: str) -> None:
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)

"""What a replica brings to a meeting, and the error where not all come to the same one: a table of who is where."""

import ast
import functools
import linecache
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from refdist._core.base import nest
from refdist._core.base.call_sites import Place, Site, line_text, of_user, where
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


meeting_of: Callable[[Iterable[Any]], Meeting] = functools.partial(tuple.__new__, Meeting)
"""Make a meeting from all its fields, as Meeting(...) does, without the cost of the Python function that a named tuple calls."""

Name = Callable[[int], str]


def not_met(
    waiting: Mapping[int, Meeting],
    count: int,
    name: Name,
    noun: str,
    met: int = 0,
    last: tuple[str, Site] | None = None,
    left: Mapping[int, BaseException] | None = None,
) -> MeetingError:
    """The error where not all bodies wait, or not for the same thing.

    Args:
        waiting: what each body waits for; the others have ended.
        name: gives the replica and device that an index stands for.
        noun: what a body is.
        met: how many meetings all of them came to before.
        last: what the last one of these was, and where.
        left: what those have raised who have left by sys.exit().
    """
    places: dict[str, list[int]] = {}
    for index in range(count):
        meeting = waiting.get(index)
        place = _ended(met, last, (left or {}).get(index)) if meeting is None else _place(meeting)
        places.setdefault(place, []).append(index)
    if len(places) == 1:  # calls on one line, which only their columns tell apart
        places = {}
        for index, meeting in waiting.items():
            column = meeting.site[0].column + 1 if meeting.site else 0
            places.setdefault(f"{_place(meeting)}, column {column}", []).append(index)
    table = "\n".join(f"  {_span(indices, name, noun)}: {place}" for place, indices in places.items())
    return MeetingError(
        f"The {count} {noun}s do not meet:\n{table}\n"
        f"Expected all of them to come to the same call, from the same line, with the same operator, shapes and dtypes. "
        f"Make the call on every {noun}, in the same order; give a neutral value where one has nothing to add."
        f"{_swallowing(waiting, noun) if len(waiting) < count else ''}"
    )


def whereabouts(waiting: Mapping[int, Meeting], name: Name, noun: str) -> str:
    """Say who waits where, in one line."""
    places: dict[str, list[int]] = {}
    for index, meeting in waiting.items():
        places.setdefault(_place(meeting), []).append(index)
    return "; ".join(f"{_span(indices, name, noun)}: {place}" for place, indices in places.items())


def _ended(met: int, last: tuple[str, Site] | None, error: BaseException | None) -> str:
    """Say how a body has ended that others wait for, and what it did last."""
    how = "returned" if error is None else f"left by {type(error).__name__}({error}){_raised_at(error)}"
    return how if last is None else f"{how} after meeting {met}, {last[0]} at {where(last[1])}"


def _raised_at(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if of_user(frame.filename)]
    return f" at {line_text(frames[-1].filename, frames[-1].lineno or 0)}, in {frames[-1].name}" if frames else ""


def _swallowing(waiting: Mapping[int, Meeting], noun: str) -> str:
    """Point at the `except` around a call that some bodies have not come to: an error that it swallowed may be why."""
    for meeting in waiting.values():
        for place in meeting.site:
            handler = _handler_around(place)
            if handler is not None:
                at = line_text(place.file, handler[0])
                return (
                    f" The call stands in a `try`, whose `{handler[1]}` at {at} may have swallowed an error on the {noun} that has "
                    f"not come: let it raise, or agree first, with all_reduce(), on whether to go on."
                )
    return ""


def _handler_around(place: Place) -> tuple[int, str] | None:
    """The line and the text of the innermost `except` that covers a line and does not raise again."""
    try:
        tree = ast.parse("".join(linecache.getlines(place.file)))
    except SyntaxError:
        return None
    found = None
    for node in ast.walk(tree):  # outer statements come before inner ones
        if isinstance(node, (ast.Try, ast.TryStar)) and node.body[0].lineno <= place.line <= _end(node.body[-1]):
            quiet = [one for one in node.handlers if not any(isinstance(part, ast.Raise) for part in ast.walk(one))]
            found = quiet[0] if quiet else found
    return None if found is None else (found.lineno, linecache.getline(place.file, found.lineno).strip().rstrip(":"))


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _place(meeting: Meeting) -> str:
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
    return nest.outline(detail)


def _span(indices: Sequence[int], name: Name, noun: str) -> str:
    if len(indices) == 1:
        return name(indices[0])
    shown = ", ".join(map(str, indices[:4])) + (f", ... ({len(indices)} {noun}s)" if len(indices) > 4 else "")
    return f"{noun}s {shown}"

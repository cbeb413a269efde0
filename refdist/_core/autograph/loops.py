"""Loops whose number of turns a tensor decides, or that go over the rows of one."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.autograph.branches import place
from refdist._core.autograph.parts import own_draft, part_of, seen_by_tapes
from refdist._core.autograph.state import (
    Held,
    NotReturned,
    Undefined,
    as_tensor,
    has_grown,
    held,
    is_missing,
    same_python,
)
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.where import HERE
from refdist._core.compilers import control_flow
from refdist._core.devices.tensor import dtype_name
from refdist._core.seam.draft import NeedsPython
from refdist._core.variables.variable import Variable

_TURN = np.zeros((), np.int32)


@dataclasses.dataclass(frozen=True)
class Turns:
    """How often a loop turns, and what it gives to its body each time."""

    count: Any = None  # a number, a tensor, or None for as often as the test says
    rows: Sequence[Any] = ()  # tensors with a row for each turn
    limit: int | None = None  # how often at most, if that is known
    element: Callable[[Any, Any], Any] = lambda turn, rows: rows[0]  # what the body gets, given the turn and the rows


class Variables:
    """The variables of Python that a loop changes: how to get and set all of them, and their names."""

    def __init__(self, get: Callable[[], Any], put: Callable[[Any], None], names: Sequence[str]) -> None:
        self.get, self.put, self.names = get, put, names


class Loop:
    """Writes the body of a loop once, and repeats it in the program."""

    def __init__(self, variables: Variables, turns: Turns, test: Callable[[], Any] | None) -> None:
        self._variables, self._turns, self._test = variables, turns, test
        self._draft = own_draft()
        self._before = variables.get()
        self._entry = [_with_tensors(held(value)) for value in self._before]
        self._state = [tensor for one in self._entry for tensor in one.made]
        self._values = {} if self._draft is None else dict(self._draft.values)
        self._keys = [key for key in self._values if isinstance(key, int)]
        self._after: list[Held] = []
        self._written: dict[Any, Any] = {}
        self._collected = held(())

    def run(self, body: Callable[[Any], Any], *, collecting: bool = False) -> Any:
        """Write the loop; afterwards, the variables hold what they do after the last turn.

        Args:
            collecting: whether to return what the body returns in all turns, stacked; their number has to be known.
        """
        draft, turns = self._draft, self._turns
        rows = [_row_like(one) for one in turns.rows]
        outer = [self._values[key] for key in self._keys]
        given = [*self._state, *outer, *([] if draft is None else [draft.entropy])]
        test = None if self._test is None else control_flow.written(lambda *now: [self._tested(now)], given)
        piece = control_flow.written(lambda *now: self._turned(body, now, test, collecting), [_TURN, *rows, *given])
        changed = [key for key in self._keys if key in self._written]
        flags = [key for key in self._written if key not in self._values]
        new = [tensor for _, one in self._new() for tensor in one.made]
        first, entries = 1 + len(rows), len(self._state)
        outside = self._seen_by_tapes([one for one in (test, piece) if one is not None], [entries, first + entries])
        stirs = draft is not None and piece.reads(first + len(given) - 1)

        def inputs(now: Sequence[Any], turn: Any = None) -> list[Any]:
            held_now = dict(zip(changed, now[entries + len(new) :], strict=False))
            values = [held_now.get(key, outside[key]) for key in self._keys]
            if draft is None:
                return [*now[:entries], *values]
            entropy = draft.entropy
            return [
                *now[:entries],
                *values,
                control_flow.stirred(entropy, turn, turns.count) if stirs and turn is not None else entropy,
            ]

        def step(turn: Any, own: Sequence[Any], now: Sequence[Any]) -> list[Any]:
            instead = dict(zip(map(id, bases), now[entries:], strict=False))
            made = piece(turn, *own, *inputs(now, turn), instead=instead)
            kept = entries + len(new) + len(changed)
            some, more = made[kept : kept + len(flags)], made[kept + len(flags) :]
            both = [control_flow.both(a, b) for a, b in zip(now[kept:-1], some, strict=True)]
            return [*made[:kept], *both, np.True_, *more]

        bases = [base for one, after in self._new() for base in _first_values(one, after)]
        start = [
            *self._state,
            *bases,
            *(self._values[key] for key in changed),
            *[np.True_] * len(flags),
            np.False_,  # whether it has turned
        ]
        going = None if test is None else (lambda now: test(*inputs(now))[0])
        end = control_flow.repeat(step, start, count=turns.count, test=going, rows=turns.rows, limit=turns.limit)
        self._finish(end, changed, flags)
        return self._collected.close(end[len(start) :]) if collecting else None

    def _seen_by_tapes(self, pieces: Sequence[Any], places: Sequence[int]) -> dict[Any, Any]:
        """What variables hold before the loop; those that it reads are read under the tapes around it."""
        seen = dict(self._values)
        for number, key in enumerate(self._keys):
            if self._draft is not None and any(
                piece.reads(place + number) for piece, place in zip(pieces, places[-len(pieces) :], strict=True)
            ):
                seen[key] = seen_by_tapes(self._draft, key)
        return seen

    def _tested(self, now: Sequence[Any]) -> Any:
        with self._inside(now) as values:
            before = dict(values)
            condition = require_condition(True if self._test is None else self._test(), "loop")
            if any(before.get(key) is not value for key, value in values.items()):
                raise NeedsPython  # a condition that writes a variable, or requires something
        return condition

    def _turned(self, body: Callable[[Any], Any], now: Sequence[Any], test: Any, collecting: bool) -> list[Any]:
        rows = len(self._turns.rows)
        with self._inside(now[1 + rows :], self._going(now[0], test, now[1 + rows :])) as values:
            before = dict(values)
            result = body(self._turns.element(now[0], now[1 : 1 + rows]))
            self._after = [_with_tensors(held(value)) for value in self._variables.get()]
            self._written = {key: value for key, value in values.items() if before.get(key) is not value}
        for name, entry, after in zip(self._variables.names, self._entry, self._after, strict=True):
            _require_unchanged(name, entry, after)
        kept = [tensor for one in self._kept() for tensor in one.made]
        kept += [tensor for _, one in self._new() for tensor in one.made]
        changed = [self._written[key] for key in self._keys if key in self._written]
        flags = [value for key, value in self._written.items() if key not in self._values]
        if collecting:
            self._collected = _with_tensors(held(result))
        return [*kept, *changed, *flags, *self._collected.made]

    def _going(self, turn: Any, test: Any, now: Sequence[Any]) -> list[Any]:
        """Whether a replica still turns: those that do not take the steps, too, until all have ended."""
        if self._draft is None or self._draft.compiler.count == 1:
            return []
        counted = [] if self._turns.count is None or isinstance(self._turns.count, int) else [turn < self._turns.count]
        return [*counted, *([] if test is None else test(*now))]

    def _inside(self, now: Sequence[Any], conditions: Sequence[Any] = ()) -> Any:
        return _Inside(self._draft, self._variables, self._before, self._entry, self._keys, now, conditions)

    def _kept(self) -> list[Held]:
        """What variables that held tensors before the loop hold after a turn."""
        return [after for entry, after in zip(self._entry, self._after, strict=True) if entry.made]

    def _new(self) -> list[tuple[Held, Held]]:
        """What variables hold, before and after a turn, that had no value before, or one whose shape the turn has shown."""
        return [(entry, after) for entry, after in zip(self._entry, self._after, strict=True) if _is_new(entry, after)]

    def _finish(self, end: Sequence[Any], changed: Sequence[Any], flags: Sequence[Any]) -> None:
        given = iter(end)
        results: list[Any] = []
        kept = [one.close([next(given) for _ in one.made]) if one.made else one.value for one in self._entry]
        for entry, after, value in zip(self._entry, self._after, kept, strict=True):
            known = isinstance(after.value, Variable) and (is_missing(entry.value) or entry.value is after.value)
            if _is_new(entry, after):
                results.append(after.close([next(given) for _ in after.made]))
            else:
                results.append(after.value if known else value)
        self._variables.put(tuple(results))
        if self._draft is None:
            return
        self._draft.values.update((key, next(given)) for key in [*changed, *flags])
        names = [
            name
            for name, entry, after in zip(self._variables.names, self._entry, self._after, strict=True)
            if isinstance(entry.value, Undefined) and not is_missing(after.value)
        ]
        if names and not (isinstance(self._turns.count, int) and self._test is None and self._turns.count):
            self._draft.require(
                next(given),
                InvalidArgumentError,
                f"The loop at {place()} did not turn, and '{names[0]}' has no value after it; expected at least one turn: the "
                f"loop must iterate at least once to initialize {names[0]}. Give it a value before the loop.",
            )


class _Inside:
    """The surroundings of the body of a loop: Python's variables and the program's hold what stands for one turn's values."""

    def __init__(
        self, draft: Any, variables: Variables, before: Any, entry: Any, keys: Any, now: Any, conditions: Any
    ) -> None:
        self._draft, self._variables, self._before = draft, variables, before
        self._entry, self._keys, self._now, self._conditions = entry, keys, now, conditions

    def __enter__(self) -> dict[Any, Any]:
        given = iter(self._now)
        state = [one.close([next(given) for _ in one.made]) if one.made else one.value for one in self._entry]
        self._variables.put(tuple(state))
        values = {key: next(given) for key in self._keys}
        self._part = part_of(self._draft, values, self._conditions)
        own = self._part.__enter__()
        if self._draft is not None:
            self._entropy, self._draft.entropy = self._draft.entropy, next(given)
        return own

    def __exit__(self, *exception: Any) -> None:
        if self._draft is not None:
            self._draft.entropy = self._entropy
        self._part.__exit__(*exception)
        self._variables.put(self._before)


def _is_new(entry: Held, after: Held) -> bool:
    if is_missing(entry.value):
        return not is_missing(after.value) and not isinstance(after.value, Variable)
    return (
        hasattr(entry.value, "with_parts") and not entry.parts and bool(after.parts)
    )  # a TensorArray without elements


def _first_values(entry: Held, after: Held) -> list[Any]:
    """What a new part of the state is before the first turn."""
    found = [] if is_missing(entry.value) else list(held(entry.value).parts)
    return found or [control_flow.zeros_like(tensor) for tensor in after.made]


def _row_like(tensor: Any) -> Any:
    """What has the shape and dtype of a row."""
    return np.zeros(tensor.shape[1:], tensor.dtype)


def _with_tensors(one: Held) -> Held:
    return dataclasses.replace(one, made=one.tensors()) if one.carried and not is_missing(one.value) else one


def _require_unchanged(name: str, entry: Held, after: Held) -> None:
    """Raise unless what a variable holds after a turn can take the place of what it held before."""
    if has_grown(entry, after):
        raise NeedsPython
    if is_missing(entry.value) or _is_new(entry, after):
        if not is_missing(after.value) and not after.carried:
            raise TypeError(
                f"'{name}' is {after} in a loop over a tensor at {place()}; expected a tensor or a number, because the "
                f"program carries it from turn to turn. Give it its value before the loop."
            )
        return
    if not entry.made:
        if not same_python(entry, after):
            raise TypeError(
                f"'{name}' is {entry} before a loop over a tensor at {place()}, and {after} after one turn; "
                f"expected a tensor or a number, or no change. Begin with a tensor, or loop over a Python value."
            )
        return
    if isinstance(after.value, (NotReturned, Undefined)) or entry.kind != after.kind or not after.carried:
        raise TypeError(
            f"'{name}' is {entry} before a loop over a tensor at {place()}, and {after} after one turn; expected "
            f"tensors in the same structure. Keep its structure; use a tf.TensorArray in place of a list that grows."
        )
    for a, b in zip(entry.made, after.made, strict=True):
        if a.dtype != b.dtype:
            raise TypeError(
                f"'{name}' has dtype {dtype_name(a.dtype)} before the loop at {place()}, but dtype {dtype_name(b.dtype)} after one "
                f"iteration; expected the same. Begin with a value of that dtype, or convert it with tf.cast()."
            )
        if tuple(a.shape) != tuple(b.shape):
            raise ValueError(
                f"'{name}' has shape {tuple(a.shape)} before the loop at {place()}, but shape {tuple(b.shape)} after one "
                f"iteration; expected the same, because a compiled program knows all shapes. Use a tf.TensorArray, or `range` in "
                f"place of `tf.range`."
            )


def require_condition(condition: Any, statement: str) -> Any:
    """A tensor that decides, or an error if it cannot."""
    tensor = as_tensor(condition)
    if tensor.dtype.kind != "b" or tensor.size != 1:
        error = ValueError(
            f"The condition of {statement} at {place()} is {dtype_name(tensor.dtype)} of shape {tuple(tensor.shape)}; expected a "
            f"single truth value. Compare it, as in `x > 0` or `x is not None`, or use tf.reduce_any() or tf.cast(x, tf.bool)."
        )
        draft = HERE.get().draft
        if draft is not None:
            draft.refuse(error, tensor)
        raise error
    return tensor.reshape(())

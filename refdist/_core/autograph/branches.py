"""Branches: one of two pieces of Python, chosen by a tensor when the program runs."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.autograph.parts import own_draft, part_of, seen_by_tapes
from refdist._core.autograph.state import Held, NotReturned, has_grown, held, is_missing, same_python
from refdist._core.base.call_sites import call_site, where
from refdist._core.compilers import control_flow
from refdist._core.devices.tensor import dtype_name
from refdist._core.seam.draft import NeedsPython

Branch = Callable[[], Sequence[Any]]
"""Runs a branch, and returns what each of some variables of Python holds after it."""


def branched(condition: Any, first: Branch, second: Branch, names: Sequence[str]) -> list[Any]:
    """Write two branches, of which the program takes one, and return what the variables hold after it.

    Args:
        condition: a tensor.
        names: of the variables, for messages.
    """
    draft = own_draft()
    pieces = [_Written(first, draft, condition), _Written(second, draft, control_flow.negated(condition))]
    columns = zip(names, *(piece.results for piece in pieces), strict=True)
    outcomes = [_outcome(name, _shaped(a), _shaped(b)) for name, a, b in columns]
    sides: list[list[Any]] = [[], []]
    for outcome in outcomes:
        for side, source in zip(sides, outcome.sources, strict=True):
            side.extend(source)
    keys = list(dict.fromkeys(key for piece in pieces for key in piece.written))
    before = {} if draft is None else draft.values
    for key in keys:
        missing = next(piece.written[key] for piece in pieces if key in piece.written)
        other = before.get(key, np.True_ if _is_flag(key) else control_flow.zeros_like(missing))
        for side, piece in zip(sides, pieces, strict=True):
            side.append(piece.written.get(key, other))
    instead = _instead(draft, pieces)
    made = control_flow.choose(
        condition, *(piece.making(side, instead) for piece, side in zip(pieces, sides, strict=True))
    )
    given = iter(made)
    results = [outcome.close([next(given) for _ in outcome.sources[0]]) for outcome in outcomes]
    if draft is not None:
        draft.values.update(zip(keys, given, strict=True))
    return results


def _instead(draft: Any, pieces: "Sequence[_Written]") -> dict[int, Any]:
    """What takes the places of variables' values in branches, so that tapes around these see that they are read."""
    if draft is None:
        return {}
    found = {key: draft.values.get(key) for key in draft.read_in_parts}
    keys = [key for key, value in found.items() if value is not None and any(one.finds(value) for one in pieces)]
    return {id(found[key]): seen_by_tapes(draft, key) for key in keys}


def _shaped(one: Held) -> Held:
    """A TensorArray whose elements have got a shape only in the other branch has tensors now, too."""
    if not hasattr(one.value, "with_parts") or one.parts:
        return one
    again = held(one.value)
    return dataclasses.replace(again, made=again.tensors())


def _is_flag(key: Any) -> bool:
    """Say whether a key of a draft stands for what has to hold, not for a variable."""
    return not isinstance(key, int)


class _Written:
    """A branch that was written by itself."""

    def __init__(self, branch: Branch, draft: Any, condition: Any) -> None:
        self.results: list[Held] = []
        self.written: dict[Any, Any] = {}  # by the keys of the draft; the values belong to the trace of the branch
        self._places: dict[int, int] = {}  # where each tensor is among the outputs, by id
        self._kept: list[Any] = []
        self._piece = control_flow.written(lambda: self._outputs(branch, draft, condition), [])

    def _outputs(self, branch: Branch, draft: Any, condition: Any) -> list[Any]:
        with part_of(draft, conditions=[condition]) as values:
            before = dict(values)
            self.results = [held(value) for value in branch()]
            self.written = {key: value for key, value in values.items() if before.get(key) is not value}
        for index, result in enumerate(self.results):
            if result.carried and not is_missing(result.value):
                self.results[index] = dataclasses.replace(result, made=result.tensors())
        self._kept = [tensor for result in self.results for tensor in result.made] + list(self.written.values())
        self._places = {id(tensor): place for place, tensor in enumerate(self._kept)}
        return self._kept

    def finds(self, array: Any) -> bool:
        """Say whether it reads an array that is around it."""
        return self._piece.finds(array)

    def making(self, wanted: Sequence[Any], instead: dict[int, Any]) -> Callable[[], list[Any]]:
        """The branch as a function that makes some tensors: its own, or others."""

        def make() -> list[Any]:
            outputs = self._piece(instead=instead)
            return [
                outputs[self._places[id(one)]] if id(one) in self._places else control_flow.strong(one)
                for one in wanted
            ]

        return make


@dataclasses.dataclass(frozen=True)
class _Outcome:
    """What a variable of Python holds after one of two branches."""

    sources: tuple[Sequence[Any], Sequence[Any]]  # its tensors at the end of each
    close: Callable[[Sequence[Any]], Any]


def _outcome(name: str, first: Held, second: Held) -> _Outcome:
    if same_python(first, second):
        return _Outcome(((), ()), lambda _: first.value)
    for mine, other in ((first, second), (second, first)):
        if isinstance(mine.value, NotReturned) and other.carried:
            zeros = [control_flow.zeros_like(part) for part in other.made]
            return _Outcome((zeros, other.made) if mine is first else (other.made, zeros), other.close)
    _require_alike(name, first, second)
    return _Outcome((first.made, second.made), first.close)


def _require_alike(name: str, first: Held, second: Held) -> None:
    """Raise unless a program can choose between what a variable holds after two branches.

    Where TensorFlow can, and a compiled program cannot, the function runs in Python.
    """
    for mine, branch, other in ((first, "main", "else"), (second, "else", "main")):
        if is_missing(mine.value):
            if isinstance(mine.value, NotReturned):
                raise ValueError(
                    f"The {other} branch of an `if` over a tensor returns a value at {place()}, and the {branch} branch returns "
                    f"none; expected a return in both. The {branch} branch must also have a return statement."
                )
            raise ValueError(
                f"'{name}' gets a value only in the {other} branch of an `if` over a tensor at {place()}; expected one in both. "
                f"'{name}' must also be initialized in the {branch} branch, or before the `if`."
            )
        if mine.value is None:
            raise ValueError(
                f"'{name}' is None at the end of the {branch} branch of an `if` over a tensor at {place()}, and a tensor at the "
                f"end of the {other} branch; expected a tensor in both. Give it a value in the {branch} branch."
            )
    texts = isinstance(first.value, (str, bytes)) and isinstance(second.value, (str, bytes))
    if texts or has_grown(first, second):
        raise NeedsPython
    if first.kind != second.kind or not (first.carried and second.carried):
        raise TypeError(
            f"'{name}' is {first} in the main branch of an `if` over a tensor at {place()}, and {second} in the else branch; "
            f"expected tensors or numbers in the same structure. Make them alike, or decide with a Python value."
        )
    for a, b in zip(first.made, second.made, strict=True):
        if a.dtype != b.dtype:
            raise TypeError(
                f"'{name}' has dtype {dtype_name(a.dtype)} in the main branch of an `if` over a tensor at {place()}, but dtype "
                f"{dtype_name(b.dtype)} in the else branch; expected the same. Convert one of them with tf.cast()."
            )
        if tuple(a.shape) != tuple(b.shape):
            raise NeedsPython  # a compiled program knows all shapes; Python does not have to


def place() -> str:
    """The user's line from which a branch or a loop is written."""
    return where(call_site(2)[:1])

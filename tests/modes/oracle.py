"""What a program should do, in numpy alone.

Each value knows by how much another order of its sums, or a wider intermediate, may change it. Where such a
change could turn a result over (a comparison, a cast to integers), the program has no one answer.
"""

from typing import Any

import numpy as np

from tests.modes.numbers import (
    Raises,
    Undefined,
    Value,
    adds_exactly,
    epsilon,
    equal,
    inexact,
    magnitude,
    require_numbers,
    require_tame,
    wide,
)
from tests.modes.program import Input, Program, Step, array, is_name
from tests.modes.replicas import BINARY
from tests.modes.states import Variables


class Oracle(Variables):
    """Runs a program step by step; `call` runs it whole."""

    def __init__(
        self, program: Program, departures: frozenset[str] = frozenset(), per_worker: int | None = None
    ) -> None:
        self.program = program
        with np.errstate(all="ignore"):
            super().__init__(
                program.variables, program.strategy, program.replicas, per_worker or program.replicas, departures
            )

    def call(self) -> tuple[list[Value], list[Value]]:
        """What one call returns: the values of the replicas, and those made outside of them."""
        self.begin()
        for step in self.program.body:
            self.take(step, "x")
        for step in self.program.after:
            self.take(step, "y")
        return ([v for n, v in self.names.items() if n[0] == "x"], [v for n, v in self.names.items() if n[0] == "y"])

    def begin(self) -> None:
        """Give the replicas their inputs."""
        self.names = {f"x{i}": self.given(one) for i, one in enumerate(self.program.inputs)}

    def given(self, one: Input) -> Value:
        return Value(tuple(self.put(array(part, one.dtype, one.row)) for part in one.parts))

    def take(self, step: Step, letter: str) -> None:
        """Do one step, and give names to what it makes."""
        known = sum(name[0] == letter for name in self.names)
        before = [(state.copies, state.slack) for state in self.variables]
        method = getattr(self, _METHODS.get(step.verb, f"_{step.verb}".replace(" ", "_")))
        try:
            with np.errstate(all="ignore"):
                self._require_no_text(step)
                made = method(*step.operands, verb=step.verb)
            results = [] if made is None else made if isinstance(made, list) else [made]
            for value in results:
                require_tame(value)
        except (Raises, Undefined):
            for state, kept in zip(self.variables, before, strict=True):
                state.copies, state.slack = kept
            raise
        assert len(results) == (0 if made is None else step.results)
        self.names.update({f"{letter}{known + turn}": value for turn, value in enumerate(results)})

    def _require_no_text(self, step: Step) -> None:
        values = [self.names.get(leaf) for operand in step.operands for leaf in leaves(operand) if is_name(leaf)]
        if any(value is not None and value.dtype.kind == "O" for value in values):
            self.leave("text is handed on only")

    # Meetings.

    def _all_reduce(self, op: str, operand: Any, verb: str) -> Value:
        a = self.value(operand)
        require_numbers(a.dtype)
        return self._spread(*self._combined(op, a), same=False)

    def _all_reduce_nest(self, op: str, nest: Any, verb: str) -> list[Value]:
        return [self._all_reduce(op, leaf, verb) for leaf in leaves(nest)]

    def _all_gather(self, operand: Any, axis: int, verb: str) -> Value:
        a = self.value(operand)
        return self._spread(self._gathered(a, axis), a.slack, same=False)

    def _merge_reduce(self, op: str, operand: Any, verb: str) -> Value:
        return self._spread(*self._reduced(op, self.value(operand)), same=True)

    def _merge_reduce_to(self, op: str, operand: Any, verb: str) -> Value:
        a = self.value(operand)
        return self._spread(*self._reduced(op, a), same=self.bare(a))

    def _merge_own(self, operand: Any, verb: str) -> Value:
        return self.value(operand)

    def _merge_first(self, operand: Any, verb: str) -> Value:
        a = self.value(operand)
        first = tuple(a.parts[index - index % self.per_worker] for index in range(self.count))
        return Value(first, a.slack, same=True)

    def _merge_gather(self, operand: Any, axis: int, verb: str) -> Value:
        return self._gather(operand, axis, verb)

    def _merge_update(self, op: str, variable: str, write: str, operand: Any, verb: str) -> Value:
        a = self.value(operand)
        self._update(variable, write, Value((self._reduced(op, a)[0],), self._reduced(op, a)[1]), verb)
        return a

    # Outside of the replicas.

    def _reduce(self, op: str, operand: Any, axis: int | None, verb: str) -> Value:
        a = self.value(operand)
        if axis is None:
            return self._spread(*self._reduced(op, a), same=True)
        if self.bare(a) and self.count > 1:
            raise Raises("a plain value")
        require_numbers(a.dtype)
        if any(not -part.ndim <= axis < part.ndim for part in a.parts):
            raise Raises("no such axis")
        whole = [wide(part).sum(axis=axis, dtype=wide(part).dtype) for part in a.parts]
        if any(part.shape != whole[0].shape for part in whole):
            raise Raises("different shapes")
        total = sum(whole[1:], whole[0])
        if op == "MEAN":
            rows = sum(part.shape[axis] for part in a.parts)
            if not rows:
                raise Undefined("a mean of nothing")
            total = total / rows
        integral = a.dtype.kind in "iu"
        made = np.asarray(total).astype(self._mean_of(a.dtype) if integral and op == "MEAN" else a.dtype)
        if not inexact(made.dtype) or (adds_exactly(a) and equal(made, np.asarray(total)) and op == "SUM"):
            return self._spread(made, 0.0, same=True)
        terms = sum(part.size for part in a.parts)
        return self._spread(made, terms * (a.slack + 3 * epsilon(made.dtype) * magnitude(a.parts)), same=True)

    def _gather(self, operand: Any, axis: int, verb: str) -> Value:
        a = self.value(operand)
        if self.bare(a) and self.count > 1:
            raise Raises("a plain value")
        return self._spread(self._gathered(a, axis), a.slack, same=True)

    def _local(self, operand: Any, index: int, verb: str) -> Value:
        a = self.value(operand)
        if index >= (1 if self.bare(a) or self.per_worker == 1 else self.per_worker):
            raise Raises("no such component")
        parts = tuple(a.parts[i - i % self.per_worker + index] for i in range(self.count))
        return Value(parts, a.slack, same=True)

    def _reduce_to(self, op: str, operand: Any, verb: str) -> Value:
        a = self.value(operand)
        return self._spread(*self._reduced(op, a), same=self.bare(a))

    def _batch_reduce_to(self, op: str, first: Any, second: Any, verb: str) -> list[Value]:
        return [self._reduce_to(op, one, verb) for one in (first, second)]


_METHODS = {
    **dict.fromkeys(BINARY, "_binary"),
    **dict.fromkeys(("assign", "assign_add", "assign_sub"), "_write"),
    **{f"{verb} outside": "_write_outside" for verb in ("assign", "assign_add", "assign_sub")},
}


def leaves(nest: Any) -> list[Any]:
    """The leaves of a nest, dicts in the order of their keys."""
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in leaves(nest[key])]
    if isinstance(nest, (list, tuple)):
        return [leaf for one in nest for leaf in leaves(one)]
    return [nest]

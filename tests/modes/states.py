"""What variables hold, and what reading and writing them means."""

from typing import Any

import numpy as np

from tests.modes.numbers import (
    Raises,
    Undefined,
    Value,
    bits,
    epsilon,
    inexact,
    magnitude,
    require_numbers,
    require_tame,
)
from tests.modes.program import Variable, array, is_name
from tests.modes.replicas import Replicas


class Variables(Replicas):
    """The variables of a program, beside what replicas compute."""

    def __init__(self, variables: tuple[Variable, ...], *others: Any) -> None:
        super().__init__(*others)
        self.variables = [self._created(one) for one in variables]

    def _created(self, made: Variable) -> "State":
        value = self.put(array(made.value, made.dtype))
        if value.dtype.kind == "O":
            self.leave("text is handed on only")
        if made.aggregation == "MEAN" and value.dtype.kind in "biu":
            raise Raises("a mean of integers")
        own = made.synchronization == "ON_READ" and self.kind in ("mirrored", "workers")
        return State(made, [value] * self.count, own)

    def state(self, name: str) -> "State":
        return self.variables[int(name[1:])]

    def _read(self, name: str, verb: str = "read") -> Value:
        state = self.state(name)
        return Value(tuple(state.copies), state.slack)

    def _read_outside(self, name: str, verb: str) -> Value:
        state = self.state(name)
        value = Value(tuple(state.copies), state.slack)
        if not state.own or self.count == 1:
            return self._spread(state.copies[0], state.slack, same=True)
        aggregation = state.made.aggregation
        if aggregation == "NONE":
            raise Raises("no aggregation")
        if aggregation == "ONLY_FIRST_REPLICA":
            return self._spread(state.copies[0], state.slack, same=True)
        require_numbers(value.dtype)
        return self._spread(*self._combined(aggregation, value), same=True)

    def _write(self, name: str, operand: Any, verb: str) -> Value:
        state, a = self.state(name), self.value(operand)
        if not isinstance(a, Value):
            if state.made.aggregation == "SUM" and self.count > 1 and not state.own:
                raise Raises("one number from all replicas")
            a = Value((self._fitting(a, state),) * self.count)
        if a.dtype != state.copies[0].dtype or any(part.shape != state.copies[0].shape for part in a.parts):
            if self.kind == "central" and self.count > 1 and state.made.aggregation == "NONE":
                raise Raises("no aggregation")
            raise Raises("another dtype or shape")
        if state.own or self.count == 1:
            state.store(
                [self._written(state, verb, i, a) for i in range(self.count)], self._write_slack(state, verb, a.slack)
            )
            return Value(tuple(state.copies), state.slack)
        one = self._aggregated(state, a, is_name(operand))
        self._write_all(state, verb, one)
        return Value(tuple(state.copies), state.slack)

    def _own_write(self, name: str, operand: Any, verb: str) -> Value:
        """A write that replicas with an odd number make, and the others do not."""
        state, a = self.state(name), self.value(operand)
        if not state.own or not isinstance(a, Value):
            raise Undefined("a write that needs all replicas")
        if a.dtype != state.copies[0].dtype or any(part.shape != state.copies[0].shape for part in a.parts):
            raise Undefined("replicas with different shapes, some of which raise")
        new = [self._written(state, "assign_add", i, a) if i % 2 else state.copies[i] for i in range(self.count)]
        state.store(new, self._write_slack(state, "assign_add", a.slack))
        parts = tuple(new[i] if i % 2 else a.parts[i] for i in range(self.count))
        return Value(parts, max(state.slack, a.slack))

    def _fitting(self, number: Any, state: "State") -> np.ndarray:
        """A Python number as an operand of a write."""
        dtype = state.copies[0].dtype
        given = np.asarray(number)
        rank = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}
        if dtype.kind == "O" or rank[given.dtype.kind] > rank[dtype.kind]:
            raise Raises("another kind of number")
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
            raise Raises("too large")
        if dtype.kind == "b" and given.dtype.kind != "b":
            raise Raises("another kind of number")
        return given.astype(dtype)

    def _aggregated(self, state: "State", a: Value, named: bool) -> Value:
        aggregation = state.made.aggregation
        if aggregation == "NONE":
            if self.kind == "central":
                raise Raises("no aggregation")
            if a.slack and any(bits(part) != bits(a.parts[0]) for part in a.parts):
                raise Undefined("whether inexact numbers are equal")
            if any(bits(part) != bits(a.parts[0]) for part in a.parts):
                raise Raises("different values")
        if aggregation in ("NONE", "ONLY_FIRST_REPLICA") or not named:
            return Value((a.parts[0],), a.slack)
        require_numbers(a.dtype)
        made, slack = self._combined(aggregation, a)
        return Value((made,), slack)

    def _write_all(self, state: "State", verb: str, one: Value) -> None:
        new = self._written(state, verb, 0, one)
        state.store([new] * self.count, self._write_slack(state, verb, one.slack))

    def _written(self, state: "State", verb: str, index: int, a: Value) -> np.ndarray:
        old, operand = state.copies[index], a.parts[index if len(a.parts) > 1 else 0]
        if verb == "assign":
            return operand
        if old.dtype.kind in "bO":
            raise Undefined("sums of truth values and of text")
        return np.asarray(old + operand if verb == "assign_add" else old - operand).astype(old.dtype)

    def _write_slack(self, state: "State", verb: str, slack: float) -> float:
        if verb == "assign" or not inexact(state.copies[0].dtype):
            return slack
        return slack + state.slack + 4 * epsilon(state.copies[0].dtype) * max(1.0, magnitude(state.copies))

    def _write_outside(self, name: str, operand: Any, verb: str) -> None:
        state, a = self.state(name), self.value(operand)
        action = verb.removesuffix(" outside")
        if not isinstance(a, Value):
            a = Value((self._fitting(a, state),) * self.count, same=True)
        shared = state.own and self.count > 1 and state.made.aggregation == "SUM"
        if shared and action != "assign":
            raise Raises("a sum")
        bare = self.bare(a)
        if a.dtype != state.copies[0].dtype or any(part.shape != state.copies[0].shape for part in a.parts):
            raise Raises("another dtype or shape")
        if shared:
            if a.dtype.kind in "bO":
                raise Raises("no number")
            a = Value(
                tuple(_share(part, self.count, first=number == 0) for number, part in enumerate(a.parts)),
                a.slack + (epsilon(a.dtype) * magnitude(a.parts) if inexact(a.dtype) else 0),
            )
        if state.own:
            state.store(
                [self._written(state, action, i, a) for i in range(self.count)],
                self._write_slack(state, action, a.slack),
            )
        else:
            if (not bare or self.kind == "workers") and any(bits(part) != bits(a.parts[0]) for part in a.parts):
                if self.kind == "workers":
                    raise Undefined("workers do not meet to write outside of replicas")
                raise Undefined("inexact") if a.slack else Raises("different values")
            self._write_all(state, action, Value((a.parts[0],), a.slack))

    def _update(self, name: str, write: str, operand: Any, verb: str) -> None:
        state = self.state(name)
        a = self.value(operand) if isinstance(operand, str) else operand
        parts = a.parts if len(a.parts) > 1 else a.parts * self.count
        if a.dtype != state.copies[0].dtype or any(part.shape != state.copies[0].shape for part in parts):
            raise Raises("another dtype or shape")
        mirrored = self.kind in ("mirrored", "workers")
        if not mirrored and self.count > 1 and not a.same and len(a.parts) > 1:
            raise Undefined("one copy, and a value for each replica")
        new = [self._written(state, write, i, Value(parts)) for i in range(self.count)]
        if mirrored and not state.own and any(bits(one) != bits(new[0]) for one in new):
            if self.kind == "workers":
                raise Undefined("workers do not meet to update")
            raise Undefined("inexact") if a.slack else Raises("different values")
        state.store(new if mirrored else [new[0]] * self.count, self._write_slack(state, write, a.slack))

    def _scatter_add(self, name: str, operand: Any, indices: list[int], verb: str) -> Value:
        state, a = self.state(name), self.value(operand)
        old = state.copies[0]
        if not state.own and self.count > 1 and self.kind == "central" and state.made.aggregation == "NONE":
            raise Raises("no aggregation")
        if any(
            not old.ndim or part.shape != (len(indices), *old.shape[1:]) or part.dtype != old.dtype for part in a.parts
        ):
            raise Raises("slices that do not fit")
        if any(not 0 <= index < len(old) for index in indices):
            raise Raises("no such slice")
        if old.dtype.kind in "bO":
            raise Undefined("sums of truth values and of text")
        slack = self._write_slack(state, verb, a.slack * self.count * max(len(indices), 1))
        if state.own or self.count == 1:
            news = []
            for copy, part in zip(state.copies, a.parts, strict=True):
                news.append(_scattered(copy, indices, [part]))
            state.store(news, slack)
            return Value(tuple(state.copies), state.slack)
        aggregation, given = state.made.aggregation, list(a.parts)
        if aggregation == "NONE" and any(bits(part) != bits(given[0]) for part in given):
            raise Undefined("inexact") if a.slack else Raises("different values")
        if aggregation in ("NONE", "ONLY_FIRST_REPLICA"):
            given = given[:1]
        if aggregation == "MEAN":
            given = [(part / self.count).astype(part.dtype) for part in given]
        state.store([_scattered(old, indices, given)] * self.count, slack * self.count)
        return Value(tuple(state.copies), state.slack)


class State:
    """A variable: one array for each replica, which are equal where it has no copies of their own."""

    def __init__(self, made: Variable, copies: list[np.ndarray], own: bool) -> None:
        self.made, self.copies, self.own, self.slack = made, copies, own, 0.0

    def store(self, copies: list[np.ndarray], slack: float) -> None:
        require_tame(Value(tuple(copies)))
        self.copies, self.slack = copies, slack


def _scattered(old: np.ndarray, indices: list[int], given: list[np.ndarray]) -> np.ndarray:
    new = old.copy()
    for part in given:
        np.add.at(new, np.asarray(indices, np.int32), part)
    return new


def _share(part: np.ndarray, count: int, *, first: bool) -> np.ndarray:
    if part.dtype.kind in "iu":
        share = (np.sign(part) * (abs(part) // part.dtype.type(count))).astype(part.dtype)
        return (part - share * part.dtype.type(count - 1)).astype(part.dtype) if first else share
    return (part / count).astype(part.dtype)

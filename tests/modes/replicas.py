"""What replicas compute, each by itself and together, in numpy alone: replicas are a list of arrays."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tests.modes.numbers import (
    Raises,
    Undefined,
    Value,
    adds_exactly,
    closest_to_zero,
    epsilon,
    equal,
    halves,
    inexact,
    magnitude,
    require_numbers,
    wide,
)
from tests.modes.program import array, is_name

BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_NARROW = {"int64": "int32", "float64": "float32", "complex128": "complex64"}
JUMPS = {"//", "%", "<", "<=", "==", "!="}


class Replicas:
    """The values that replicas have by name, and what they can make of them."""

    def __init__(self, kind: str, count: int, per_worker: int, departures: frozenset[str]) -> None:
        self.kind, self.count, self.per_worker, self.departures = kind, count, per_worker, departures
        self.names: dict[str, Value] = {}

    def put(self, given: np.ndarray) -> np.ndarray:
        """What a literal becomes."""
        if given.dtype.kind == "O" and "no text" in self.departures:
            raise Undefined("text")  # some of it is handed on, and what computes with it is refused
        with np.errstate(over="ignore"):
            made = given.astype(self.dtype(given.dtype))
        if made.dtype != given.dtype:
            same = np.isfinite(made) == np.isfinite(given) if given.dtype.kind in "fc" else made == given
            if not same.all():
                raise Raises("beyond 32 bits")
        return made

    def dtype(self, dtype: np.dtype) -> np.dtype:
        """The dtype that the mode makes of one."""
        return np.dtype(_NARROW.get(dtype.name, dtype)) if "32 bits" in self.departures else dtype

    def leave(self, departure: str) -> None:
        """Give up where a mode goes its own way."""
        if departure in self.departures:
            raise Undefined(departure)

    # What one replica computes.

    def value(self, operand: Any) -> Any:
        """What an operand of the replicas is; numbers stay numbers."""
        if not is_name(operand):
            return operand
        return self._read(operand) if operand[0] == "v" else self.names[operand]

    def _each(self, function: Callable[..., Any], *operands: Any) -> tuple[np.ndarray, ...]:
        parts = []
        for index in range(self.count):
            given = [one.parts[index] if isinstance(one, Value) else one for one in operands]
            try:
                made = function(*given)
                made = np.asarray(made, object if isinstance(made, bytes) else None)
            except Undefined:
                raise
            except Exception as error:
                raise Raises(str(error)) from error
            parts.append(made.astype(self.dtype(made.dtype)))
        return tuple(parts)

    def _binary(self, left: Any, right: Any, verb: str) -> Value:
        a, b = self.value(left), self.value(right)
        if isinstance(a, Value) and isinstance(b, Value) and a.dtype != b.dtype:
            raise Undefined("which dtype two dtypes make is the array library's own affair")
        tensor = a if isinstance(a, Value) else b
        kind = tensor.dtype.kind
        if kind == "O":
            raise Undefined("what text and an operator make is the array library's own affair")
        if kind == "b" and verb not in ("==", "!="):
            raise Undefined("what truth values and an operator make is the array library's own affair")
        if kind == "c" and verb in ("<", "<="):
            raise Undefined("complex numbers have no order")
        # A Python number takes the dtype of the tensor.
        a, b = (one if isinstance(one, Value) else self._constant_like(one, tensor) for one in (a, b))
        if verb in ("//", "%", "/") and any((part == 0).any() for part in b.parts):
            if kind in "iu" and verb != "/":
                self.leave("divides integers by zero")
                raise Raises("an integer divided by zero")
            if is_name(right):
                raise Undefined("the sign of a zero depends on the order of a sum")
        if verb in JUMPS and (a.slack or b.slack):
            raise Undefined(f"{verb} of numbers that are not exact")
        if kind in "iu" and verb == "/":
            quotient = self.dtype(quotient_of(tensor.dtype))
            a, b = (Value(tuple(part.astype(quotient) for part in one.parts)) for one in (a, b))
        parts = self._each(BINARY[verb], a, b)
        return Value(parts, self._slack(verb, a, b, parts) if verb not in JUMPS else 0.0)

    def _constant_like(self, number: Any, tensor: Value) -> Value:
        return Value((np.asarray(number, tensor.dtype),) * self.count)

    def _slack(self, verb: str, a: Value, b: Value, parts: Sequence[np.ndarray]) -> float:
        if not inexact(parts[0].dtype):
            return 0.0
        exact = self._each_wide(BINARY[verb], a, b)
        divided = verb == "/" and (
            parts[0].dtype.kind == "c" or not all(halves(one) for part in b.parts for one in wide(part).flat)
        )
        if not (a.slack or b.slack or divided) and all(map(equal, parts, exact)):
            return 0.0
        rounding, largest = 2 * epsilon(parts[0].dtype) * magnitude(parts), magnitude(a.parts)
        if verb == "*":
            return largest * b.slack + magnitude(b.parts) * a.slack + rounding
        if verb == "/":
            least = closest_to_zero(b.parts)
            if b.slack > least / 8 or (b.slack and not least):
                raise Undefined("a quotient by almost nothing")
            return (a.slack + b.slack * largest / least) / least * 1.2 + rounding if least else rounding
        return a.slack + b.slack + rounding

    def _each_wide(self, function: Callable[..., Any], *operands: Value) -> list[np.ndarray]:
        return [np.asarray(function(*[wide(one.parts[index]) for one in operands])) for index in range(self.count)]

    def _neg(self, operand: Any, verb: str) -> Value:
        a = self._number(operand)
        if a.dtype.kind == "b":
            raise Raises("no number")
        return Value(self._each(operator.neg, a), a.slack)

    def _abs(self, operand: Any, verb: str) -> Value:
        a = self._number(operand)
        if a.dtype.kind == "b":
            raise Undefined("what truth values and an operator make is the array library's own affair")
        parts = self._each(abs, a)
        return Value(parts, a.slack + (2 * epsilon(parts[0].dtype) * magnitude(parts) if a.dtype.kind == "c" else 0))

    def _square(self, operand: Any, verb: str) -> Value:
        self._number(operand)
        return self._binary(operand, operand, "*")

    def _number(self, operand: Any) -> Value:
        a = self.value(operand)
        if a.dtype.kind == "O":
            raise Undefined("what text and an operator make is the array library's own affair")
        return a

    def _identity(self, operand: Any, verb: str) -> Value:
        a = self.value(operand)
        return Value(a.parts, a.slack)

    def _constant(self, literal: Any, dtype: str, verb: str) -> Value:
        return Value((self.put(array(literal, dtype)),) * self.count)

    def _own_number(self, verb: str) -> Value:
        return Value(tuple(np.asarray(index, np.int32) for index in range(self.count)))

    def _cast(self, operand: Any, dtype: str, verb: str) -> Value:
        a, target = self.value(operand), np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
        if a.dtype.kind == "O" or target.kind == "O":
            raise Undefined("text and numbers")
        if a.dtype == self.dtype(target):
            return a
        if inexact(a.dtype) and target.kind in "biu":
            if a.slack or not all(np.isfinite(part).all() for part in a.parts):
                raise Undefined("an integer of what is not finite, or not exact")
            if target.kind in "iu" and any(
                part.size and (part.real.min() < np.iinfo(target).min or part.real.max() > np.iinfo(target).max)
                for part in (np.trunc(wide(one).real) for one in a.parts)
            ):
                raise Undefined("an integer of what is too large for it")
        parts = self._each(
            lambda x: (x.real if x.dtype.kind == "c" and target.kind not in "cb" else x).astype(target), a
        )
        slack = a.slack
        if inexact(parts[0].dtype) and not all(equal(x, wide(y)) for x, y in zip(parts, a.parts, strict=True)):
            slack += 2 * epsilon(parts[0].dtype) * magnitude(parts)
        return Value(parts, slack)

    def _sum(self, operand: Any, axis: Any, verb: str) -> Value:
        a = self._along(operand, axis)
        parts = self._each(lambda x: wide(x).sum(axis=axis).astype(x.dtype), a)
        size = max((part.size for part in a.parts), default=0)
        return self._about(parts, self._each_wide(lambda x: x.sum(axis=axis), a), a, size)

    def _mean(self, operand: Any, axis: Any, verb: str) -> Value:
        a = self._along(operand, axis)
        if any(0 in part.shape for part in a.parts):
            raise Undefined("a mean of nothing")
        if a.dtype.kind in "iu":
            # The sum has 64 bits, and wraps around as every sum of these does; the quotient is cut off towards zero.
            terms = [part.size if axis is None else part.shape[axis] for part in a.parts]
            sums = [np.asarray(part.sum(axis=axis, dtype=np.int64)) for part in a.parts]
            return Value(
                tuple(
                    np.array([_quotient(int(one), n) for one in total.ravel()], a.dtype).reshape(total.shape)
                    for total, n in zip(sums, terms, strict=True)
                )
            )
        parts = self._each(lambda x: wide(x).mean(axis=axis).astype(x.dtype), a)
        size = max((part.size for part in a.parts), default=0)
        exact = self._each_wide(lambda x: x.mean(axis=axis), a)
        return self._about(parts, exact, a, size, divided=True)

    def _along(self, operand: Any, axis: int | None) -> Value:
        a = self.value(operand)
        require_numbers(a.dtype)
        if axis is not None and any(not -part.ndim <= axis < part.ndim for part in a.parts):
            raise Raises("no such axis")
        return a

    def _about(
        self, parts: tuple[np.ndarray, ...], exact: Sequence[np.ndarray], a: Value, terms: int, divided: bool = False
    ) -> Value:
        """A sum of several terms, of which the order is free."""
        if not inexact(parts[0].dtype):
            return Value(parts)
        if not divided and adds_exactly(a) and all(map(equal, parts, exact)):
            return Value(parts)
        return Value(parts, terms * (a.slack + 2 * epsilon(parts[0].dtype) * magnitude(a.parts)))

    def _index(self, operand: Any, index: int, verb: str) -> Value:
        a = self.value(operand)
        if any(part.ndim and not -len(part) <= index < len(part) for part in a.parts):
            self.leave("clamps indices")
        return Value(self._each(lambda x: x[index], a), a.slack)

    def _own_index(self, operand: Any, verb: str) -> Value:
        a = self.value(operand)
        if any(not part.ndim or len(part) <= i % 2 for i, part in enumerate(a.parts)):
            if all(part.ndim for part in a.parts):
                self.leave("clamps indices")
            raise Raises("no such element")
        parts = tuple(np.asarray(part[i % 2], part.dtype) for i, part in enumerate(a.parts))
        return Value(parts, a.slack)

    def _own_step(self, operand: Any, factor: Any, verb: str) -> Value:
        odd, even = self._binary(operand, factor, "*"), self._binary(operand, operand, "+")
        if self.count > 1 and odd.dtype != even.dtype:
            raise Undefined("replicas with different dtypes")
        parts = tuple((odd if index % 2 else even).parts[index] for index in range(self.count))
        return Value(parts, max(odd.slack, even.slack))

    def _function(self, operand: Any, verb: str) -> Value:
        return self._binary(operand, operand, "+")

    def _concat(self, left: Any, right: Any, axis: int, verb: str) -> Value:
        return self._joined(lambda x, y: np.concatenate([x, y], axis=axis), left, right)

    def _stack(self, left: Any, right: Any, axis: int, verb: str) -> Value:
        return self._joined(lambda x, y: np.stack([x, y], axis=axis), left, right)

    def _joined(self, function: Callable[..., Any], left: Any, right: Any) -> Value:
        a, b = self.value(left), self.value(right)
        if a.dtype != b.dtype:
            raise Undefined("which dtype two dtypes make is the array library's own affair")
        return Value(self._each(function, a, b), max(a.slack, b.slack))

    def _matmul(self, operand: Any, literal: Any, dtype: str, verb: str) -> Value:
        a, b = self.value(operand), self._constant(literal, dtype, verb)
        parts = self._each(lambda x, y: (wide(x) @ wide(y)).astype(x.dtype), a, b)
        terms = max(b.shape[0], 1)
        rounding = 4 * epsilon(b.dtype) * magnitude(a.parts) if inexact(b.dtype) else 0.0
        return Value(parts, terms * magnitude(b.parts) * (a.slack + rounding))

    def _shape(self, operand: Any, verb: str) -> Value:
        return Value(tuple(np.array(part.shape, np.int32) for part in self.value(operand).parts))

    # What they make together.

    def bare(self, a: Value) -> bool:
        """Say whether a value is one object to code outside of the replicas."""
        if self.per_worker == 1:
            return self.count == 1  # what a worker with one replica has is a part of what all have
        return a.same

    def _combined(self, op: str, a: Value) -> tuple[np.ndarray, float]:
        """The sum or mean over all replicas, and how far from it a right answer may be."""
        first = a.parts[0]
        if self.count == 1:
            return first, a.slack
        if any(part.shape != first.shape for part in a.parts):
            raise Raises("different shapes")
        total = sum((wide(part) for part in a.parts[1:]), wide(first))
        if op == "MEAN" and first.dtype.kind in "iu":
            made = np.asarray(total / self.count, self._mean_of(first.dtype))
        else:
            total = total / self.count if op == "MEAN" else total
            made = np.asarray(total).astype(first.dtype)
        divided = op == "MEAN" and (made.dtype.kind == "c" or not halves(self.count))
        if not inexact(made.dtype) or (adds_exactly(a) and equal(made, np.asarray(total)) and not divided):
            return made, 0.0
        return made, self.count * (a.slack + 3 * epsilon(made.dtype) * magnitude(a.parts))

    def _mean_of(self, dtype: np.dtype) -> np.dtype:
        """The dtype of a mean of integers: TensorFlow's."""
        return self.dtype(quotient_of(dtype))

    def _reduced(self, op: str, a: Value) -> tuple[np.ndarray, float]:
        """What cross-replica code gets of `reduce` without an axis."""
        if self.bare(a):
            if self.count > 1 and op != "MEAN":
                raise Raises("a plain value")
            if any(not equal(part, a.parts[0]) for part in a.parts):
                raise Undefined("each worker keeps a plain value of its own, as TensorFlow does")
            return a.parts[0], a.slack
        require_numbers(a.dtype)
        return self._combined(op, a)

    def _gathered(self, a: Value, axis: int) -> np.ndarray:
        try:
            return np.concatenate(a.parts, axis=axis)
        except ValueError as error:
            raise Raises(str(error)) from error

    def _spread(self, made: np.ndarray, slack: float, *, same: bool) -> Value:
        return Value((made,) * self.count, slack, same)


def quotient_of(dtype: np.dtype) -> np.dtype:
    """The dtype of a quotient of integers, and of their mean over replicas: TensorFlow's."""
    return np.dtype("float32" if dtype.itemsize <= 2 else "float64")


def _quotient(total: int, count: int) -> int:
    return total // count if total >= 0 else -(-total // count)

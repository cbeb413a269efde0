"""Numbers of all replicas in one place, and by how much a right answer may differ from them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np


class Raises(Exception):
    """The program is to raise."""


class Undefined(Exception):
    """The program has no one answer."""


@dataclasses.dataclass(frozen=True)
class Value:
    """What the replicas have in one place."""

    parts: tuple[np.ndarray, ...]
    slack: float = 0.0  # how far from it a right answer may be
    same: bool = False  # whether it is one object for all replicas of a worker, which leaves run as it is

    @property
    def dtype(self) -> np.dtype:
        return self.parts[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts[0].shape


def require_numbers(dtype: np.dtype) -> None:
    if dtype.kind in "bO":
        raise Raises("no numbers")


def require_tame(value: Value) -> None:
    """Keep clear of the ends of the floating dtypes, where the order of operations decides between inf and a number."""
    if inexact(value.dtype):
        largest = magnitude(value.parts)
        if largest > (1e3 if value.dtype.itemsize == 2 else 1e30) and value.dtype.name != "float64":
            raise Undefined("beyond what is compared")
        if not np.isfinite(value.slack) or value.slack > 0.2 * max(largest, 1.0):
            raise Undefined("not exact enough")


def inexact(dtype: np.dtype) -> bool:
    return dtype.kind in "fVc"


def wide(part: np.ndarray) -> np.ndarray:
    if part.dtype.kind in "fV":
        return part.astype(np.float64 if part.dtype.itemsize < 8 else np.longdouble)
    return (
        part.astype(np.complex128 if part.dtype.itemsize < 16 else np.clongdouble) if part.dtype.kind == "c" else part
    )


def epsilon(dtype: np.dtype) -> float:
    return float(ml_dtypes.finfo(np.dtype(_REAL.get(dtype.name, dtype))).eps)


_REAL = {"complex64": "float32", "complex128": "float64"}


def magnitude(parts: Sequence[np.ndarray]) -> float:
    # The least integer of a dtype has no absolute value in it.
    real = [wide(part) if inexact(part.dtype) else part.astype(np.float64) for part in parts]
    found = [abs(part[np.isfinite(part)]).max(initial=0) for part in real]
    return float(max(found, default=0))


def closest_to_zero(parts: Sequence[np.ndarray]) -> float:
    return float(min((abs(wide(part)).astype(float).min(initial=np.inf) for part in parts), default=np.inf))


def equal(part: np.ndarray, exact: np.ndarray) -> bool:
    if part.dtype.kind == "O":
        return part.tolist() == exact.tolist()
    return bool(np.array_equal(wide(part), exact, equal_nan=True))


def adds_exactly(value: Value) -> bool:
    """Say whether sums of these numbers are exact in every order: multiples of an eighth, and not too many of them."""
    if value.slack:
        return False
    if not inexact(value.dtype):
        return True
    finite = [np.where(np.isfinite(part), part, 0) for part in map(wide, value.parts)]
    if value.dtype.kind == "c":
        finite = [one for part in finite for one in (part.real, part.imag)]
    whole = all(np.array_equal(part * 8, np.rint(part * 8)) for part in finite)
    return whole and sum(abs(part).sum() for part in finite) < 0.1 / epsilon(value.dtype)


def halves(count: float) -> bool:
    """Say whether dividing by a number is exact; compilers multiply by the reciprocal of others."""
    return np.frexp(abs(count))[0] == 0.5


def bits(part: np.ndarray) -> Any:
    return part.tolist() if part.dtype.kind == "O" else part.tobytes()

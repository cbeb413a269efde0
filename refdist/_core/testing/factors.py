"""By what factor two values differ, and whether rounding alone explains it."""

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from refdist._core.testing.facts import Array, Fact

_PRECISION = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 2e-2,
    "bfloat16": 6e-2,
}
_POWERS = {"N": 1, "1/N": -1, "N squared": 2, "1/N squared": -2}
_FLOATS = "fcV"  # the last: bfloat16 and the like


def precision(dtype: Any) -> float:
    """How closely values of a dtype have to agree, relative to the largest element: sums in another order do.

    >>> precision(np.dtype("float32")), precision(np.dtype("int64"))
    (0.0001, 0.0)
    """
    return _PRECISION.get(dtype.name, 6e-2) if dtype.kind in _FLOATS else 0.0


class Limits:
    """How closely facts must agree; the coarsest dtype of the program decides for numbers that were made Python's own."""

    def __init__(self, rtol: float | None, facts: Mapping[Hashable, Fact]) -> None:
        self._rtol = rtol
        floats = [precision(fact.value.dtype) for fact in facts.values() if fact.kind != "return"]
        self._coarsest = max(floats, default=precision(np.dtype(np.float32))) or precision(np.dtype(np.float32))
        self._largest: dict[Any, float] = {}  # change of a variable, by the line that wrote it
        for fact in facts.values():
            if fact.before is not None and precision(fact.value.dtype) and fact.value.size:
                size = float(np.nan_to_num(np.abs(fact.change)).max())
                self._largest[fact.site] = max(size, self._largest.get(fact.site, 0.0))

    def __call__(self, fact: Fact) -> float:
        own = precision(fact.value.dtype)
        if self._rtol is not None:
            return self._rtol if own or fact.kind == "return" else 0.0
        return max(own, self._coarsest) if own and fact.value.dtype.itemsize >= 8 else own

    def noise(self, fact: Fact) -> float:
        """What rounding makes of a gradient that is zero, such as that of a bias before a normalization.

        One line, that of an optimizer, writes all variables; their gradients have one loss, and are rounded as that is.
        """
        return 0.0 if fact.before is None else self._largest.get(fact.site, 0.0) * self(fact) / 100


def agree(one: Fact, other: Fact, rtol: float, noise: float = 0.0) -> bool:
    """Say whether the same fact of two runs is the same, up to rounding.

    What a write adds is compared, and not what it leaves: a small step in a wrong direction would drown in a large value.

    Args:
        noise: what rounding leaves of something that is nothing.
    """
    if one.parts or other.parts:
        return _parts_agree(one, other, rtol)
    if one.value.dtype.kind in "OUSb" or other.value.dtype.kind in "OUSb":
        return one.value.shape == other.value.shape and bool(np.all(one.value == other.value))
    if one.value.shape != other.value.shape:
        return False
    first, second = _wide(one.change), _wide(other.change)
    bound = noise + rtol * max(
        _size(first), _size(second), *(_size(np.abs(_wide(x)).sum(0)) for x in _stacked(one, other)), 0.0
    )
    if one.before is not None and other.before is not None and one.before.shape == other.before.shape:
        rounding = float(np.finfo(np.float32).eps) * rtol / 1e-4  # of the dtype, or of what the caller asks for
        bound += 8 * rounding * max(_size(_wide(one.value)), _size(_wide(one.before)))
        bound += 4 * _size(_wide(one.before) - _wide(other.before))  # which was small enough before
    return bool(np.all(_near(first, second, bound)))


def _near(first: Array, second: Array, bound: float) -> Array:
    with np.errstate(invalid="ignore"):
        return (np.abs(first - second) <= bound) | (first == second) | (np.isnan(first) & np.isnan(second))


def _stacked(*facts: Fact) -> list[Array]:
    brought = [
        fact.brought for fact in facts if fact.kind == "meeting" and len({one.shape for one in fact.brought}) == 1
    ]
    return [np.stack([_wide(one) for one in all]) for all in brought]


def _parts_agree(one: Fact, other: Fact, rtol: float) -> bool:
    """Compare what was not combined: as it is, or as the parts of one batch, or of one sum or mean."""
    first, second = ([_wide(part) for part in fact.parts or (fact.value,)] for fact in (one, other))
    if first[0].dtype.kind == "O":
        return [part.tolist() for part in first] == [part.tolist() for part in second]
    ways: list[Callable[[list[Array]], Array]] = [np.stack]
    if all(part.ndim for part in (*first, *second)):
        ways.append(np.concatenate)
    else:
        ways += [lambda parts: np.sum(parts, 0), lambda parts: np.mean(parts, 0)]
    for way in ways:
        try:
            whole, parts = way(first), way(second)
        except ValueError:  # shapes that do not fit together
            continue
        bound = rtol * max(_size(whole), _size(parts))
        if whole.shape == parts.shape and np.all(_near(whole, parts, bound)):
            return True
    return len(second) > len(first) == 1 and all(
        part.shape == first[0].shape and np.all(_near(part, first[0], rtol * _size(first[0]))) for part in second
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Factor:
    """How the value of one run relates to that of another."""

    name: str  # N, 1/N, N squared, 1/N squared, constant, or other
    number: float | None  # None where there is not one for all elements
    everywhere: bool = True  # False: some elements are equal, and the others differ by this factor

    def __str__(self) -> str:
        if self.number is None:
            return "no single factor"
        exact = f", exactly {self.name}" if self.name != "constant" else ""
        return f"factor {self.number:.6g}{exact}{'' if self.everywhere else ', for some elements'}"


def factor_of(one: Fact, other: Fact, replicas: float, rtol: float) -> Factor:
    """The factor from one run to another, which has so many times as many replicas."""
    first, second = _wide(one.change), _wide(other.change)
    if first.shape != second.shape or first.dtype.kind == "O" or not np.all(np.isfinite([first, second])):
        return Factor("other", None)
    size = max(_size(first), _size(second))
    large = np.abs(first) > 1e-3 * _size(first)
    if not large.any() or np.any(np.abs(second[~large]) > 0.01 * size):
        return Factor("other", None)
    ratios = (second[large] / first[large]).real
    within = max(10 * rtol, 1e-9)
    for some, chosen in ((False, ratios), (True, ratios[np.abs(ratios - 1) > within])):
        if chosen.size and np.ptp(chosen) <= within * np.max(np.abs(chosen)):
            number = float(np.median(chosen))
            candidates = {name: replicas**power for name, power in _POWERS.items() if replicas != 1}
            for name, candidate in candidates.items():
                if abs(number - candidate) <= within * candidate:
                    return Factor(name, number, not some)
            if not some:
                return Factor("constant", number)
    return Factor("other", None)


def counted_each_time(facts: Sequence[tuple[int, Fact]], rtol: float) -> bool:
    """Say whether values differ by something that each further replica adds: (N - 1) times the same."""
    (base, first), *others = facts
    if len(others) < 2 or len({fact.change.shape for _, fact in facts}) > 1:
        return False
    slopes = [(_wide(fact.change) - _wide(first.change)) / (count - base) for count, fact in others]
    size = max(map(_size, slopes))
    rounding = rtol * max(_size(_wide(fact.change)) for _, fact in facts)
    return size > 0 and all(_size(slope - slopes[0]) <= 10 * rtol * size + rounding for slope in slopes[1:])


def _wide(value: Array) -> Array:
    if value.dtype.kind in "OUS":
        return value.astype(object)
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)


def _size(value: Array) -> float:
    finite = np.abs(value)[np.isfinite(value)] if value.size else value
    return float(np.max(finite)) if finite.size else 0.0

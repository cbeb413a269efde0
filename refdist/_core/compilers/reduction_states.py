"""What is known about a value of a program before it runs: the lattice of `tf.testing.lint`, and its transfer functions.

A program is looked at twice, written for batches of n rows and of 2n rows: a size or a number that doubles is one of the batch.

| fact | what it says | how it is lost |
|---|---|---|
| varying | may differ between replicas | psum, pmax, pmin, all_gather |
| origins | which variables, arguments and reductions it was made from | never |
| numbers | it is this constant, for n and for 2n rows | any step that is not in `FOLDED` |
| partial | made from all rows of the replica: a sum over its examples | rows appear again; psum |
| degree | how it grows with n: a sum over rows 1, a mean 0; None: unknown | terms of different degrees; bent functions |
| division | divided by the number of rows ("size"), or by what the rows weigh ("data") | a term that was not divided |
| shared | divided by the number of replicas, or a multiple of it | a term that was not |
| terms | lines that add what is equal on all replicas to a partial value | a product of varying values; division by the replicas |
| sources | the sums over rows that a partial value is made from | rows appear again; psum |
| bent | not linear in its own sources: clipped, or scaled by a function of itself | rows appear again; comparisons |
| counted | multiplied by the number of replicas: the transpose of a sum over them | division by that number |
| pending | findings that hold if the value matters, and is not divided by the number of replicas | that division |
| gathered, only | values of all replicas side by side; that of one alone | any step but a selection, or a change of shape |
"""

import dataclasses
import math
from collections.abc import Sequence

from refdist._core.base.call_sites import Place
from refdist._core.base.lint_finding import Finding

Origin = tuple[str, object]
"""A kind ("variable", "on read", "argument", "reduced", "replica", "random"), and its name or place."""


@dataclasses.dataclass(frozen=True, slots=True)
class Division:
    """A division by how much data there is on the replica."""

    by: str  # "size" or "data"
    place: Place | None


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """What is known about one value."""

    varying: bool = False
    origins: frozenset[Origin] = frozenset()
    numbers: tuple[float, float] | None = None
    partial: bool = False
    degree: int | None = 0
    division: Division | None = None
    shared: bool = False
    terms: frozenset[Place | None] = frozenset()
    sources: frozenset[object] = frozenset()
    bent: tuple[str, Place | None] | None = None
    counted: tuple[Place | None] | None = None
    pending: frozenset[Finding] = frozenset()
    gathered: object = None
    only: tuple[object, int] | None = None

    @property
    def neutral(self) -> bool:
        """Whether it says nothing about how a sum with it grows: constants, and what is equal everywhere."""
        return not self.varying


def joined(states: Sequence[State]) -> State:
    """What is known of a value that may be any of several: of branches, or turns of a loop."""
    first = states[0]
    return State(
        varying=any(one.varying for one in states),
        origins=frozenset().union(*(one.origins for one in states)),
        numbers=first.numbers if all(one.numbers == first.numbers for one in states) else None,
        partial=any(one.partial for one in states),
        degree=first.degree if all(one.degree == first.degree for one in states) else None,
        division=first.division if all(one.division == first.division for one in states) else None,
        shared=any(one.shared for one in states),
        terms=frozenset().union(*(one.terms for one in states)),
        sources=frozenset().union(*(one.sources for one in states)),
        bent=next((one.bent for one in states if one.bent), None),
        counted=next((one.counted for one in states if one.counted), None),
        pending=frozenset().union(*(one.pending for one in states)),
    )


def mixed(states: Sequence[State]) -> State:
    """What any step passes on: where its result comes from, and what is wrong with it."""
    return State(
        varying=any(one.varying for one in states),
        origins=frozenset().union(*(one.origins for one in states)),
        degree=0 if all(one.degree == 0 for one in states) else None,
        pending=frozenset().union(*(one.pending for one in states)),
    )


def added(left: State, right: State, rows: bool, place: Place | None) -> State:
    """A sum or a difference."""
    for one, other in ((left, right), (right, left)):
        if one.numbers is not None and not any(one.numbers):
            return other
    a, b = (right, left) if left.neutral and not right.neutral else (left, right)  # b is neutral if one of them is
    alone = a.partial and not rows and b.neutral and not b.shared and bool(b.origins) and b.counted is None
    agree = b.neutral or (a.degree == b.degree and (a.division is None) == (b.division is None))
    return dataclasses.replace(
        mixed([a, b]),
        partial=(a.partial or b.partial) and not rows,
        degree=a.degree if b.neutral or a.degree == b.degree else None,
        division=a.division if agree else None,
        shared=a.shared and (b.shared or b.neutral),
        terms=a.terms | b.terms | ({place} if alone else frozenset()),
        sources=frozenset() if rows else a.sources | b.sources,
        bent=None if rows else a.bent or b.bent,
        counted=a.counted or b.counted,
    )


def multiplied(left: State, right: State, rows: bool, place: Place | None) -> State:
    """A product of two values that are not constants."""
    degree = None if left.degree is None or right.degree is None else left.degree + right.degree
    both = left.varying and right.varying
    # Statistics of a layer, which are functions of other sums over rows, may scale a gradient; a norm of it may not.
    bends = both and bool(left.sources & right.sources)
    bent = ("a product", place) if bends else left.bent and right.bent if both else left.bent or right.bent
    return dataclasses.replace(
        mixed([left, right]),
        partial=(left.partial or right.partial) and not rows,
        degree=degree,
        division=left.division or right.division,
        shared=left.shared or right.shared,
        terms=frozenset() if both else left.terms | right.terms,
        sources=frozenset() if rows else left.sources | right.sources,
        bent=None if rows else bent,
        counted=left.counted or right.counted,
    )


def divided(left: State, right: State, rows: bool, right_rows: bool, place: Place | None) -> State:
    """A quotient of two values that are not constants."""
    made = multiplied(
        left, dataclasses.replace(right, degree=0, division=None, shared=False, counted=None), rows, place
    )
    degree = None if left.degree is None or right.degree is None else left.degree - right.degree
    made = dataclasses.replace(made, degree=degree, division=left.division, shared=left.shared)
    if right.varying and right.partial and not right_rows and right.degree == 1:
        return dataclasses.replace(made, division=Division("data", place), bent=None)
    return made


def growth(numbers: tuple[float, float]) -> int | None:
    """The degree of a constant."""
    first, second = numbers
    if first == second:
        return 0
    if not first or not math.isfinite(first) or not math.isfinite(second):
        return None
    return {2.0: 1, 0.5: -1}.get(round(second / first, 5))


def is_count(number: float, count: int) -> bool:
    """Whether a divisor is the number of replicas."""
    return math.isclose(number, count, rel_tol=1e-5)


def shares_out(factor: float, count: int) -> bool:
    """Whether a factor looks like one over the number of replicas, or like a round number divided by that."""
    if factor <= 0 or not math.isfinite(factor):
        return False
    return math.isclose(factor * count, 1, rel_tol=1e-5) or _digits(factor * count) < _digits(factor)


def _digits(number: float) -> int:
    return len(f"{number:.6e}".split("e")[0].rstrip("0").replace(".", ""))

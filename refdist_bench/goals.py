"""The figures that goals are about, each made of pairs of rounds that ran one after the other."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from refdist_bench.benchmark_case import Goal, Who
from refdist_bench.saved_run import Measured, Result


def paired_ratio(ours: Measured, theirs: Measured) -> float:
    """Return how many times as long ours takes: the median over rounds, whose calls met the same machine."""
    return statistics.median(one / other for one, other in zip(ours.rounds, theirs.rounds, strict=False))


def ratio_to(result: Result, who: Who) -> float | None:
    """Return how many times as long refdist takes as somebody's first side."""
    ours, theirs = result.first_of(Who.REFDIST), result.first_of(who)
    return None if ours is None or theirs is None else paired_ratio(ours, theirs)


def over_raw(result: Result) -> float | None:
    """Return how many seconds longer refdist takes than the first raw side."""
    ours, theirs = result.first_of(Who.REFDIST), result.first_of(Who.RAW)
    if ours is None or theirs is None:
        return None
    pairs = zip(ours.rounds, theirs.rounds, strict=False)
    return statistics.median(one - other for one, other in pairs) / result.amount


def share_of_limit(result: Result) -> float | None:
    """Return which part of what is possible refdist reaches."""
    ratio = ratio_to(result, Who.LIMIT)
    return None if ratio is None else 1 / ratio


def own_figure(result: Result) -> float | None:
    """Return the seconds, or bytes, of refdist itself."""
    ours = result.first_of(Who.REFDIST)
    return None if ours is None else ours.median / result.amount


@dataclass(frozen=True, slots=True)
class Kind:
    """How the figure of a goal is found, said, and compared."""

    figure: Callable[[Result], float | None]
    words: str
    """With the bound, and then the figure, in place of {}."""
    most: bool = True
    scale: float = 1.0


KINDS = {
    "raw": Kind(lambda result: ratio_to(result, Who.RAW), "{:.4g}x raw"),
    "limit": Kind(lambda result: ratio_to(result, Who.LIMIT), "{:.3g}x limit"),
    "tensorflow": Kind(lambda result: ratio_to(result, Who.TENSORFLOW), "{:.3g}x TF"),
    "over": Kind(over_raw, "{:.3g} us more", scale=1e6),
    "over_seconds": Kind(over_raw, "{:.2g} s more"),
    "own": Kind(own_figure, "{:.3g} s"),
    "share": Kind(share_of_limit, "{:.0f} % limit", most=False, scale=100),
}


def figure(result: Result) -> float | None:
    """Return the figure that the goal of a result is about; None where there is none, or no goal."""
    return None if result.goal is None else KINDS[result.goal.kind].figure(result)


def is_met(result: Result) -> bool | None:
    """Say whether the goal is reached; None where nothing can be said."""
    found = figure(result)
    if result.goal is None or found is None:
        return None
    return found <= result.goal.bound if KINDS[result.goal.kind].most else found >= result.goal.bound


def goal_words(goal: Goal) -> str:
    """Say what a goal asks for.

    >>> goal_words(Goal("limit", 6)), goal_words(Goal("over", 10e-6)), goal_words(Goal("share", 0.85))
    ('<=6x limit', '<=10 us more', '>=85 % limit')
    """
    kind = KINDS[goal.kind]
    return ("<=" if kind.most else ">=") + kind.words.format(goal.bound * kind.scale)


def found_words(result: Result) -> str:
    """Say what was found where the goal asks; empty where nothing was."""
    found = figure(result)
    kind = KINDS[result.goal.kind] if result.goal else None
    return "" if found is None or kind is None else kind.words.format(found * kind.scale)

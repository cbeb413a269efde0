"""A run beside an earlier one: which cases became slower."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from refdist_bench.bench_table import shown
from refdist_bench.benchmark_case import Unit, Who
from refdist_bench.goals import own_figure, ratio_to
from refdist_bench.own_step import OWN_STEP
from refdist_bench.saved_run import Result, Run

PEERS = (Who.RAW, Who.LIMIT, Who.TENSORFLOW)


@dataclass(frozen=True, slots=True)
class Change:
    """How a case was, and how it is."""

    name: str
    measure: str
    """What is compared: the ratio to somebody, or the time."""
    before: str
    now: str
    factor: float
    """Above 1 where it became slower."""


def changes(before: Run, now: Run) -> list[Change]:
    """Compare the cases that both runs have, those first that became slower most.

    Ratios to a peer are compared where both runs have one, because they hold on another machine, and on a busy one.
    """
    earlier = {result.name: result for result in _cases(before)}
    found = [_change(earlier[one.name], one) for one in _cases(now) if one.name in earlier]
    return sorted((one for one in found if one is not None), key=lambda one: -one.factor)


def _cases(run: Run) -> Iterator[Result]:
    """The results of a run; a user's own step is one for each number of replicas, which are its sides."""
    for result in run.results:
        if result.group == OWN_STEP:
            yield from (replace(result, name=f"{side.name} x {result.name}", sides=(side,)) for side in result.sides)
        else:
            yield result


def _change(before: Result, now: Result) -> Change | None:
    for who in PEERS:
        first, second = ratio_to(before, who), ratio_to(now, who)
        if first and second:
            return Change(now.name, f"ratio to {who}", f"{first:.2f}x", f"{second:.2f}x", second / first)
    first, second = own_figure(before), own_figure(now)
    if not first or not second:
        return None
    unit = Unit.BYTES if now.unit is Unit.BYTES else Unit.TIME
    return Change(now.name, unit.value, shown(first, unit, 1), shown(second, unit, 1), second / first)


def lines(found: list[Change], bound: float | None) -> list[str]:
    """Say what became slower by more than a factor; all changes where no factor is given."""
    slower = [one for one in found if bound is None or one.factor > bound]
    if not found:
        return ["No case is in both runs, so nothing was compared."]
    if not slower:
        return [f"Compared {len(found)} cases: none became slower by more than {bound:g}x."]
    head = f"{'benchmark':<40}{'compared':<22}{'before':>10}{'now':>10}{'factor':>9}"
    rows = [f"{one.name[:39]:<40}{one.measure:<22}{one.before:>10}{one.now:>10}{one.factor:>8.2f}x" for one in slower]
    said = "" if bound is None else f" {len(slower)} became slower by more than {bound:g}x:"
    return [f"Compared {len(found)} cases.{said}", head, *rows]

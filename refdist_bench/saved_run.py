"""What was measured, as data: a run has results, a result has sides, a side has the seconds of its rounds."""

import dataclasses
import json
import pathlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refdist_bench.benchmark_case import Case, Goal, Unit, Who

FORMAT = 1
KEPT_ROUNDS = 500
"""How many rounds of a side are saved at most, evenly taken; a run has no more, so that its ratios stay what they were."""


class UnreadableRun(Exception):
    """A file is no saved run."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found out about a side."""

    who: Who
    name: str
    first_seconds: float | None
    """The first call, which traces and compiles; None where each call starts from nothing."""
    rounds: tuple[float, ...]
    """The seconds of a call, in each round; rounds of one number ran one after the other."""

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def least(self) -> float:
        return min(self.rounds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Where the middle half of the rounds lies."""
        if len(self.rounds) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return low, high


@dataclass(frozen=True, slots=True)
class Result:
    """What was found out about a case."""

    name: str
    series: str
    group: str
    replicas: int
    backend: str
    unit: Unit
    amount: float
    goal: Goal | None
    headline: bool
    sides: tuple[Measured, ...] = ()
    problem: str | None = None
    """Why there are no figures, or why they are not to be trusted."""

    @classmethod
    def of(cls, case: Case, sides: Sequence[Measured] = (), *, problem: str | None = None) -> "Result":
        """Return what was found out about a case."""
        kept: dict[str, Any] = {
            one.name: getattr(case, one.name) for one in dataclasses.fields(cls) if hasattr(case, one.name)
        }
        kept |= {"sides": tuple(sides), "problem": problem}
        return cls(**kept)

    def of_whom(self, who: Who) -> tuple[Measured, ...]:
        return tuple(side for side in self.sides if side.who is who)

    def first_of(self, who: Who) -> Measured | None:
        """Return the side that the table shows: the first one of somebody's."""
        return next(iter(self.of_whom(who)), None)


@dataclass(frozen=True, slots=True)
class Run:
    """All results of a run, and where it ran."""

    surroundings: Mapping[str, str]
    results: tuple[Result, ...]
    seconds: float

    def save(self, path: str | pathlib.Path) -> None:
        """Write the run as JSON."""
        pathlib.Path(path).write_text(json.dumps(to_json(self), indent=1) + "\n", encoding="utf-8")


def load(path: str) -> Run:
    """Read a saved run."""
    try:
        return from_json(json.loads(pathlib.Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableRun(
            f"{path} was given as a saved run, and cannot be read ({type(error).__name__}: {error}); expected what "
            f"`refdist bench --json FILE` writes. Make one with this version."
        ) from error


def to_json(run: Run) -> dict[str, Any]:
    """Return a run as plain values."""
    plain: dict[str, Any] = {"format": FORMAT, **dataclasses.asdict(run)}
    for result in plain["results"]:
        for side in result["sides"]:
            side["rounds"] = _thinned(side["rounds"])
    return plain


def from_json(plain: Mapping[str, Any]) -> Run:
    """Return the run that plain values say."""
    if plain["format"] != FORMAT:
        raise ValueError(f"its format is {plain['format']!r} instead of {FORMAT}")
    return Run(dict(plain["surroundings"]), tuple(map(_result, plain["results"])), float(plain["seconds"]))


def _result(plain: Mapping[str, Any]) -> Result:
    sides = tuple(
        Measured(Who(side["who"]), side["name"], side["first_seconds"], tuple(map(float, side["rounds"])))
        for side in plain["sides"]
    )
    if any(not side.rounds for side in sides):
        raise ValueError(f"a side of {plain['name']!r} has no rounds")
    goal = plain["goal"] and Goal(**plain["goal"])
    kept: dict[str, Any] = {**plain, "unit": Unit(plain["unit"]), "goal": goal, "sides": sides}
    return Result(**kept)


def _thinned(rounds: Sequence[float]) -> list[float]:
    step = -(-len(rounds) // KEPT_ROUNDS)
    return [float(f"{one:.5g}") for one in rounds[::step]]

"""What the page draws, as plain geometry: bars with their spread, costs over replicas, and lines over runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from refdist_bench.bench_table import shown
from refdist_bench.benchmark_case import Unit, Who
from refdist_bench.goals import own_figure, ratio_to
from refdist_bench.saved_run import Result, Run

WIDTH, HEIGHT, MARGIN = 320.0, 170.0, 34.0
CLASSES = {Who.REFDIST: "ours", Who.RAW: "raw", Who.TENSORFLOW: "tensorflow", Who.LIMIT: "limit"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One side of a case; places are percents of the longest."""

    name: str
    style: str
    length: float
    low: float
    high: float
    words: str
    first: str


def bars(result: Result) -> list[Bar]:
    """Return a bar for each side, on one scale: the third quartile of the slowest is its end."""
    longest = max((one.quartiles[1] for one in result.sides), default=1.0) or 1.0
    found: list[Bar] = []
    for one in result.sides:
        low, high = one.quartiles
        first = "" if one.first_seconds is None else shown(one.first_seconds, Unit.TIME, 1)
        length, start, end = (round(100 * value / longest, 2) for value in (one.median, low, high))
        words = shown(one.median, result.unit, result.amount)
        found.append(Bar(one.name, CLASSES[one.who], length, start, end, words, first))
    return found


def fitted_exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the exponent of the power law nearest to points, by least squares of their logarithms.

    >>> round(fitted_exponent([(1, 3.0), (10, 30.0), (100, 300.0)]), 6)
    1.0
    """
    xs, ys = ([math.log(point[axis]) for point in points] for axis in (0, 1))
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a picture."""

    name: str
    style: str
    points: tuple[tuple[float, float], ...]
    note: str = ""

    @property
    def path(self) -> str:
        return " ".join(f"{x},{y}" for x, y in self.points)


@dataclass(frozen=True, slots=True)
class Picture:
    """Lines, and what is written at the axes: a place and a text each."""

    title: str
    lines: tuple[Line, ...]
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]


def costs_over_replicas(results: Sequence[Result]) -> list[Picture]:
    """Return a picture for each series with three numbers of replicas or more: the time of a whole step, on log axes."""
    series: dict[str, list[Result]] = {}
    for result in results:
        if result.sides and result.unit is Unit.TIME:
            series.setdefault(result.series, []).append(result)
    found: list[Picture] = []
    for name, members in series.items():
        if len({one.replicas for one in members}) >= 3:
            found.append(_over_replicas(name, members))
    return found


def _over_replicas(name: str, members: Sequence[Result]) -> Picture:
    sides: dict[tuple[str, str], dict[float, float]] = {}
    for result in members:
        for who in Who:
            side = result.first_of(who)
            if side is not None:
                sides.setdefault((who.value, CLASSES[who]), {})[result.replicas] = side.median
    every = [point for points in sides.values() for point in points.items()]
    scale = _Scale([x for x, _ in every], [y for _, y in every], logarithmic=True)
    lines = tuple(
        Line(who, style, scale.places(sorted(points.items())), _exponent_words(points))
        for (who, style), points in sides.items()
    )
    counts = sorted({one.replicas for one in members})
    across = tuple((scale.x(count), f"{count:,}") for count in counts)
    return Picture(name, lines, across, scale.ends(lambda value: shown(value, Unit.TIME, 1)))


def _exponent_words(points: Mapping[float, float]) -> str:
    return f"n^{fitted_exponent(sorted(points.items())):z.2f}" if len(points) >= 3 else ""


def trends(runs: Sequence[Run]) -> list[Picture]:
    """Return a picture for each case that two runs or more have, oldest first: its ratio, or else its time."""
    ordered = sorted(runs, key=lambda run: run.surroundings.get("date", ""))
    found: list[Picture] = []
    for name in dict.fromkeys(result.name for run in reversed(ordered) for result in run.results):
        points: list[tuple[float, float]] = []
        kinds: set[str] = set()
        for index, run in enumerate(ordered):
            for result in run.results:
                if result.name == name and (figure := _trend_figure(result)):
                    kinds.add(figure[0])
                    points.append((index, figure[1]))
        if len(points) >= 2 and len(kinds) == 1:
            found.append(_trend(name, kinds.pop(), points, ordered))
    return found


def _trend_figure(result: Result) -> tuple[str, float] | None:
    for who in (Who.RAW, Who.LIMIT):
        ratio = ratio_to(result, who)
        if ratio:
            return f"ratio to {who}", ratio
    own = own_figure(result)
    return None if own is None else ("bytes" if result.unit is Unit.BYTES else "time", own)


def _trend(name: str, kind: str, points: Sequence[tuple[float, float]], runs: Sequence[Run]) -> Picture:
    scale = _Scale([x for x, _ in points], [0.0, *(y for _, y in points)], logarithmic=False)
    unit = Unit.BYTES if kind == "bytes" else Unit.TIME
    words = (lambda value: f"{value:.2f}x") if kind.startswith("ratio") else (lambda value: shown(value, unit, 1))
    ends = [int(points[0][0]), int(points[-1][0])]
    across = tuple((scale.x(index), runs[index].surroundings.get("date", "")[:10]) for index in ends)
    return Picture(f"{name}: {kind}", (Line(kind, "ours", scale.places(points)),), across, scale.ends(words))


class _Scale:
    """From figures to places in a picture."""

    def __init__(self, xs: Sequence[float], ys: Sequence[float], *, logarithmic: bool) -> None:
        self._turn = math.log if logarithmic else float
        self._left, self._right = self._turn(min(xs)), self._turn(max(xs))
        self._bottom, self._top = self._turn(min(ys)), self._turn(max(ys))
        self._least, self._most = min(ys), max(ys)

    def x(self, value: float) -> float:
        part = (self._turn(value) - self._left) / ((self._right - self._left) or 1)
        return round(MARGIN + 22 + part * (WIDTH - 2 * MARGIN - 22), 1)

    def y(self, value: float) -> float:
        part = (self._turn(value) - self._bottom) / ((self._top - self._bottom) or 1)
        return round(HEIGHT - MARGIN - part * (HEIGHT - 2 * MARGIN), 1)

    def places(self, points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
        return tuple((self.x(x), self.y(y)) for x, y in points)

    def ends(self, words: Callable[[float], str]) -> tuple[tuple[float, str], ...]:
        return tuple((self.y(value), words(value)) for value in (self._least, self._most))

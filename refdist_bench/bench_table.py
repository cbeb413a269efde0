"""The one table: a row for each case, where there is room for all, or for each headline."""

from collections.abc import Sequence
from dataclasses import dataclass

from refdist_bench.benchmark_case import Unit, Who
from refdist_bench.goals import found_words, goal_words, is_met, ratio_to, share_of_limit
from refdist_bench.saved_run import Measured, Result, Run

MOST_ROWS = 35
HEADS = ("benchmark", "refdist", "raw JAX", "TensorFlow", "limit", "ratio", "share", "goal")
WIDTHS = (33, 10, 9, 11, 10, 6, 6, 13)
MISSED, MET = "!", " "
_SCALES = {
    Unit.TIME: ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    Unit.BYTE_RATE: ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
    Unit.ITEM_RATE: ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")),
    Unit.BYTES: ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}
_RATES = (Unit.BYTE_RATE, Unit.ITEM_RATE)


@dataclass(frozen=True, slots=True)
class Row:
    """What a table shows of a case."""

    cells: tuple[str, ...]
    is_met: bool | None


def shown(seconds: float, unit: Unit, amount: float) -> str:
    """Say in a sensible unit what the seconds of a call mean.

    >>> shown(0.0215, Unit.TIME, 1), shown(0.0215, Unit.TIME, 10_000), shown(0.5, Unit.BYTE_RATE, 1 << 30)
    ('21.5 ms', '2.15 us', '2.15 GB/s')
    """
    if seconds <= 0:
        return "0"
    value = amount / seconds if unit in _RATES else seconds / amount
    scale, name = next((one for one in _SCALES[unit] if value >= 0.9995 * one[0]), _SCALES[unit][-1])
    return f"{_three_digits(value / scale)} {name}"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def row(result: Result) -> Row:
    """Return the cells of a result; empty where there is nothing to say."""
    if not result.sides:
        return Row((result.name, "failed", *[""] * 5, ""), None)
    ratio = ratio_to(result, Who.RAW) or ratio_to(result, Who.TENSORFLOW)
    share = share_of_limit(result)
    return Row(
        (
            result.name,
            *(_figure(result, result.first_of(who)) for who in Who),
            "" if ratio is None else f"{_three_digits(ratio)}x" if ratio >= 0.01 else "<.01x",
            "" if share is None else f"{min(share, 9.99) * 100:.0f}%",
            goal_words(result.goal) if result.goal else "",
        ),
        is_met(result),
    )


def _figure(result: Result, side: Measured | None) -> str:
    return "" if side is None else shown(side.median, result.unit, result.amount)


def shown_results(results: Sequence[Result]) -> list[Result]:
    """Return the results that have a row: all; or where they are too many those that missed their goals, and the headlines."""
    if len(results) <= MOST_ROWS:
        return list(results)
    first = sorted(
        (one for one in results if one.headline or _is_bad(one)), key=lambda one: (not _is_bad(one), not one.headline)
    )
    kept = {id(one) for one in first[:MOST_ROWS]}
    return [one for one in results if id(one) in kept]


def _is_bad(result: Result) -> bool:
    return bool(result.problem) or is_met(result) is False


def lines(run: Run) -> list[str]:
    """Return the table, at most 40 lines of at most 100 columns."""
    kept = shown_results(run.results)
    rows = [row(result) for result in kept]
    table = [_aligned(HEADS, MET), "-" * (sum(WIDTHS) + 2)]
    table += [_aligned(one.cells, MISSED if one.is_met is False else MET) for one in rows]
    return [*table, *(line[:100] for line in _below(run, kept))]


def _aligned(cells: Sequence[str], mark: str) -> str:
    name, *figures, goal = cells
    numbers = "".join(f"{cell:>{width}}" for cell, width in zip(figures, WIDTHS[1:-1], strict=True))
    return f"{name[: WIDTHS[0] - 1]:<{WIDTHS[0]}}{numbers} {mark}{goal}".rstrip()


def _below(run: Run, kept: Sequence[Result]) -> list[str]:
    judged = [one for one in run.results if is_met(one) is not None]
    missed = [one for one in judged if not is_met(one)]
    more = len(run.results) - len(kept)
    words = ["None of these has a goal."]
    if judged:
        words = [f"{len(judged) - len(missed)} of {len(judged)} goals met, missed ones marked {MISSED}."]
    if more:
        without_row = len(missed) - sum(one in kept for one in missed)
        words.append(
            f"{more} more cases{f', {without_row} missed,' * (without_row > 0)} in --json, --html, --markdown."
        )
    broken = [one for one in run.results if one.problem]
    notes = [" ".join(words)]
    if broken:
        notes.append(
            f"{len(broken)} not to be trusted; the first, {broken[0].name}: {broken[0].problem}".replace("\n", " ")
        )
    return notes


def markdown(run: Run) -> str:
    """Return the table for a page of documentation: all cases, and where it was measured."""
    about = ", ".join(f"{name} {value}" for name, value in run.surroundings.items() if value)
    text = [f"Measured in {run.seconds:.0f} s: {about}.", "", _piped(HEADS), _piped(["---"] * len(HEADS))]
    for result in run.results:
        one = row(result)
        found = f"**missed: {found_words(result)}**" if one.is_met is False else ""
        goal = f"{one.cells[-1]} {found}".replace("<=", "≤").replace(">=", "≥").strip()
        text.append(_piped([cell.replace("|", "\\|") for cell in (*one.cells[:-1], goal)]))
    return "\n".join(text)


def _piped(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"

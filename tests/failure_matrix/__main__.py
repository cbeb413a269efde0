"""Fail in every way: `python -m tests.failure_matrix --workers 2,4`."""

import argparse
import pathlib
import signal
import sys
import time

from tests.failure_matrix.judging import Verdict, judge
from tests.failure_matrix.running import run
from tests.failure_matrix.ways import ALL, OF_THE_LAUNCHER, Way

Cells = dict[tuple[Way, int], list[tuple[int, Verdict]]]


def main() -> int:
    """Run what is asked for, write a table, and return 1 if anything is not as it should be."""
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # which a shell switches off for what runs in its background
    parser = argparse.ArgumentParser(prog="python -m tests.failure_matrix", description=__doc__)
    parser.add_argument("--workers", default="2,4", help="how many workers, such as 2,4")
    parser.add_argument("--way", action="append", choices=[way.name for way in ALL], help="may be repeated; else all")
    parser.add_argument("--index", type=int, help="the worker that goes wrong; else each in turn")
    parser.add_argument("--output", type=pathlib.Path, help="where the table goes; else it is printed")
    parser.add_argument("--show", action="store_true", help="show what the workers of a bad run printed")
    asked = parser.parse_args()
    counts = [int(text) for text in asked.workers.split(",")]
    ways = [way for way in ALL if not asked.way or way.name in asked.way]
    cells: Cells = {}
    for way in ways:
        for workers in counts:
            for index in indices(way, workers) if asked.index is None else [asked.index]:
                outcome = run(way, workers, index)
                verdict = judge(outcome)
                cells.setdefault((way, workers), []).append((index, verdict))
                print(line(way, workers, index, verdict), flush=True)
                if verdict.complaints and asked.show:
                    print(outcome.output, flush=True)
    text = table(cells, counts)
    if asked.output:
        asked.output.write_text(text)
    else:
        print(text)
    return int(any(verdict.complaints for runs in cells.values() for _, verdict in runs))


def indices(way: Way, workers: int) -> list[int]:
    """Which workers can go wrong in a way."""
    if way in OF_THE_LAUNCHER or way.name == "port-in-use":
        return [0]
    if way.name == "wrong-address":  # worker 0 listens at its own
        return list(range(1, workers))
    return list(range(workers))


def line(way: Way, workers: int, index: int, verdict: Verdict) -> str:
    """What came of one run, for whoever watches."""
    how = "; ".join(verdict.complaints) or "good"
    return f"{time.strftime('%H:%M:%S')} {way.name} {workers} workers, {index}: {how} ({took([verdict])})"


def took(verdicts: list[Verdict]) -> str:
    """How long it took, at least and at most.

    >>> took([Verdict((), (1.0, 2.04), ()), Verdict((), (0.5,), ())])
    '0.5 to 2.0 s'
    """
    seconds = [each for verdict in verdicts for each in verdict.seconds]
    if not seconds:
        return "-"
    least, most = f"{min(seconds):.1f}", f"{max(seconds):.1f}"
    return f"{most} s" if least == most else f"{least} to {most} s"


def table(cells: Cells, counts: list[int]) -> str:
    """A line for each way, with the times of all workers that it was tried on."""
    rows = [f"| case | error of the others | {' | '.join(f'{count} workers' for count in counts)} |"]
    rows.append("|---" * (len(counts) + 2) + "|")
    for way in dict.fromkeys(way for way, _ in cells):
        found = [[verdict for _, verdict in cells.get((way, count), [])] for count in counts]
        kinds = sorted({kind for verdicts in found for verdict in verdicts for kind in verdict.kinds})
        texts = [took(verdicts) + _bad(verdicts) for verdicts in found]
        rows.append(f"| {way.title} | {', '.join(kinds) or '-'} | {' | '.join(texts)} |")
    return "\n".join(rows) + "\n"


def _bad(verdicts: list[Verdict]) -> str:
    bad = sum(bool(verdict.complaints) for verdict in verdicts)
    return f", **{bad} of {len(verdicts)} bad**" if bad else ""


if __name__ == "__main__":
    sys.exit(main())

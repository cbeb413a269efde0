"""A run: choose the cases, measure them one after the other, and say how far it is."""

import contextlib
import re
import sys
import time
from collections.abc import Sequence

from refdist_bench.benchmark_case import Case
from refdist_bench.measuring import measure
from refdist_bench.peers.peer_process import Peer
from refdist_bench.saved_run import Result, Run
from refdist_bench.surroundings import surroundings

CASE_SECONDS, QUICK_SECONDS = 0.8, 0.15
"""How long the rounds of a case take, apart from making and compiling its sides."""


def chosen(cases: Sequence[Case], pattern: str | None) -> list[Case]:
    """Return the cases in whose name or group a regular expression is found."""
    return [
        case for case in cases if pattern is None or re.search(pattern, f"{case.group}: {case.name}", re.IGNORECASE)
    ]


def run(cases: Sequence[Case], *, quick: bool, tensorflow: str | None) -> Run:
    """Measure cases, beside the TensorFlow of another interpreter where one is named."""
    about = surroundings()
    before = time.perf_counter()
    results: list[Result] = []
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(Peer(tensorflow)) if tensorflow else None
        if peer is not None:
            about["tensorflow"] = str(peer.versions["tensorflow"])
        advance = _Progress(stack, len(cases))
        for case in cases:
            advance(case.name)
            more = peer.sides(case) if peer else ()
            seconds = (QUICK_SECONDS if quick else CASE_SECONDS) * case.patience
            result = measure(case, seconds, more_sides=more)
            if more and not result.sides:  # TensorFlow may be the one that failed, and the others have figures
                without = measure(case, seconds)
                result = Result.of(case, without.sides, problem=result.problem)
            results.append(result)
    return Run(about, tuple(results), round(time.perf_counter() - before, 1))


class _Progress:
    """Show on a terminal which case is measured, and how many there are."""

    def __init__(self, stack: contextlib.ExitStack, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(file=sys.stderr)
        columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        # Nothing is drawn by a thread while something is measured.
        self._bar = Progress(*columns, console=console, transient=True, auto_refresh=False)
        stack.enter_context(self._bar)
        self._task = self._bar.add_task("", total=total, completed=-1)

    def __call__(self, name: str) -> None:
        self._bar.update(self._task, advance=1, description=name, refresh=True)

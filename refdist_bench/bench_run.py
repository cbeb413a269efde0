"""A run: choose the cases, measure them one after the other, and say how far it is."""

import contextlib
import re
import sys
import time
from collections.abc import Sequence

from refdist_bench.benchmark_case import Case
from refdist_bench.kept_interrupt import Interrupt
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


def run(cases: Sequence[Case], interrupt: Interrupt, *, quick: bool, tensorflow: str | None) -> Run:
    """Measure cases, beside the TensorFlow of another interpreter where one is named; those before an interrupt are a run, too."""
    about = surroundings()
    before = time.perf_counter()
    results: list[Result] = []
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(Peer(tensorflow)) if tensorflow else None
        if peer is not None:
            about["tensorflow"] = str(peer.versions["tensorflow"])
        progress = _Progress(stack, len(cases))
        try:
            for case in cases:
                progress.begin(case.name)
                results.append(_measured(case, peer, QUICK_SECONDS if quick else CASE_SECONDS, interrupt))
                progress.end()
        except KeyboardInterrupt:
            if not results:
                raise
    if len(results) < len(cases):
        print(f"refdist bench: cancelled after {len(results)} of {len(cases)} cases.", file=sys.stderr)
    return Run(about, tuple(results), round(time.perf_counter() - before, 1))


def _measured(case: Case, peer: Peer | None, seconds: float, interrupt: Interrupt) -> Result:
    interrupt.obey()
    more = peer.sides(case) if peer else ()
    result = measure(case, seconds * case.patience, more_sides=more, obey=interrupt.obey)
    if more and not result.sides:  # TensorFlow may be the one that failed, and the others have figures
        without = measure(case, seconds * case.patience, obey=interrupt.obey)
        result = Result.of(case, without.sides, problem=result.problem)
    return result


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
        self._task = self._bar.add_task("", total=total)

    def begin(self, name: str) -> None:
        self._bar.update(self._task, description=name, refresh=True)

    def end(self) -> None:
        self._bar.update(self._task, advance=1, refresh=True)

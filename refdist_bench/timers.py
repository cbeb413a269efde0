"""Sides that run in this process, or in a new process for each call."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

from refdist_bench.benchmark_case import Side, Who

Step = Callable[[], Any]
"""Do one step, wait for its result, and return it; a number is compared with the number of the other sides."""


class StepTimer:
    """Call a step in this process."""

    cold = False

    def __init__(self, make: Callable[[], Step]) -> None:
        self._step = make()

    def first(self) -> tuple[float, Any]:
        before = time.perf_counter()
        value = self._step()
        return time.perf_counter() - before, value

    def seconds(self, calls: int) -> float:
        step = self._step
        before = time.perf_counter()
        for _ in range(calls):
            step()
        return time.perf_counter() - before

    def close(self) -> None:
        del self._step


class FigureTimer:
    """Ask a function for a figure that it finds out anew in each call, such as what a new process prints."""

    cold = True

    def __init__(self, figure: Callable[[], float]) -> None:
        self._figure = figure

    def first(self) -> tuple[float, Any]:
        return self._figure(), None

    def seconds(self, calls: int) -> float:
        return sum(self._figure() for _ in range(calls))

    def close(self) -> None:
        pass


def side(who: Who, name: str, make: Callable[..., Step], *arguments: Any) -> Side:
    """Return a side whose step is made when it is to be measured."""
    return Side(who, name, lambda: StepTimer(lambda: make(*arguments)))


def fresh(who: Who, name: str, command: Sequence[str], *, printed: bool = False, warmed: bool = False) -> Side:
    """Return a side that is a new process: how long it takes, or the number that it prints.

    One that is `warmed` ran once before, so that its modules are compiled and its files in memory.
    """

    def figure() -> float:
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        before = time.perf_counter()
        done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
        return float(done.stdout.split()[-1]) if printed else time.perf_counter() - before

    def start() -> FigureTimer:
        if warmed:
            figure()
        return FigureTimer(figure)

    return Side(who, name, start)

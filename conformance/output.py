"""What the commands print: their output, complaints and progress; and their exit codes."""

import contextlib
import os
import pathlib
import sys
from collections.abc import Callable, Generator, Iterable
from typing import TextIO, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.printable import printable
from conformance.results import Case
from conformance.runner import Started, SuiteError

USAGE, BROKEN, NOTHING, INTERRUPTED = 2, 3, 5, 130
EXIT_CODES = """exit codes: 0 all that was checked conforms, 1 something does not, 2 wrong
usage, 3 the suite broke or an implementation crashed, 5 nothing was checked,
130 interrupted"""
FAULT_EXIT_CODES = """exit codes: 0 all faults are caught, 1 one is missed, 2 wrong usage, 3 the
suite broke, 5 nothing was proved, 130 interrupted"""


@contextlib.contextmanager
def progress(stream: TextIO, total: int | None = None) -> Generator[tuple[Started, Callable[[], None]]]:
    """Show on a terminal how many cases are done and which is running; yield functions to call when one starts and ends."""
    columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(file=stream), transient=True, disable=not stream.isatty()) as shown:
        task = shown.add_task("starting", total=total)

        def started(implementation: str, case: Case) -> None:
            shown.update(task, description=f"{implementation}: {case}")

        def finished() -> None:
            shown.advance(task)

        yield started, finished


Found = TypeVar("Found")


def collected(
    runs: Iterable[Callable[[Started], Generator[Found]]],
    total: int | None = None,
    last: Callable[[Found], bool] = lambda _: False,
) -> tuple[list[Found], int]:
    """Run with a line of progress; return what was found, and an exit code if it is not complete.

    Args:
        last: tells of something found whether the run ends with it.
    """
    found: list[Found] = []
    code = 0
    try:
        with progress(sys.stderr, total) as (started, finished):
            for run in runs:
                try:
                    with contextlib.closing(run(started)) as results:
                        for result in results:
                            found.append(result)
                            finished()
                            if last(result):
                                return found, code
                except SuiteError as error:
                    complain(str(error))
                    code = BROKEN
    except KeyboardInterrupt:
        complain("the run was cancelled; expected it to come to its end. What was done before is reported.")
        code = INTERRUPTED
    return found, code


def write(text: str) -> None:
    """Print to standard output; ignore it if the reader has gone."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "replace").decode(encoding), end="", flush=True)
    except BrokenPipeError:
        # Otherwise Python tries to write the rest again when it exits, and complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(text: str) -> None:
    """Print to the error output, under the name of the suite."""
    print(f"conformance: {printable(text)}", file=sys.stderr)


def save(path: pathlib.Path, text: str) -> None:
    """Write a file of text."""
    path.write_text(text, encoding="utf-8")


def nothing_selected(why: str | None = None) -> int:
    """Say so, and return the exit code for it."""
    complain(f"{why or 'nothing is selected; expected at least one behavior'}. `python -m conformance list` shows all.")
    return NOTHING

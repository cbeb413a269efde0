"""Say which documented behaviors of the tf.distribute.Strategy API an implementation keeps."""

import argparse
import contextlib
import os
import pathlib
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TextIO

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from conformance import catalogue, comparing, terminal
from conformance.catalogue import Behavior
from conformance.checks import checks
from conformance.faults import faults
from conformance.implementations import NAMES, UnknownName, find
from conformance.registry import Registered
from conformance.report import Report, versions
from conformance.results import Case, Result
from conformance.runner import CHECKS, Job, SuiteError, run
from conformance.selection import Selection, one

USAGE, BROKEN, NOTHING, INTERRUPTED = 2, 3, 5, 130
EXIT_CODES = """exit codes: 0 all that was checked conforms, 1 something does not, 2 wrong usage,
3 the suite broke or an implementation crashed, 5 nothing selected, 130 interrupted"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except UnknownName as error:
        _complain(str(error))
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    """Check implementations one after another, and print the report even if the run is broken off."""
    selection = Selection(tuple(options.impl or ["simulator"]), tuple(options.area), tuple(options.k), options.replicas)
    ids = tuple(behavior.id for behavior in selection.of(catalogue.load()))
    jobs = [
        Job(find(name).name, ids, selection.replicas or None, options.timeout, options.checks)
        for name in selection.implementations
    ]
    start = time.monotonic()
    results: list[Result] = []
    code = 0
    try:
        with _progress(sys.stderr) as (started, finished):
            for job in jobs:
                try:
                    with contextlib.closing(run(job, started)) as found:
                        for result in found:
                            results.append(result)
                            finished()
                except SuiteError as error:
                    _complain(str(error))
                    code = BROKEN
    except KeyboardInterrupt:
        code = INTERRUPTED
    report = Report(tuple(results), time.monotonic() - start, selection, versions(), complete=code == 0)
    if options.json is not None:
        options.json.write_text(report.to_json() + "\n", encoding="utf-8")
    if results:
        _write(terminal.render(report, Console(), verbose=options.verbose))
    elif code == 0:
        return _nothing_selected()
    return code or report.exit_code()


def _diff(options: argparse.Namespace) -> int:
    """Print in which behaviors two reports differ."""
    selected = Selection(areas=tuple(options.area), keywords=tuple(options.k)).of(catalogue.load())
    if not selected:
        return _nothing_selected()
    try:
        one, other = (comparing.side(name, selected) for name in (options.one, options.other))
    except SuiteError as error:
        _complain(str(error))
        return BROKEN
    _write(comparing.render(one, other, selected, Console()))
    return 0


def _list(options: argparse.Namespace) -> int:
    """Print one line for each selected behavior."""
    selected = Selection(areas=tuple(options.area), keywords=tuple(options.k)).of(catalogue.load())
    if not selected:
        return _nothing_selected()
    _write("".join(f"{behavior.id:<11} {behavior.level:<8} {behavior.title}\n" for behavior in selected))
    return 0


def _show(options: argparse.Namespace) -> int:
    """Print everything that is known of one behavior."""
    _write(_entry(one(options.id, catalogue.load())))
    return 0


def _entry(behavior: Behavior) -> str:
    """Write all fields of an entry, each under its name."""
    fields = {
        "statement": [behavior.statement],
        "observe": [behavior.observe],
        "level": [behavior.level],
        "applies to": [", ".join(behavior.applies_to)],
        "conflicts with": [", ".join(behavior.conflicts_with) or "none"],
        "sources": behavior.sources,
        "check": [_place(checks(), behavior.id)],
        "fault": [_place(faults(), behavior.id)],
    }
    lines = [f"{behavior.id}  {behavior.title}"]
    for name, texts in fields.items():
        lines.append(f"\n{name}")
        lines += [textwrap.fill(text, 78, initial_indent="  ", subsequent_indent="  ") for text in texts]
    return "\n".join(lines) + "\n"


def _place(entries: Mapping[str, Registered], id: str) -> str:
    """Say where the check or the fault of a behavior stands."""
    if id not in entries:
        return "none yet"
    function = entries[id].function
    return f"{function.__module__}.{function.__qualname__}"


@contextlib.contextmanager
def _progress(stream: TextIO) -> Generator[tuple[Callable[[str, Case], None], Callable[[], None]]]:
    """Show on a terminal how many cases are done and which is running; yield what to call at start and end of one."""
    columns = (SpinnerColumn(), TextColumn("{task.completed} done, {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=stream), transient=True, disable=not stream.isatty()) as progress:
        task = progress.add_task("starting", total=None)

        def started(implementation: str, case: Case) -> None:
            progress.update(task, description=f"{implementation}: {case}")

        def finished() -> None:
            progress.advance(task)

        yield started, finished


def _write(text: str) -> None:
    """Print to standard output, and be content if its reader has gone."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "replace").decode(encoding), end="", flush=True)
    except BrokenPipeError:
        # Otherwise Python tries to write the rest once more when it ends, and complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(text: str) -> None:
    print(f"conformance: {text}", file=sys.stderr)


def _nothing_selected() -> int:
    _complain("nothing is selected; expected at least one behavior. `python -m conformance list` shows all.")
    return NOTHING


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m conformance", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--area", action="append", default=[], metavar="AREA", help="only this area; may be repeated")
    matching = "only this id, or what has this text in title or statement; may be repeated"
    chosen.add_argument("-k", action="append", default=[], metavar="TEXT_OR_ID", help=matching)

    formatter = argparse.RawDescriptionHelpFormatter
    running = commands.add_parser(
        "run", parents=[chosen], help="check implementations", epilog=EXIT_CODES, formatter_class=formatter
    )
    named = f"{', '.join(NAMES)} or package.module:object; may be repeated (default: simulator)"
    running.add_argument("--impl", action="append", metavar="NAME", help=named)
    running.add_argument("--replicas", type=_counts, default=(), metavar="1,2", help="only these replica counts")
    running.add_argument("--json", type=_file, metavar="FILE", help="write the report there too")
    running.add_argument("--timeout", type=_seconds, default=60.0, metavar="S", help="for each check (default: 60)")
    own = "package.module:function that returns other checks"
    running.add_argument("--checks", default=CHECKS, metavar="PLACE", help=own)
    running.add_argument("-v", "--verbose", action="store_true", help="one row for each behavior")
    running.set_defaults(command=_run)

    comparable = "a report file, recorded:tensorflow, or an implementation, which is then run (default: {})"
    differing = commands.add_parser(
        "diff", parents=[chosen], help="show in which behaviors two reports differ, and why"
    )
    for name, default in zip(("one", "other"), comparing.DEFAULT, strict=True):
        differing.add_argument(name, nargs="?", default=default, help=comparable.format(default))
    differing.set_defaults(command=_diff)

    commands.add_parser("list", parents=[chosen], help="list the behaviors").set_defaults(command=_list)
    showing = commands.add_parser("show", help="show everything about one behavior")
    showing.add_argument("id", metavar="ID")
    showing.set_defaults(command=_show)
    return parser


def _counts(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected counts from 1 upwards. Write for example 1,2.")
    return tuple(int(part) for part in parts)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected seconds, more than 0. Write for example 60.")
    return seconds


def _file(text: str) -> pathlib.Path:
    """Refuse at the start what could not be written after a long run."""
    path = pathlib.Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"got {text!r}; expected a file in a folder that exists. Make the folder, or name a file in it."
        )
    return path


if __name__ == "__main__":
    # A run that is cancelled from outside ends its children too, and prints what was done.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())

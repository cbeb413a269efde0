"""The command line: the commands, and the options that each takes."""

import argparse
import os
import pathlib
import textwrap
from collections.abc import Callable
from typing import Any

from conformance import last
from conformance.commands import diff, faults, history, listing, report_page, run, xfails
from conformance.comparing import DEFAULT, FAIL_ON
from conformance.implementations import GROUP, NAMES
from conformance.output import EXIT_CODES, FAULT_EXIT_CODES
from conformance.proofs import FAULTS
from conformance.runner import CHECKS
from conformance.selection import MODES
from refdist_command.writable_file import writable_file

DESCRIPTION = """\
Say which documented behaviors of the tf.distribute.Strategy API an
implementation keeps.

examples:
  refdist conformance run --mode quick -n auto
  refdist conformance run --impl jax --area REDUCE -v
  refdist conformance run --impl my_package.module:implementation
  refdist conformance show REDUCE-10
"""
NAMED = f"{', '.join(NAMES)}, one that an installed package names in {GROUP!r}, or package.module:object"

Commands = Any
"""What `add_subparsers` returns; argparse has no public name for it."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets the function that does it."""
    kept = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser("python -m conformance", description=DESCRIPTION, formatter_class=kept)
    add_commands(top)
    return top


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add all commands to a parser."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (_run, _report, _diff, _history, _faults, _list, _show, _update_xfails):
        add(commands)


def _run(commands: Commands) -> None:
    parser = _add(commands, "run", "check implementations", run.command, [_selecting(), _executing(), _writing()])
    parser.add_argument(
        "--impl",
        action="append",
        metavar="NAME",
        help=f"{NAMED}, or recorded:tensorflow; may be repeated (default: simulator)",
    )
    parser.add_argument("--replicas", type=_counts, default=(), metavar="1,2", help="only these replica counts")
    modes = "quick: one replica count for each check; full: all (the default); deep: all, and laws on random values"
    parser.add_argument("--mode", choices=MODES, help=modes)
    parser.add_argument("--seed", type=int, metavar="N", help="where the values of deep mode come from (default: 0)")
    failures = parser.add_mutually_exclusive_group()
    kept = str(last.path()).replace("%", "%%")
    failures.add_argument("--lf", action="store_true", help=f"only what failed in the last run here, kept in {kept}")
    failures.add_argument(
        "--failed-of",
        type=pathlib.Path,
        metavar="REPORT",
        help="only what failed in that JSON report, on what it names or on --impl",
    )
    declared = "with one ID or ID@REPLICAS and its # reason on each line"
    expected = f"what is expected to fail, a file {declared}; what passes instead is a FAIL"
    for option, meaning in (("--xfail", expected), ("--skip", f"what is not to be run, a file {declared}")):
        several = f"{meaning}; may be repeated, with the name of an implementation if there are several"
        parser.add_argument(option, action="append", default=[], metavar="[NAME=]FILE", help=several)
    parser.add_argument("-x", "--exitfirst", action="store_true", help="stop at the first failure")
    here = "run checks in this process, where breakpoint() and print() work; without time limits, on one implementation"
    parser.add_argument("--in-process", action="store_true", help=here)
    parser.add_argument("--pdb", action="store_true", help="open a debugger where a check fails; implies --in-process")
    shown = "show what checks print; implies --in-process"
    parser.add_argument("-s", dest="show_output", action="store_true", help=shown)
    parser.add_argument("-v", "--verbose", action="store_true", help="one row for each behavior")


def _report(commands: Commands) -> None:
    summary = "put reports side by side: of several runs, machines or environments"
    parser = _add(commands, "report", summary, report_page.command, [_writing()])
    parser.add_argument("reports", nargs="+", metavar="REPORT", help="a JSON report of a run, or recorded:tensorflow")
    parser.add_argument("-v", "--verbose", action="store_true", help="one row for each behavior")


def _history(commands: Commands) -> None:
    summary = "show how reports changed over time: how many behaviors were kept in each, and which were gained and lost"
    parser = _add(commands, "history", summary, history.command, [])
    parser.add_argument("reports", nargs="+", metavar="REPORT", help="a JSON report of a run")


def _diff(commands: Commands) -> None:
    parser = _add(commands, "diff", "show in which behaviors two reports differ, and why", diff.command, [_selecting()])
    comparable = (
        "a report file (FILE#NAME if it has several implementations), recorded:tensorflow, or an implementation"
    )
    for name, default in zip(("old", "new"), DEFAULT, strict=True):
        parser.add_argument(
            name, nargs="?", default=default, help=f"{comparable}, which is then run (default: {default})"
        )
    when = (
        "when to exit with 1: regression, something is broken that was not (the default); lost, also if it passed and is now "
        "declared, not supported or absent; difference, any; nothing, never"
    )
    parser.add_argument("--fail-on", choices=FAIL_ON, default=FAIL_ON[0], help=when)
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the differences there too")
    parser.add_argument(
        "--html", type=writable_file, metavar="FILE", help="write both sides there, as one page for browsers"
    )


def _faults(commands: Commands) -> None:
    summary = "break an implementation one behavior at a time, and demand that its check fails"
    parser = _add(commands, "faults", summary, faults.command, [_selecting(), _executing()], FAULT_EXIT_CODES)
    parser.add_argument("--impl", default="simulator", metavar="NAME", help=f"{NAMED} (default: simulator)")
    others = "say which other checks fail too: those of the same area (the default), or of all; this takes long"
    parser.add_argument("--others", nargs="?", const="area", choices=("area", "all"), help=others)
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write what was found there too")
    own = "package.module:function that returns other faults (default: those in refdist)"
    parser.add_argument("--faults", default=FAULTS, metavar="PLACE", help=own)


def _list(commands: Commands) -> None:
    parser = _add(commands, "list", "list the behaviors", listing.list_behaviors, [_selecting()])
    parser.add_argument("--implementations", action="store_true", help="list the implementations instead")


def _show(commands: Commands) -> None:
    parser = _add(commands, "show", "show everything about one behavior", listing.show, [])
    parser.add_argument("id", metavar="ID")


def _update_xfails(commands: Commands) -> None:
    summary = "run, or read a report, and rewrite a file for --xfail: reasons stay, what passes is removed, what is new is added"
    parser = _add(commands, "update-xfails", summary, xfails.command, [_selecting(), _executing()])
    parser.add_argument("file", type=writable_file, metavar="FILE")
    parser.add_argument("--impl", metavar="NAME", help=NAMED)
    source = "take the results from this JSON report, and run nothing"
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="REPORT", help=source)


def _add(
    commands: Commands,
    name: str,
    summary: str,
    command: Callable[[argparse.Namespace], int],
    parents: list[argparse.ArgumentParser],
    epilog: str = EXIT_CODES,
) -> argparse.ArgumentParser:
    """Add a command with the options that it shares with others."""
    parser = commands.add_parser(
        name,
        parents=parents,
        help=summary,
        description=textwrap.fill(summary.capitalize() + ".", 79),
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command)
    return parser


def _selecting() -> argparse.ArgumentParser:
    """Return the options that choose behaviors."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--area", action="append", default=[], metavar="AREA", help="only this area; may be repeated")
    matching = "only this id, or what has this text in title or statement; may be repeated"
    parser.add_argument("-k", action="append", default=[], metavar="TEXT_OR_ID", help=matching)
    return parser


def _writing() -> argparse.ArgumentParser:
    """Return the options that name the files of a report."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the report there too")
    parser.add_argument(
        "--html", type=writable_file, metavar="FILE", help="write the report there, as one page for browsers"
    )
    parser.add_argument(
        "--junit-xml", type=writable_file, metavar="FILE", help="write the report there, for CI servers"
    )
    parser.add_argument(
        "--badge", type=writable_file, metavar="FILE", help="write there how many are kept, as an SVG picture"
    )
    return parser


def _executing() -> argparse.ArgumentParser:
    """Return the options of what runs checks."""
    parser = argparse.ArgumentParser(add_help=False)
    at_once = "in how many processes at once; auto: one for each core (default: 1)"
    parser.add_argument("-n", type=_workers, default=1, metavar="N", help=at_once)
    parser.add_argument("--timeout", type=_seconds, default=60.0, metavar="S", help="for each check (default: 60)")
    start = "for importing and for opening the implementation (default: as --timeout)"
    parser.add_argument("--start-timeout", type=_seconds, metavar="S", help=start)
    own = "package.module:function that returns other checks"
    parser.add_argument("--checks", default=CHECKS, metavar="PLACE", help=own)
    return parser


def _counts(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected counts from 1 upwards. Write for example 1,2.")
    return tuple(int(part) for part in parts)


def _workers(text: str) -> int:
    if text == "auto":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"got {text!r}; expected a count from 1 upwards, or auto. Write for example 2."
        )
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected seconds, more than 0. Write for example 60.")
    return seconds

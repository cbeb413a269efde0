"""The command line: the commands, and the options that each takes."""

import argparse
import os
import pathlib
from collections.abc import Callable
from typing import Any

from conformance import last
from conformance.commands import diff, faults, listing, run, xfails
from conformance.comparing import DEFAULT
from conformance.describing import START_SECONDS
from conformance.implementations import GROUP, NAMES
from conformance.output import EXIT_CODES, FAULT_EXIT_CODES
from conformance.proofs import FAULTS
from conformance.runner import CHECKS
from conformance.selection import MODES

DESCRIPTION = "Say which documented behaviors of the tf.distribute.Strategy API an implementation keeps."
NAMED = f"{', '.join(NAMES)}, one that an installed package names in {GROUP!r}, or package.module:object"

Commands = Any
"""What `add_subparsers` returns; argparse has no public name for it."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets the function that does it."""
    top = argparse.ArgumentParser("python -m conformance", description=DESCRIPTION)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for add in (_run, _diff, _faults, _list, _show, _update_xfails):
        add(commands)
    return top


def _run(commands: Commands) -> None:
    parser = _add(commands, "run", "check implementations", run.command, [_selecting(), _executing()])
    parser.add_argument(
        "--impl", action="append", metavar="NAME", help=f"{NAMED}; may be repeated (default: simulator)"
    )
    parser.add_argument("--replicas", type=_counts, default=(), metavar="1,2", help="only these replica counts")
    modes = "quick: one replica count for each check; full: all (the default); deep: all, and laws on random values"
    parser.add_argument("--mode", choices=MODES, help=modes)
    parser.add_argument("--seed", type=int, metavar="N", help="where the values of deep mode come from (default: 0)")
    parser.add_argument("--json", type=_file, metavar="FILE", help="write the report there too")
    parser.add_argument("--html", type=_file, metavar="FILE", help="write the report there, as one page for browsers")
    parser.add_argument("--junit-xml", type=_file, metavar="FILE", help="write the report there, for CI servers")
    parser.add_argument("--badge", type=_file, metavar="FILE", help="write there how many are kept, as an SVG picture")
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
    parser.add_argument("--xfail", type=pathlib.Path, metavar="FILE", help=expected)
    parser.add_argument("--skip", type=pathlib.Path, metavar="FILE", help=f"what is not to be run, a file {declared}")
    parser.add_argument("-v", "--verbose", action="store_true", help="one row for each behavior")


def _diff(commands: Commands) -> None:
    parser = _add(commands, "diff", "show in which behaviors two reports differ, and why", diff.command, [_selecting()])
    comparable = (
        "a report file (FILE#NAME if it has several implementations), recorded:tensorflow, or an implementation"
    )
    for name, default in zip(("one", "other"), DEFAULT, strict=True):
        parser.add_argument(
            name, nargs="?", default=default, help=f"{comparable}, which is then run (default: {default})"
        )


def _faults(commands: Commands) -> None:
    summary = "break an implementation one behavior at a time, and demand that its check fails"
    parser = _add(commands, "faults", summary, faults.command, [_selecting(), _executing()], FAULT_EXIT_CODES)
    parser.add_argument("--impl", default="simulator", metavar="NAME", help=f"{NAMED} (default: simulator)")
    others = "say which other checks fail too: those of the same area (the default), or of all; this takes long"
    parser.add_argument("--others", nargs="?", const="area", choices=("area", "all"), help=others)
    parser.add_argument("--json", type=_file, metavar="FILE", help="write what was found there too")
    own = "package.module:function that returns other faults (default: those in refdist)"
    parser.add_argument("--faults", default=FAULTS, metavar="PLACE", help=own)


def _list(commands: Commands) -> None:
    parser = _add(commands, "list", "list the behaviors", listing.list_behaviors, [_selecting()])
    parser.add_argument("--implementations", action="store_true", help="list the implementations instead")


def _show(commands: Commands) -> None:
    parser = _add(commands, "show", "show everything about one behavior", listing.show, [])
    parser.add_argument("id", metavar="ID")


def _update_xfails(commands: Commands) -> None:
    summary = "run, and rewrite a file for --xfail: reasons stay, what passes is removed, what is new is added"
    parser = _add(commands, "update-xfails", summary, xfails.command, [_selecting(), _executing()])
    parser.add_argument("file", type=_file, metavar="FILE")
    parser.add_argument("--impl", required=True, metavar="NAME", help=NAMED)


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
        description=summary.capitalize() + ".",
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


def _executing() -> argparse.ArgumentParser:
    """Return the options of what runs checks."""
    parser = argparse.ArgumentParser(add_help=False)
    at_once = "in how many processes at once; auto: one for each core (default: 1)"
    parser.add_argument("-n", type=_workers, default=1, metavar="N", help=at_once)
    parser.add_argument("--timeout", type=_seconds, default=60.0, metavar="S", help="for each check (default: 60)")
    start = f"for importing and for opening the implementation (default: {START_SECONDS:g})"
    parser.add_argument("--start-timeout", type=_seconds, default=START_SECONDS, metavar="S", help=start)
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


def _file(text: str) -> pathlib.Path:
    """Refuse at the start what could not be written after a long run."""
    path = pathlib.Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"got {text!r}; expected a file in a folder that exists. Make the folder, or name a file in it."
        )
    return path

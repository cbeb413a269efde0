"""The command line: `refdist`, or `python -m refdist`. What a subcommand needs is loaded when it is asked for."""

import argparse
import difflib
import importlib
import os
import select
import sys
from collections.abc import Collection, Sequence
from typing import Any

from refdist_command.refusal import Refused
from refdist_command.shadows import OURS, Shadowed, require_own

COMMANDS = {
    "conformance": "say who keeps which documented behavior, and certify your own",
    "launch": "run a program on a cluster of processes on this machine",
    "bench": "measure speed beside raw JAX, TensorFlow and the machine's limit",
    "explore": "run a program in many orders of its replicas, to find one that fails",
    "predict": "say how long a collective or a training step takes on a cluster",
    "validate": "compare predicted times with public measurements",
}
"""For each, a module NAME_command with a `DESCRIPTION`, `add_options(parser)` and `execute(options)`."""

SHELLS = ("bash", "zsh", "tcsh")
EXAMPLES = """\
examples:
  refdist conformance run --mode quick -n auto
  refdist launch --workers 2 train.py
  refdist bench --quick
  refdist explore --replicas 4 train.py
  refdist predict all_reduce --cluster dgx_h100 --hosts 8 --size 128MiB
  refdist predict step my_module:step --cluster dgx_h100 --hosts 1,8
  refdist validate

`refdist COMMAND --help` has more of each.
"""


CANCELLED, NOT_READ = 130, 141
"""Exit codes of what ends by Ctrl-C, and of what nobody reads any further: 128 and the number of the signal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    first = words[0] if words else ""
    try:
        code = _obeyed(words, first)
        sys.stdout.flush()
    except BrokenPipeError:
        if _is_read():
            raise  # it is about something else
        return NOT_READ
    except KeyboardInterrupt:
        print(f"refdist {first}: cancelled.", file=sys.stderr)
        return CANCELLED
    return code


def _is_read() -> bool:
    """Say whether anybody still reads what is printed; if not, print no more, so that nothing complains at the end."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    if not poll.poll(0):  # of a pipe that nobody reads, an error is told even if nothing was asked for
        return True
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return False


def _obeyed(words: Sequence[str], first: str) -> int:
    if first in COMMANDS:
        try:
            require_own(*OURS)
        except Shadowed as error:
            print(f"refdist: {error}", file=sys.stderr)
            return 2
    top = parser({first} & COMMANDS.keys())
    if not first.startswith("-") and first not in COMMANDS:
        top.error(_unknown(first))
    options = top.parse_args(words)
    if options.print_completion:
        return _print_completion(options.print_completion)
    try:
        return options.execute(options)
    except (Refused, Shadowed) as refused:
        print(f"refdist {first}: {refused}", file=sys.stderr)
        return 2


def parser(loaded: Collection[str] = COMMANDS.keys()) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Args:
        loaded: the subcommands whose options it has; the others are there by name only.
    """
    top = argparse.ArgumentParser(
        "refdist",
        description="The documented tf.distribute.Strategy API, on virtual and real devices.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action=_PrintVersion, help="print the version of refdist, and exit")
    top.add_argument(
        "--print-completion",
        choices=SHELLS,
        help="print what lets a shell complete the command line, and exit; needs refdist[completion]",
    )
    subcommands = top.add_subparsers(metavar="COMMAND")
    for name, summary in COMMANDS.items():
        if name not in loaded:
            subcommands.add_parser(name, help=summary, add_help=False)
            continue
        module: Any = importlib.import_module(f"refdist_command.{name}_command")
        one = subcommands.add_parser(
            name,
            help=summary,
            description=module.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_options(one)
        one.set_defaults(execute=module.execute, complain=one.error)
    return top


class _PrintVersion(argparse.Action):
    """Prints the version when it comes to it: looking it up takes time that no other call needs."""

    def __init__(self, option_strings: Sequence[str], dest: str, **others: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=others.get("help"))

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib import metadata

        print(f"refdist {metadata.version('refdist')}")
        parser.exit()


def _unknown(word: str) -> str:
    """Say what stands in place of a subcommand, and what to write instead."""
    names = ", ".join(COMMANDS)
    if not word:
        return f"no command was given; expected one of {names}. Write for example: refdist predict --help"
    near = difflib.get_close_matches(word, COMMANDS, 1, 0.6)
    remedy = f"Write refdist {near[0]}." if near else "`refdist --help` says what each of them does."
    return f"got {word!r}; expected one of {names}. {remedy}"


def _print_completion(shell: str) -> int:
    try:
        shtab: Any = importlib.import_module("shtab")
    except ModuleNotFoundError:
        print(
            "refdist: --print-completion needs shtab, which is not installed; expected it in this environment. Run "
            "pip install 'refdist[completion]'.",
            file=sys.stderr,
        )
        return 2
    print(shtab.complete(parser(), shell))
    return 0

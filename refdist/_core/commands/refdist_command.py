"""The command line: `refdist`, or `python -m refdist`."""

import argparse
from collections.abc import Sequence

from refdist._core.commands import launch_command

COMMANDS = {"launch": launch_command}
"""A module for each subcommand, with a `SUMMARY`, a `DESCRIPTION`, `add_options` and `execute`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    options = parser().parse_args(arguments)
    return options.execute(options)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
    top = argparse.ArgumentParser(
        "refdist",
        description="The documented tf.distribute.Strategy API, on virtual and real devices.",
        allow_abbrev=False,
    )
    subcommands = top.add_subparsers(required=True, metavar="command")
    for name, module in COMMANDS.items():
        one = subcommands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_options(one)
        one.set_defaults(execute=module.execute, complain=one.error)
    return top

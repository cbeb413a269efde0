"""The options of `refdist conformance`, which are those of `python -m conformance`."""

import argparse
import os

from conformance import command_line
from conformance.__main__ import obey
from refdist_command.shadows import look_in

DESCRIPTION = command_line.DESCRIPTION


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the suite can be told."""
    command_line.add_commands(parser)


def execute(options: argparse.Namespace) -> int:
    """Do it, and return the exit code."""
    look_in(os.getcwd())  # where implementations are found, as by python -m
    return obey(options, from_shell=True)

"""The options of `refdist validate`, which are those of `python -m simulator.validate`."""

import argparse

from simulator import validate

DESCRIPTION = validate.DESCRIPTION


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what it can be told."""
    validate.add_options(parser)


def execute(options: argparse.Namespace) -> int:
    """Print the errors of predictions, and return the exit code."""
    return validate.perform(options)

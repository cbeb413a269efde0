"""`diff`: in which behaviors two reports differ."""

import argparse

from rich.console import Console

from conformance import catalogue, comparing
from conformance.output import BROKEN, complain, nothing_selected, write
from conformance.runner import SuiteError
from conformance.selection import Selection


def command(options: argparse.Namespace) -> int:
    """Print where two sides differ, and why."""
    selected = Selection(areas=tuple(options.area), keywords=tuple(options.k)).of(catalogue.load())
    if not selected:
        return nothing_selected()
    try:
        one, other = (comparing.side(name, selected) for name in (options.one, options.other))
    except SuiteError as error:
        complain(str(error))
        return BROKEN
    write(comparing.render(one, other, selected, Console()))
    return 0

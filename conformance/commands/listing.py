"""`list` and `show`: the behaviors of the catalogue, and the implementations."""

import argparse
import textwrap
from collections.abc import Mapping

from conformance import catalogue
from conformance.catalogue import Behavior
from conformance.checks import checks
from conformance.describing import SuiteError, describe
from conformance.documented_places import sections
from conformance.faults import faults
from conformance.implementations import BrokenModule, UsageError, origins
from conformance.output import nothing_selected, write
from conformance.registry import Registered
from conformance.selection import Selection, one


def list_behaviors(options: argparse.Namespace) -> int:
    """Print one line for each selected behavior."""
    if options.implementations:
        return _list_implementations()
    selected = Selection(areas=tuple(options.area), keywords=tuple(options.k)).of(catalogue.load())
    if not selected:
        return nothing_selected()
    write("".join(f"{behavior.id:<11} {behavior.level:<8} {behavior.title}\n" for behavior in selected))
    return 0


def show(options: argparse.Namespace) -> int:
    """Print everything that is known of one behavior."""
    write(_entry(one(options.id, catalogue.load())))
    return 0


def _list_implementations() -> int:
    """Print name, origin and features of each implementation that can be named."""
    for name, origin in origins().items():
        try:
            features = "features: " + ", ".join(sorted(describe(name).features))
        except (UsageError, BrokenModule, SuiteError) as error:
            features = str(error)
        write(
            f"{name:<11} {origin}\n" + textwrap.fill(features, 78, initial_indent=" " * 12, subsequent_indent=" " * 12)
        )
        write("\n")
    return 0


def _entry(behavior: Behavior) -> str:
    """Write all fields of an entry, each under its name."""
    fields = {
        "statement": [behavior.statement],
        "observe": [behavior.observe],
        "level": [behavior.level],
        "applies to": [", ".join(behavior.applies_to)],
        "conflicts with": [", ".join(behavior.conflicts_with) or "none"],
        "sources": [section.address for section in sections(behavior)],
        "check": [_place(checks(), behavior.id)],
        "needs": [_needs(behavior.id)],
        "fault": [_place(faults(), behavior.id)],
    }
    lines = [f"{behavior.id}  {behavior.title}"]
    for name, texts in fields.items():
        lines.append(f"\n{name}")
        lines += [_wrapped(text) for text in texts]
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> str:
    """Indent a text and break its lines, but not the names and the addresses in it, which are there to be copied."""
    return textwrap.fill(
        text, 78, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _place(entries: Mapping[str, Registered], id: str) -> str:
    """Say where the check or the fault of a behavior is defined."""
    if id not in entries:
        return "none yet"
    function = entries[id].function
    return f"{function.__module__}.{function.__qualname__}"


def _needs(id: str) -> str:
    """Say which features and which other behaviors a check needs."""
    found = checks().get(id)
    return ", ".join((*sorted(found.needs), *found.after)) or "nothing" if found else "none yet"

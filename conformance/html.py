"""The rendering of a report as one self-contained HTML file: no network, no fonts, and readable without JavaScript."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from conformance import catalogue
from conformance.comparing import Difference, Side
from conformance.page import SIGNS, Page
from conformance.printable import printable
from conformance.report import Report
from conformance.results import Status
from conformance.terminal import SHOWN

MEANINGS = {
    Status.PASS: "The behavior is kept.",
    Status.FAIL: "The behavior is not kept.",
    Status.ERROR: "The check stopped at an exception that it did not expect.",
    Status.TIMEOUT: "The check did not end in time.",
    Status.CRASH: "The process died.",
    Status.NOT_RUN: "Left out, because a behavior that it needs is not kept, or because the run ended before.",
    Status.DIVERGES: "Not kept, and the implementation says so and why.",
    Status.XFAIL: "Not kept, and the file of expected failures says so and why.",
    Status.UNSUPPORTED: "Nothing can be said: there is no check, it lacks what the check needs, or the check is for another one.",
    Status.SKIP: "Nothing can be said: the file of skipped checks says not to run it, and why.",
}
# The details are hidden before they are parsed, so that the page appears in a third of the time; if the script after
# them breaks, they are shown again.
FIRST_SCRIPT = """
document.documentElement.classList.add("js");
addEventListener("error", () => document.documentElement.classList.remove("js"));
"""
BROKEN_SHOWN = 8
"""How many broken behaviors of an implementation are listed at the top; the others are folded away."""


Comparison = tuple[Side, Side, Sequence[Difference]]
"""Two sides, and in what they differ."""


def render(report: Report, comparison: Comparison | None = None) -> str:
    """Write the report as an HTML document, below what two sides of it differ in; the same report gives the same bytes."""
    # Late, because only this rendering needs it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("conformance", "templates"),
        autoescape=True,
        finalize=_finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _packaged("report.js")
    return environment.get_template("report.html.jinja").render(
        report=report,
        page=Page(report),
        comparison=comparison,
        area_names=catalogue.AREAS,
        meanings=[(status, MEANINGS[status]) for status in SHOWN],
        gravity={status: place for place, status in enumerate(Status)},
        signs=SIGNS,
        levels=catalogue.LEVELS,
        kinds=catalogue.KINDS,
        catalogued=len(catalogue.load()),
        broken_shown=BROKEN_SHOWN,
        style=_packaged("report.css"),
        first_script=FIRST_SCRIPT,
        script=script,
        # Even a detail that got past the escaping could run no other scripts than these.
        allowed_scripts=f"{_source_hash(FIRST_SCRIPT)} {_source_hash(script)}",
    )


def _finalized(value: Any) -> Any:
    """Make every text printable, whoever wrote it; numbers and HTML stay as they are."""
    return printable(value) if type(value) is str else value


def _source_hash(script: str) -> str:
    """Return the name of a script in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _packaged(name: str) -> str:
    return (resources.files("conformance") / "templates" / name).read_text(encoding="utf-8")

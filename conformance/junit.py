"""The rendering of a report as JUnit XML, which Jenkins, GitLab and other servers show.

One testsuite for each implementation, one testcase for each case. FAIL is a failure; ERROR, TIMEOUT and CRASH are
errors; other cases that do not pass are skipped, with status and reason as message. There are no times of day, so
that the same report gives the same bytes.
"""

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from conformance import catalogue
from conformance.printable import printable
from conformance.report import Report, reproduction
from conformance.results import BROKEN, Result, Status
from conformance.selection import Selection


def render(report: Report) -> str:
    """Write the report as an XML document."""
    counts = _counts(report.results)
    # Jenkins does not know a count of skipped tests here.
    del counts["skipped"]
    root = Element("testsuites", {"name": "conformance", "time": f"{report.seconds:.3f}", **counts})
    for name in report.implementations:
        root.append(_suite(report, name))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(report: Report, implementation: str) -> Element:
    """Write the cases of one implementation."""
    results = [result for result in report.results if result.implementation == implementation]
    seconds = f"{sum(result.seconds for result in results):.3f}"
    suite = Element("testsuite", {"name": printable(implementation), "time": seconds, **_counts(results)})
    properties = SubElement(suite, "properties")
    facts = {
        "mode": report.selection.mode,
        "seed": str(report.selection.seed),
        "complete": str(report.complete).lower(),
        **report.versions,
    }
    for name, value in facts.items():
        SubElement(properties, "property", name=printable(name), value=printable(value))
    for result in results:
        suite.append(_case(result, report.selection))
    return suite


def _case(result: Result, selection: Selection) -> Element:
    """Write one case, and why it did not pass."""
    behavior = catalogue.load()[result.id]
    replicas = "" if result.replicas is None else f" [replicas={result.replicas}]"
    name = f"{behavior.id} {behavior.title}{replicas}"
    case = Element("testcase", classname=behavior.area, name=printable(name), time=f"{result.seconds:.3f}")
    kind = _kind(result.status)
    if kind:
        message = f"{result.status.value}: {_first_line(result)}"
        ending = SubElement(case, kind, type=result.status.value, message=printable(message))
        ending.text = printable(f"{behavior.statement}\n\n{result.detail}\n\n{reproduction(selection, result)}\n")
    return case


def _first_line(result: Result) -> str:
    if result.expected or result.got:
        return f"expected {result.expected}; got {result.got}"
    return next(iter(result.detail.splitlines()), "")


def _kind(status: Status) -> str:
    """Return the element that a status becomes, or nothing for one that passes."""
    if status is Status.PASS:
        return ""
    if status is Status.FAIL:
        return "failure"
    return "error" if status in BROKEN else "skipped"


def _counts(results: Sequence[Result]) -> dict[str, str]:
    kinds = [_kind(result.status) for result in results]
    return {
        "tests": str(len(kinds)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
    }

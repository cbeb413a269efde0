"""The rendering of a report as a small picture for a README: how many of the behaviors are kept.

The second number counts every behavior of the report, even those that are not supported or could not be run, so that
the result never looks better than it is. When the run was restricted, or not completed, the picture says so. It is green if the
implementation conforms; brown if it does except as declared, or as far as the run got; red if it does not; grey if
nothing was checked. A report of several implementations has one row for each.
"""

from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from conformance.page import Page
from conformance.printable import printable
from conformance.report import Report

HEIGHT = 20
GAP = 4
PADDING = 7
CHARACTER_WIDTH = 6.4
"""Approximate, for the usual fonts at 11 pixels; `textLength` corrects the rest."""
# White text has a contrast of more than 4.5 on each of them.
LABEL_COLOUR = "#3d444d"
COLOURS = {"kept": "#1a7f37", "declared": "#8a5a00", "broken": "#b42318", "blocked": "#b42318", "silent": "#59636e"}


@dataclass(frozen=True)
class Row:
    """What is said of one implementation."""

    label: str
    value: str
    colour: str
    description: str


def render(report: Report) -> str:
    """Write the report as an SVG document."""
    rows = _rows(report)
    described = printable(" ".join(row.description for row in rows))
    left = max(_width(row.label) for row in rows)
    width = left + max(_width(row.value) for row in rows)
    height = len(rows) * (HEIGHT + GAP) - GAP
    size = {"width": str(width), "height": str(height), "viewBox": f"0 0 {width} {height}"}
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "role": "img", "aria-label": described})
    SubElement(root, "title").text = described
    font = {"font-family": "Verdana,DejaVu Sans,Geneva,sans-serif", "font-size": "11", "fill": "#fff"}
    group = SubElement(root, "g", font)
    for place, row in enumerate(rows):
        top = place * (HEIGHT + GAP)
        _box(group, row.label, LABEL_COLOUR, 0, left, top)
        _box(group, row.value, COLOURS[row.colour], left, width - left, top)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _rows(report: Report) -> list[Row]:
    page = Page(report)
    summaries = list(page.summaries)
    if not summaries:
        return [Row("conformance", "no results", "silent", "conformance: no results")]
    qualifier = " selected" * bool(page.restrictions) + ", not complete" * (not report.complete)
    rows: list[Row] = []
    for summary in summaries:
        label = "conformance" if len(summaries) == 1 else f"conformance of {summary.name}"
        value = f"{summary.groups['kept']} of {summary.totals.total()}{qualifier}"
        partly = summary.group == "kept" and (summary.groups["declared"] or not report.complete)
        colour = "declared" if partly else summary.group
        rows.append(
            Row(printable(label), value, colour, f"{summary.name}: {value}. {summary.verdict}: {summary.sentence}.")
        )
    return rows


def _width(text: str) -> int:
    return round(len(text) * CHARACTER_WIDTH) + 2 * PADDING


def _box(parent: Element, text: str, colour: str, left: int, width: int, top: int) -> None:
    """Draw a text on a background of this width."""
    place = {"x": str(left), "y": str(top), "width": str(width), "height": str(HEIGHT)}
    SubElement(parent, "rect", {**place, "fill": colour})
    start = {"x": str(left + PADDING), "y": str(top + 14), "textLength": str(_width(text) - 2 * PADDING)}
    SubElement(parent, "text", start).text = text

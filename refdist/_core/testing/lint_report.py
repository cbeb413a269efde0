"""What a static look at a step has found, and which lines ask not to be told."""

import ast
import dataclasses
import functools
import linecache
import re
import textwrap

from refdist._core.base.call_sites import Place, line_text
from refdist._core.base.html_tables import page, paragraph, table
from refdist._core.base.lint_finding import Finding

_SILENCED = re.compile(r"#\s*refdist:\s*ok(?:\(([\w\s,-]*)\))?")


class LintWarning(UserWarning):
    """A line that is probably wrong on several replicas."""


@dataclasses.dataclass(frozen=True)
class LintReport:
    """What was found in a step: true if anything was.

    >>> bool(LintReport(()))
    False
    >>> print(LintReport(()))
    Nothing was found.
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()  # what could not be looked at, and why

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __str__(self) -> str:
        parts = [_text(finding) for finding in self.findings] or ["Nothing was found."]
        return "\n".join([*parts, *(textwrap.fill(note, 80) for note in self.notes)])

    def _repr_html_(self) -> str:
        rows = [(one.kind, _where(one.place), one.message, one.remedy) for one in self.findings]
        found = table("", ["kind", "line", "why", "what to do"], rows) if rows else paragraph("Nothing was found.")
        return page(found, *map(paragraph, self.notes))


def silenced(finding: Finding) -> bool:
    """Say whether one of the lines of a finding has the comment `# refdist: ok`, for all kinds or for this one."""
    for place in (finding.place, *finding.others):
        for line in _statement(place) if place is not None else ():
            for found in _SILENCED.finditer(line):
                kinds = found.group(1)
                if kinds is None or finding.kind in re.split(r"[\s,]+", kinds):
                    return True
    return False


def _statement(place: Place) -> list[str]:
    """The lines of the statement at a place: a comment may stand at the end of any of them."""
    first, last = place.line, place.line
    for begin, end in _statements("".join(linecache.getlines(place.file))):
        if begin <= place.line <= end:
            first, last = begin, end
    return [linecache.getline(place.file, number) for number in range(first, last + 1)]


@functools.lru_cache(32)
def _statements(source: str) -> tuple[tuple[int, int], ...]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()
    simple = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    return tuple((node.lineno, node.end_lineno or node.lineno) for node in simple)


def _where(place: Place | None) -> str:
    return line_text(place.file, place.line) if place is not None else "somewhere in the step"


def _text(finding: Finding) -> str:
    lines = [f"{_where(finding.place)}: {finding.kind}"]
    for place in (finding.place, *finding.others):
        source = linecache.getline(place.file, place.line).strip() if place is not None else ""
        if place is not None and source:
            lines.append(f"  {place.line:>5} | {source}"[:80])
    lines.append(textwrap.fill(finding.message, 80, initial_indent="  ", subsequent_indent="  "))
    lines.append(textwrap.fill(finding.remedy, 80, initial_indent="  ", subsequent_indent="  "))
    return "\n".join(lines)

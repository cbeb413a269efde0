"""Reports say where and why, and lines may ask not to be told of."""

import pytest

from refdist._core.base.call_sites import Place
from refdist._core.base.lint_finding import KINDS, Finding
from refdist._core.testing.lint_report import LintReport, silenced


def finding(path, line, kind="reduced-twice"):
    return Finding(kind, Place(str(path), "step", line, 0), "A value <is> summed " + "again and " * 12 + "again.")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("total = f(x)\n", False),
        ("total = f(x)  # refdist: ok\n", True),
        ("total = f(x)  # refdist: ok(reduced-twice)\n", True),
        ("total = f(x)  # refdist: ok(meeting, reduced-twice)\n", True),
        ("total = f(x)  # refdist: ok(meeting)\n", False),
        ("total = f(\n    x,\n)  # refdist: ok\n", True),
        ("total = f(x)\nother = 1  # refdist: ok\n", False),
    ],
)
def test_a_comment_on_the_statement_silences_its_line(source, expected, tmp_path):
    path = tmp_path / "step.py"
    path.write_text(source)

    assert expected == silenced(finding(path, 1))


def test_a_report_fits_into_80_columns_and_shows_the_line(tmp_path):
    path = tmp_path / "step.py"
    path.write_text("total = f(x)\n")
    report = LintReport((finding(path, 1),), ("A note. " * 20,))
    lines = str(report).splitlines()

    assert report
    assert any("total = f(x)" in line for line in lines)
    assert all(len(line) <= 80 for line in lines[1:])
    assert "&lt;is&gt;" in report._repr_html_()


def test_a_finding_without_a_line_is_told_too():
    report = LintReport((Finding("meeting", None, "Replicas do not meet."),))

    assert "somewhere in the step" in str(report)
    assert KINDS["meeting"] in str(report)

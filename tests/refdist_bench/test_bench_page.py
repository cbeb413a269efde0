import re

import pytest

from refdist_bench.bench_page import render
from refdist_bench.benchmark_case import Who
from refdist_bench.pictures import bars, costs_over_replicas, fitted_exponent, trends
from tests.refdist_bench.measured_data import SLOW, measured, result, run


def test_a_page_needs_no_scripts_and_no_network_and_escapes_what_it_is_given():
    text = render(run(result("<script>alert(1)</script>", problem="<b>why"), SLOW))

    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "&lt;b&gt;why" in text
    assert not re.search(r"""(?:src|href)=["'](?!data:,)""", text)
    assert "prefers-color-scheme: dark" in text


def test_a_page_says_which_goals_are_missed_and_by_how_much():
    assert '<li>slow: <span class="missed">2x raw</span>, goal &lt;=1.5x raw</li>' in render(run(SLOW))


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_found(exponent):
    points = [(n, 3e-6 * n**exponent) for n in (2, 8, 64, 1024)]

    assert exponent == pytest.approx(fitted_exponent(points), abs=1e-9)


def test_a_series_of_three_numbers_of_replicas_is_drawn_with_its_exponent():
    def at(n):
        return result(f"run {n}", measured(Who.REFDIST, n * 1e-6), series="run", replicas=n)

    (picture,) = costs_over_replicas([at(1), at(10), at(100), result("alone")])
    (line,) = picture.lines
    (x0, y0), (x1, y1), (x2, y2) = line.points

    assert "n^1.00" == line.note
    assert (x1 - x0, y0 - y1) == pytest.approx((x2 - x1, y1 - y2), abs=0.2)
    assert ["1", "10", "100"] == [words for _, words in picture.across]
    assert [] == costs_over_replicas([at(1), at(10)])


def test_a_bar_ends_at_the_median_and_has_a_line_over_the_middle_half():
    ours, raw = bars(result("a", measured(Who.REFDIST, 1, 2, 3, 4, 5), measured(Who.RAW, 8, 8, 8, first=2.0)))

    assert (37.5, 25.0, 50.0) == (ours.length, ours.low, ours.high)
    assert (100.0, "2.00 s", "raw") == (raw.length, raw.first, raw.style)


def test_a_trend_goes_over_runs_by_their_date_and_keeps_to_one_figure():
    first, second = (
        run(result("a", measured(Who.REFDIST, time), measured(Who.RAW, 1)), result("new"), date=date)
        for time, date in ((2, "2026-01-01"), (4, "2026-02-01"))
    )
    other = run(result("b"), date="2026-03-01")
    (picture,) = [one for one in trends([second, other, first]) if one.title.startswith("a:")]

    assert "a: ratio to raw JAX" == picture.title
    assert ["2026-01-01", "2026-02-01"] == [words for _, words in picture.across]
    assert ["0.00x", "4.00x"] == [words for _, words in picture.up]
    assert [] == [one for one in trends([second, other]) if one.title.startswith("a")]

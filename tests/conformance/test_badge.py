"""The badge says how many behaviors are kept of all, and nothing better than that."""

from xml.etree import ElementTree

import pytest

from conformance.badge import COLOURS, LABEL_COLOUR, render
from conformance.results import Result, Status
from conformance.selection import Selection
from tests.conformance.test_html import _luminance, report  # pyright: ignore[reportPrivateUsage]
from tests.conformance.test_report import MIXED

SPACE = "{http://www.w3.org/2000/svg}"


def drawn(*statuses: str, **fields: object) -> tuple[list[str | None], str | None, str]:
    """The texts, the colour of the last box, and the text for those who do not see it."""
    chosen = {"selection": Selection(("one",)), **fields}
    results = [Result(f"RUN-{number:02}", "one", 1, Status[name]) for number, name in enumerate(statuses, 1)]
    root = ElementTree.fromstring(render(report(*results, **chosen)))
    assert root.get("aria-label") == root.findtext(f"{SPACE}title")
    boxes = root.findall(f".//{SPACE}rect")
    return [text.text for text in root.iter(f"{SPACE}text")], boxes[-1].get("fill"), str(root.get("aria-label"))


@pytest.mark.parametrize(
    ("statuses", "value", "colour"),
    [
        (["PASS", "PASS"], "2 of 2", "kept"),
        (["PASS", "UNSUPPORTED"], "1 of 2", "kept"),
        (["PASS", "DIVERGES"], "1 of 2", "declared"),
        (["PASS", "FAIL"], "1 of 2", "broken"),
        (["PASS", "NOT_RUN"], "1 of 2", "broken"),
        (["UNSUPPORTED", "SKIP"], "0 of 2", "silent"),
    ],
)
def test_the_badge_counts_what_is_kept_of_everything(statuses: list[str], value: str, colour: str) -> None:
    texts, drawn_colour, _ = drawn(*statuses)

    assert (["conformance", value], COLOURS[colour]) == (texts, drawn_colour)


def test_a_restricted_run_says_so() -> None:
    assert "1 of 1 selected" in drawn("PASS", selection=Selection(("one",), ("RUN",)))[0]
    assert "1 of 1 selected" in drawn("PASS", selection=Selection(("one",), mode="quick"))[0]


def test_a_run_that_was_broken_off_is_not_green() -> None:
    texts, colour, _ = drawn("PASS", complete=False)

    assert ("1 of 1, not complete", COLOURS["declared"]) == (texts[1], colour)


def test_the_label_says_it_in_full() -> None:
    label = drawn("PASS", "FAIL", "UNSUPPORTED")[2]

    assert "one: 1 of 3. Does not conform: 1 of 2 checked behaviors kept, 1 broken, 1 not checked." == label


def test_several_implementations_have_a_row_each() -> None:
    root = ElementTree.fromstring(render(MIXED))

    texts = [text.text for text in root.iter(f"{SPACE}text")]
    assert ["conformance of one", "1 of 3 selected", "conformance of two", "0 of 3 selected"] == texts
    assert "44" == root.get("height")


def test_without_results_the_badge_says_that() -> None:
    assert ["conformance", "no results"] == drawn()[0]


def test_hostile_names_do_not_break_the_picture() -> None:
    results = [Result("RUN-01", name, 1, Status.PASS) for name in ("</text><script>", "\x00\ud800")]

    root = ElementTree.fromstring(render(report(*results)).encode("utf-8"))

    assert [] == list(root.iter(f"{SPACE}script"))


@pytest.mark.parametrize("colour", [LABEL_COLOUR, *COLOURS.values()])
def test_white_stands_out_from_every_colour_as_wcag_aa_asks(colour: str) -> None:
    assert 1.05 / (_luminance(colour) + 0.05) >= 4.5

"""The HTML report needs nothing beside it, says everything, and cannot be broken by what an implementation prints."""

import html.parser
import re
from collections.abc import Iterable
from dataclasses import replace
from importlib import resources

import pytest

from conformance.catalogue import AREAS, load
from conformance.html import MEANINGS, render
from conformance.page import SIGNS, Page, group_of
from conformance.report import Report
from conformance.results import Result, Status
from conformance.selection import Selection
from tests.conformance.test_report import DETAIL, MIXED

HOSTILE = "</script><script>document.title = 'broken in'</script><img src=x onerror=alert(1)>\x00\x1b[31m \ud800 & \"'"
FAILING = Result("RUN-02", "one", 2, Status.FAIL, DETAIL, 0.25, "Mirrored with 2 replicas", "[1, 2]", "[1, 3]")


def report(*results: Result, **fields: object) -> Report:
    return replace(MIXED, results=results, **fields)  # pyright: ignore[reportArgumentType]


class Document(html.parser.HTMLParser):
    """The attributes and the texts of a document, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def values(self, name: str) -> list[str]:
        return [value for _, attribute, value in self.attributes if attribute == name]


def test_every_behavior_has_a_row_and_a_place_of_its_own() -> None:
    whole = report(*(Result(id, "one", 1, Status.PASS) for id in load()))

    document = Document(render(whole))

    assert list(load()) == document.values("data-id")
    ids = document.values("id")
    assert len(set(ids)) == len(ids)
    assert {*load(), *(f"{id}@one" for id in load())} <= set(ids)


def test_every_link_within_the_page_leads_somewhere() -> None:
    document = Document(render(MIXED))

    filters = {f"#status={status.name}&implementation={name}" for status in Status for name in ("one", "two")}
    for target in document.values("href"):
        if target.startswith("https:"):
            continue
        assert target == "data:," or target in filters or target[1:].replace("%40", "@") in document.values("id")


def test_the_same_report_gives_the_same_bytes() -> None:
    assert render(MIXED) == render(Report.from_json(MIXED.to_json()))


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = render(MIXED)
    document = Document(text)

    assert not {"iframe", "object", "embed", "img", "base"} & set(document.tags)
    assert [] == document.values("src")
    outside = {(tag, value) for tag, name, value in document.attributes if name == "href" and value[0] not in "#d"}
    assert {"a"} == {tag for tag, _ in outside}
    assert all(value.startswith("https://www.tensorflow.org/versions/r2.") for _, value in outside)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest", text)
    assert any("default-src 'none'" in value for value in document.values("content"))


def test_what_an_implementation_prints_stays_text() -> None:
    hostile = replace(FAILING, detail=HOSTILE, expected=HOSTILE, got=HOSTILE, strategy=HOSTILE)
    text = render(report(hostile, replace(hostile, implementation="<b>two</b>")))
    document = Document(text)

    text.encode("utf-8")
    assert 2 == document.tags.count("script")
    assert not any(name.startswith("on") for _, name, _ in document.attributes)
    assert "</script><script>document.title = 'broken in'</script><img src=x onerror=alert(1)>" in document.words
    assert "\\x00\\x1b[31m \\ud800 & \"'" in document.words
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", text)


def test_the_header_says_how_the_run_was_made() -> None:
    chosen = Selection(("one", "two"), ("RUN",), ("gather",), (1, 2), "quick", 7)

    words = Document(render(replace(MIXED, selection=chosen))).words

    assert f"3 of {len(load())} behaviors in 8 cases, complete" in words
    assert "only areas RUN; only texts or ids gather; only replicas 1, 2; only one replica count for each" in words
    assert "1.5 s, quick mode, seed 7; python 3" in words


def test_a_page_says_what_was_certified_and_when_and_where() -> None:
    facts = {"package": "mine", "version": "1.2", "commit": "abc+", "date": "2026-11-18T17:30:00Z", "platform": "Linux"}

    words = Document(render(replace(MIXED, certified={"one": facts}))).words

    assert "mine 1.2; commit abc+; 2026-11-18T17:30:00Z; Linux" in words


def test_areas_have_names_and_are_folded_where_all_is_well_and_there_are_many() -> None:
    results = [Result(id, "one", 1, Status.FAIL if id == "VAR-01" else Status.PASS) for id in load()]

    document = Document(render(report(*results)))

    assert "Attributes and methods ATTR, " in document.words
    assert 1 == len(document.values("data-unfolded"))
    assert set(AREAS) == set(Document(render(report(*results))).values("data-area"))


def test_a_run_that_was_broken_off_says_so_and_who_has_no_result() -> None:
    broken_off = report(Result("RUN-01", "one", 1, Status.PASS), complete=False)

    words = Document(render(broken_off)).words

    assert "The run was not completed. This is what was done. No result: two." in words
    assert "Conforms, as far as the run came" in words


def test_a_report_without_results_can_be_read() -> None:
    assert "There are no results." in Document(render(report())).words


@pytest.mark.parametrize(
    ("statuses", "verdict", "sentence"),
    [
        (["PASS", "PASS"], "Conforms", "2 of 2 checked behaviors kept"),
        (["PASS", "UNSUPPORTED"], "Conforms", "1 of 1 checked behaviors kept, 1 not checked"),
        (
            ["PASS", "DIVERGES", "XFAIL"],
            "Conforms, except as declared",
            "1 of 3 checked behaviors kept, 2 declared not to be kept",
        ),
        (["PASS", "FAIL", "CRASH"], "Does not conform", "1 of 3 checked behaviors kept, 2 broken"),
        (["PASS", "NOT_RUN"], "Does not conform", "1 of 1 checked behaviors kept, 1 not run because of others"),
        (["SKIP", "UNSUPPORTED"], "Nothing was checked", "0 of 0 checked behaviors kept, 2 not checked"),
    ],
)
def test_each_implementation_has_a_verdict(statuses: list[str], verdict: str, sentence: str) -> None:
    results = [Result(f"RUN-0{number}", "one", 1, Status[name]) for number, name in enumerate(statuses, 1)]

    (summary,) = Page(report(*results)).summaries

    assert (verdict, sentence) == (summary.verdict, summary.sentence)


def test_every_status_has_a_meaning_a_sign_and_words_on_the_page() -> None:
    results = [Result(f"RUN-0{number}", "one", 1, status) for number, status in enumerate(Status, 1) if number < 10]

    words = Document(render(report(*results, Result("RUN-10", "one", 1, list(Status)[-1])))).words

    assert set(Status) == set(MEANINGS)
    assert all(f"{SIGNS[group_of(status)]} {status.value}" in words for status in Status)
    assert all(MEANINGS[status] in words for status in Status)


def test_a_cell_says_with_which_replicas_and_on_which_strategy_it_happened() -> None:
    words = Document(render(report(Result("RUN-02", "one", 1, Status.PASS), FAILING))).words

    assert "✗ FAIL replicas 2 of 1, 2; Mirrored" in words


def test_the_details_name_statement_observation_source_and_evidence() -> None:
    page = render(report(replace(FAILING, detail=f"{DETAIL}\nat checks/run.py:7: it")))
    words = Document(page).words

    behavior = load()["RUN-02"]
    assert behavior.statement in words
    assert behavior.observe in words
    assert "tf.distribute.Strategy (2.3): run , overview" in words
    assert 'href="https://www.tensorflow.org/versions/r2.3/api_docs/python/tf/distribute/Strategy#run"' in page
    assert '@check("RUN-02"' in words
    assert "✗ FAIL with 2 replicas Mirrored, 0.250 s expected [1, 2] got [1, 3] detail at checks/run.py:7: it" in words
    assert "python -m conformance run --impl one -k RUN-02 --replicas 2" in words


def test_cases_that_ended_alike_are_shown_once() -> None:
    cases = [Result("RUN-02", "one", count, Status.PASS, seconds=0.5) for count in (1, 2, 3)]

    words = Document(render(report(*cases, Result("RUN-02", "one", 8, Status.UNSUPPORTED, "needs 8 devices")))).words

    assert (
        "✓ PASS with 1, 2, 3 replicas 1.500 s python -m conformance run --impl one -k RUN-02 --replicas 1,2,3" in words
    )
    assert "- UNSUPPORTED with 8 replicas 0.000 s reason needs 8 devices" in words


def test_long_lists_of_what_is_broken_are_folded_and_long_texts_cut() -> None:
    ids = [id for id in load() if id.startswith("VAR")][:10]
    long = [Result(id, "one", 1, Status.ERROR, f"ValueError: {'long ' * 100}{id}\na.py:7: in {id}") for id in ids]
    apart = [replace(result, detail=result.detail.replace("a.py:7", f"a.py:{n}")) for n, result in enumerate(long)]

    document = Document(render(report(*apart)))

    assert "2 more causes" in document.words
    assert "Broken on one: 10 by 10 causes" in document.words
    assert "Broken on one: 10 by 1 cause " in Document(render(report(*long))).words
    assert f"ValueError: {'long ' * 17}lon…" in document.words


def test_the_whole_catalogue_on_three_implementations_is_small() -> None:
    results = [
        Result(id, name, count, Status.PASS) for name in ("a", "b", "c") for id in load() for count in (1, 2, 3, 8)
    ]

    assert len(render(report(*results)).encode()) < 1_400_000


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_stand_out_from_their_ground_as_wcag_aa_asks(theme: int) -> None:
    style = (resources.files("conformance") / "templates" / "report.css").read_text()
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colours = {name: _luminance(pair[theme]) for name, *pair in found}
    pairs = [(name, f"{name}-back") for name in SIGNS]
    pairs += [(text, ground) for text in ("ink", "soft", "link", *SIGNS) for ground in ("page", "raised")]

    for text, ground in pairs:
        lighter, darker = sorted((colours[text], colours[ground]), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, f"{text} on {ground}"

"""The HTML report in a real browser: filters, search, addresses and keys."""

import pathlib
from collections.abc import Callable, Generator
from dataclasses import replace

import pytest

from conformance.html import render
from conformance.results import Result, Status
from tests.conformance.browser import PATH, Browser, browser
from tests.conformance.test_html import FAILING, HOSTILE
from tests.conformance.test_report import MIXED

pytestmark = pytest.mark.skipif(PATH is None, reason="there is no Chromium on this machine")

REPORT = replace(
    MIXED,
    results=(
        Result("RUN-01", "one", 1, Status.PASS),
        Result("RUN-01", "one", 2, Status.PASS),
        Result("RUN-02", "one", 1, Status.PASS),
        FAILING,
        Result("RUN-03", "one", 1, Status.FAIL, HOSTILE),
        Result("VAR-01", "one", None, Status.UNSUPPORTED, "has no check yet"),
        Result("DEVICE-01", "one", 1, Status.PASS),
        Result("RUN-01", "two", 1, Status.DIVERGES, "it is declared"),
        Result("RUN-02", "two", 1, Status.PASS),
        Result("RUN-02", "two", 2, Status.NOT_RUN, "needs RUN-01"),
        Result("RUN-03", "two", 1, Status.CRASH, "the process died"),
        Result("VAR-01", "two", 1, Status.PASS),
    ),
)
ROWS = '[...document.querySelectorAll("tr[data-id]")].filter(row => row.offsetParent).map(row => row.dataset.id)'
OPENED = 'document.querySelector("dialog[open] article")?.id ?? ""'
ESCAPE, ENTER = ("Escape", 27), ("Enter", 13)

Open = Callable[[str], Browser]


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    file: pathlib.Path = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render(REPORT), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def page(chromium: Browser, address: str) -> Generator[Open]:
    def open(state: str = "") -> Browser:
        chromium.open(address + state)
        return chromium

    yield open
    assert [] == chromium.complaints()


@pytest.mark.parametrize(
    ("state", "ids"),
    [
        ("", ["VAR-01", "RUN-01", "RUN-02", "RUN-03", "DEVICE-01"]),
        ("#status=FAIL", ["RUN-02", "RUN-03"]),
        ("#status=broken", ["RUN-02", "RUN-03"]),
        ("#status=NOT_RUN", ["RUN-02"]),
        ("#status=UNSUPPORTED", ["VAR-01"]),
        ("#status=implementations-differ", ["VAR-01", "RUN-01", "RUN-02", "RUN-03"]),
        ("#status=replicas-differ", ["RUN-02"]),
        ("#status=CRASH&implementation=two", ["RUN-03"]),
        ("#status=CRASH&implementation=one", []),
        ("#implementation=two", ["VAR-01", "RUN-01", "RUN-02", "RUN-03"]),
        ("#area=VAR", ["VAR-01"]),
        ("#level=advice", []),
        ("#strategy=Mirrored", ["VAR-01", "RUN-01", "RUN-02", "RUN-03", "DEVICE-01"]),
        ("#strategy=TPU", ["RUN-01", "RUN-02", "RUN-03", "DEVICE-01"]),
        ("#strategy=OneDevice.v1&status=FAIL", ["RUN-02", "RUN-03"]),
        ("#replicas=2", ["RUN-01", "RUN-02"]),
        ("#replicas=1&status=FAIL", ["RUN-03"]),
        ("#q=run-02", ["RUN-02"]),
        ("#q=EVERY+replica", ["RUN-02"]),
        ("#q=component&area=RUN", ["RUN-03"]),
        ("#q=zebra", []),
        ("#area=NOWHERE&status=GREEN", ["VAR-01", "RUN-01", "RUN-02", "RUN-03", "DEVICE-01"]),
    ],
)
def test_the_address_filters_the_rows(page: Open, state: str, ids: list[str]) -> None:
    shown = page(state)

    assert ids == shown.ask(ROWS)
    assert f"{len(ids)} of 5 shown" == shown.ask('document.querySelector("output").textContent')
    assert bool(ids) == shown.ask('document.querySelector("#nothing").hidden')


def test_what_is_typed_filters_the_rows_and_is_kept_in_the_address(page: Open) -> None:
    shown = page()

    shown.ask('document.querySelector("[name=q]").focus()')
    shown.call("Input.insertText", text="device")

    assert ["DEVICE-01"] == shown.ask(ROWS)
    assert "#q=device" == shown.ask("location.hash")


def test_clearing_the_filters_shows_everything(page: Open) -> None:
    shown = page("#q=zebra")

    shown.ask('document.querySelector("#nothing button").click(); new Promise(done => setTimeout(done))')

    assert 5 == len(shown.ask(ROWS))


def test_one_implementation_has_one_column(page: Open) -> None:
    heads = '[...document.querySelectorAll("thead th")].filter(head => head.offsetParent).map(head => head.textContent)'

    assert ["Behavior", "two"] == page("#implementation=two").ask(heads)


def test_with_one_replica_count_cells_and_totals_are_those_of_its_cases(page: Open) -> None:
    cell = 'document.querySelector("[data-id=RUN-02] td").innerText.trim()'
    totals = 'document.querySelector("[data-area=RUN] .totals").innerText.trim().split(/\\s{1,}/).join(" ")'

    assert "✗ FAIL\nreplicas 2 of 1, 2; Mirrored" == page().ask(cell)
    assert "✓ PASS" == page("#replicas=1").ask(cell)
    assert "2 PASS 1 FAIL" == page("#replicas=1").ask(totals)
    assert "1 PASS 1 FAIL" == page("#replicas=2").ask(totals)


@pytest.mark.parametrize("state", ["#RUN-02", "#RUN-02@one", "#status=FAIL&id=RUN-02@one"])
def test_an_address_opens_a_behavior_at_its_start(page: Open, state: str) -> None:
    shown = page(state)

    assert "RUN-02" == shown.ask(OPENED)
    assert "RUN-02-title" == shown.ask("document.activeElement.id")
    assert 0 == shown.ask('document.querySelector("dialog").scrollTop')
    first = shown.ask('document.querySelector("dialog article section").id')
    pointed = shown.ask('document.querySelector("dialog .pointed")?.id ?? ""')
    assert ("RUN-02@one", "RUN-02@one" if "@" in state else "") == (first, pointed)


@pytest.mark.parametrize("state", ["#RUN-99", "#%", "#nothing", "#id=panel"])
def test_an_address_that_names_no_behavior_opens_nothing(page: Open, state: str) -> None:
    assert "" == page(state).ask(OPENED)


def test_a_cell_is_opened_and_closed_with_the_keyboard(page: Open) -> None:
    shown = page("#status=FAIL")

    shown.ask('document.querySelector("[data-id=RUN-02] td a").focus()')
    shown.press(*ENTER)
    assert "RUN-02" == shown.ask(OPENED)
    assert "#status=FAIL&id=RUN-02%40one" == shown.ask("location.hash")
    shown.press(*ESCAPE)

    assert "" == shown.ask(OPENED)
    assert "#status=FAIL" == shown.ask("location.hash")
    assert "RUN-02@one" == shown.ask("document.activeElement.dataset.open")
    assert "RUN-02" == shown.ask('document.querySelector("#details #RUN-02").id')


def test_next_and_previous_go_through_what_is_shown(page: Open) -> None:
    shown = page("#status=FAIL&id=RUN-02@one")
    disabled = 'document.querySelector("dialog [value=previous]").disabled'

    assert shown.ask(disabled)
    shown.ask('document.querySelector("dialog [value=next]").click()')

    assert "RUN-03" == shown.ask(OPENED)
    assert "RUN-03@one" == shown.ask('document.querySelector("dialog .pointed").id')
    assert not shown.ask(disabled)


def test_going_back_closes_what_was_opened(page: Open) -> None:
    shown = page()

    shown.ask('document.querySelector("[data-id=RUN-02] th a").click()')
    assert "RUN-02" == shown.ask(OPENED)
    shown.ask("new Promise(done => { addEventListener('hashchange', () => setTimeout(done)); history.back(); })")

    assert "" == shown.ask(OPENED)


def test_the_command_can_be_copied(page: Open) -> None:
    shown = page("#RUN-02@one")
    button = 'document.querySelector("dialog .pointed .command button")'

    shown.ask(
        f"{button}.click(); new Promise(done => new MutationObserver(done).observe({button}, {{childList: true}}))"
    )

    # A page from a file may not always write to the clipboard; then the text is selected.
    assert shown.ask(f"{button}.textContent") in ("Copied", "Selected")


def test_hostile_details_are_shown_and_do_nothing(page: Open) -> None:
    shown = page("#RUN-03@one")

    assert "Conformance of one, two" == shown.ask("document.title")
    assert "</script><script>" in shown.ask('document.querySelector("dialog .pointed pre").textContent')
    assert 2 == shown.ask("document.scripts.length")


def test_when_the_script_breaks_the_page_is_the_one_without_scripts(page: Open, chromium: Browser) -> None:
    program = "Document.prototype.querySelectorAll = () => { throw new Error('no selectors here'); }"
    number = chromium.call("Page.addScriptToEvaluateOnNewDocument", source=program)["identifier"]
    shown = page()
    chromium.call("Page.removeScriptToEvaluateOnNewDocument", identifier=number)

    assert ["none", "block"] == shown.ask(
        '["#filters", "#details"].map(place => getComputedStyle(document.querySelector(place)).display)'
    )
    page()  # The error above was wanted; no complaint is left of it.


def test_the_theme_follows_the_system_until_it_is_chosen(page: Open, chromium: Browser) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    for theme, colour in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 28)")):
        chromium.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        assert colour == page().ask(ground)

    chromium.ask('document.querySelector("#theme").click()')

    assert "rgb(255, 255, 255)" == chromium.ask(ground)
    chromium.call("Emulation.setEmulatedMedia", features=[])
    chromium.ask("localStorage.clear()")


@pytest.mark.parametrize("width", [360, 768, 1400])
@pytest.mark.parametrize("state", ["", "#RUN-03@one"])
def test_nothing_is_wider_than_the_window(page: Open, chromium: Browser, width: int, state: str) -> None:
    chromium.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
    )
    shown = page(state)
    widest = shown.ask("Math.max(document.documentElement.scrollWidth, document.querySelector('dialog').scrollWidth)")
    chromium.call("Emulation.clearDeviceMetricsOverride")

    assert widest <= width


def test_without_scripts_the_page_is_a_table_with_the_details_below(page: Open, chromium: Browser) -> None:
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    shown = page("#RUN-03@one")
    tree = shown.call("Accessibility.getFullAXTree")["nodes"]
    chromium.call("Emulation.setScriptExecutionDisabled", value=False)

    names = {(node["role"]["value"], node.get("name", {}).get("value")) for node in tree if not node["ignored"]}
    assert ("heading", "RUN-03 Distributed positional arguments are unpacked") in names
    assert ("columnheader", "one") in names
    assert [] == [name for name in names if name[0] in ("combobox", "searchbox", "button", "dialog")]

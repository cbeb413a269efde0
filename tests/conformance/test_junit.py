"""The JUnit report can be parsed whatever is in it, and counts as CI servers do."""

from xml.etree import ElementTree

from conformance.junit import render
from conformance.results import Result, Status
from tests.conformance.test_html import FAILING, HOSTILE, report
from tests.conformance.test_report import MIXED


def test_there_is_a_suite_for_each_implementation_and_a_case_for_each_result() -> None:
    root = ElementTree.fromstring(render(MIXED))

    assert ["one", "two"] == [suite.get("name") for suite in root]
    assert [5, 3] == [len(suite.findall("testcase")) for suite in root]
    assert ("testsuites", "8", "1", "2", "1.500") == (root.tag, *map(root.get, ("tests", "failures", "errors", "time")))
    assert ["5", "1", "0", "2"] == [root[0].get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert ["3", "0", "2", "1"] == [root[1].get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert "0.250" == root[0].get("time")


def test_a_case_has_area_id_title_and_replicas() -> None:
    suite = ElementTree.fromstring(render(MIXED))[0]

    cases = [(case.get("classname"), case.get("name"), case.get("time")) for case in suite.findall("testcase")]
    assert ("RUN", "RUN-02 fn runs once for each replica [replicas=2]", "0.250") == cases[3]
    assert "replicas=" not in str(cases[4])


def test_each_status_becomes_one_element_with_its_message() -> None:
    results = [Result("RUN-01", "one", count, status, "why\nmore") for count, status in enumerate(Status, 1)]

    cases = ElementTree.fromstring(render(report(*results)))[0].findall("testcase")

    kinds = {status: [child.tag for child in case] for status, case in zip(Status, cases, strict=True)}
    assert [] == kinds.pop(Status.PASS)
    assert ["failure"] == kinds.pop(Status.FAIL)
    assert {Status.ERROR, Status.TIMEOUT, Status.CRASH} == {key for key, tags in kinds.items() if tags == ["error"]}
    assert all(tags in (["error"], ["skipped"]) for tags in kinds.values())
    for status, case in zip(Status, cases, strict=True):
        for child in case:
            assert (status.value, f"{status.value}: why") == (child.get("type"), child.get("message"))


def test_a_failure_names_both_sides_and_the_command() -> None:
    failure = ElementTree.fromstring(render(report(FAILING)))[0].find("testcase/failure")

    assert failure is not None
    assert "FAIL: expected [1, 2]; got [1, 3]" == failure.get("message")
    assert str(failure.text).endswith("\n\npython -m conformance run --impl one -k RUN-02 --replicas 2\n")
    assert FAILING.detail in str(failure.text)


def test_the_properties_have_versions_and_seed() -> None:
    properties = ElementTree.fromstring(render(MIXED))[0].findall("properties/property")

    expected = {"mode": "full", "seed": "0", "complete": "true", "python": "3"}
    assert expected == {property.get("name"): property.get("value") for property in properties}


def test_what_xml_cannot_hold_is_written_as_python_writes_it() -> None:
    hostile = f"{HOSTILE} ]]> <!-- \ufffe \r\n\x85 \x9b \U0001f600"
    text = render(report(Result("RUN-01", '<&\x00">', 1, Status.ERROR, hostile)))

    suite = ElementTree.fromstring(text.encode("utf-8"))[0]

    error = suite.find("testcase/error")
    assert error is not None
    assert '<&\\x00">' == suite.get("name")
    assert "\\x00\\x1b[31m \\ud800 & \"' ]]> <!-- \\ufffe \\r\n\\x85 \\x9b \U0001f600" in str(error.text)


def test_the_same_report_gives_the_same_bytes() -> None:
    assert render(MIXED) == render(report(*MIXED.results))


def test_a_report_without_results_is_a_document_too() -> None:
    assert 0 == len(ElementTree.fromstring(render(report())))

"""Files of expected failures and of skipped checks: what they may say, and how they are rewritten."""

import pathlib

import pytest

from conformance.declarations import Declarations, WrongFile, read, rewritten
from conformance.results import Case, Result, Status

COUNTS = {"RUN-01": (1, 2), "RUN-02": (1, 2, 3), "RUN-03": (1,)}


def result(id: str, replicas: int | None, status: Status, detail: str = "it broke\nin the second line") -> Result:
    return Result(id, "fake", replicas, status, detail)


def test_a_file_has_an_id_and_a_reason_on_each_line(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "xfails"
    file.write_text("# what we know\n\nrun-01   # it is # slow\nRUN-02@3 # no third device\n")

    assert {"RUN-01": "it is # slow", "RUN-02@3": "no third device"} == read(file, COUNTS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RUN-01", "expected a reason"),
        ("RUN-01 #  ", "expected a reason"),
        ("RUN-99 # why", "expected the id of a check"),
        ("RUN-03@2 # why", "expected one of the replica counts of RUN-03: 1"),
        ("RUN-03@two # why", "expected one of the replica counts"),
        ("RUN-01 # why\nRUN-01 # why", "xfails:2 has RUN-01 a second time"),
    ],
)
def test_a_line_that_says_something_else_is_refused(tmp_path: pathlib.Path, text: str, message: str) -> None:
    file = tmp_path / "xfails"
    file.write_text(text)

    with pytest.raises(WrongFile, match=message):
        read(file, COUNTS)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")

    for name in ("missing", "binary"):
        with pytest.raises(WrongFile, match="Correct the name"):
            read(tmp_path / name, COUNTS)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (Status.FAIL, Status.XFAIL),
        (Status.ERROR, Status.XFAIL),
        (Status.TIMEOUT, Status.XFAIL),
        (Status.CRASH, Status.XFAIL),
        (Status.PASS, Status.FAIL),
        (Status.UNSUPPORTED, Status.UNSUPPORTED),
        (Status.DIVERGES, Status.DIVERGES),
    ],
)
def test_what_is_expected_to_fail_must_fail(status: Status, expected: Status) -> None:
    declared = Declarations(xfails={"RUN-01@2": "known"})

    assert expected is declared.judged(Case("RUN-01", 2), result("RUN-01", 2, status)).status
    assert status is declared.judged(Case("RUN-01", 1), result("RUN-01", 1, status)).status


def test_the_count_wins_over_the_behavior() -> None:
    declared = Declarations(skips={"RUN-01": "all of it", "RUN-01@2": "two"})

    assert ["all of it", "two"] == [declared.skipped(Case("RUN-01", count)) for count in (1, 2)]


def test_what_fails_is_added_with_the_first_line_of_the_failure() -> None:
    results = [
        result("RUN-01", 1, Status.FAIL),
        result("RUN-01", 2, Status.CRASH, "the process died"),
        result("RUN-02", 1, Status.PASS),
        result("RUN-02", 2, Status.UNSUPPORTED),
        result("RUN-02", 3, Status.ERROR, "\n"),
        result("RUN-03", None, Status.UNSUPPORTED, "has no check yet"),
    ]

    assert "RUN-01  # it broke\nRUN-02@3  # fails\n" == rewritten("", results)


def test_lines_of_what_still_fails_or_was_not_run_stay_as_they_are() -> None:
    text = "# known\n\nRUN-01 #  my reason\nrun-02@3   # another\nRUN-03 # not selected\n"
    results = [
        *(result("RUN-01", count, Status.FAIL) for count in (1, 2)),
        result("RUN-02", 1, Status.PASS),
        result("RUN-02", 3, Status.FAIL),
    ]

    assert text == rewritten(text, results)


def test_lines_of_what_passes_go() -> None:
    text = "RUN-01 # was broken\nRUN-02@3 # was broken\n# the end\n"
    results = [
        *(result("RUN-01", count, Status.PASS) for count in (1, 2)),
        result("RUN-02", 3, Status.PASS),
    ]

    assert "# the end\n" == rewritten(text, results)


def test_a_behavior_that_begins_to_pass_with_some_counts_keeps_its_reason_for_the_others() -> None:
    results = [
        result("RUN-02", 1, Status.PASS),
        result("RUN-02", 2, Status.FAIL),
        result("RUN-02", 3, Status.FAIL),
    ]

    assert "RUN-02@2  # known\nRUN-02@3  # known\n" == rewritten("RUN-02 # known\n", results)
    both = "RUN-02 # known\nRUN-02@3 # more is known\n"
    assert "RUN-02@2  # known\nRUN-02@3 # more is known\n" == rewritten(both, results)


def test_a_count_that_begins_to_fail_is_added_beside_the_others() -> None:
    results = [result("RUN-02", count, Status.FAIL) for count in (1, 2, 3)]

    assert "RUN-02@1 # one\nRUN-02@2  # it broke\nRUN-02@3  # it broke\n" == rewritten("RUN-02@1 # one\n", results)


def test_a_rewritten_file_is_rewritten_to_itself() -> None:
    results = [result("RUN-02", 1, Status.PASS), result("RUN-02", 2, Status.FAIL), result("RUN-01", 1, Status.FAIL)]
    once = rewritten("RUN-02@1 # old\n# a note\n", results)

    assert once == rewritten(once, results)

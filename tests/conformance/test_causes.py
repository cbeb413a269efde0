"""Failures of one cause are told as one, and failures of two causes as two."""

from conformance.causes import grouped
from conformance.results import Result, Status


def error(id: str, detail: str, status: Status = Status.ERROR) -> Result:
    return Result(id, "one", 1, status, detail)


def found(*results: Result) -> list[tuple[str, ...]]:
    return [cause.ids for cause in grouped(results)]


def test_a_missing_name_is_one_cause_whoever_lacks_it() -> None:
    missing = [
        error(
            "RUN-01",
            "AttributeError: 'Mirrored' object has no attribute 'extended'\nconformance/checks/run.py:7: in a: x",
        ),
        error(
            "RUN-02",
            "AttributeError: 'OneDevice' object has no attribute 'extended'\nconformance/checks/run.py:9: in b: y",
        ),
        error(
            "RUN-03",
            "AttributeError: 'OneDevice' object has no attribute 'scope'\nconformance/checks/run.py:9: in b: y",
        ),
    ]

    assert [("RUN-01", "RUN-02"), ("RUN-03",)] == found(*missing)
    assert "no attribute 'extended'" == grouped(missing)[0].text


def test_one_line_of_the_implementation_is_one_cause_whatever_it_says() -> None:
    one = error(
        "RUN-01", "NotImplementedError: mean\nconformance/checks/run.py:7: in a: x\nmine.py:3: in reduce: raise"
    )
    two = error("RUN-02", "NotImplementedError: sum\nconformance/checks/run.py:9: in b: x\nmine.py:3: in reduce: raise")
    other = error("RUN-03", "NotImplementedError: sum\nconformance/checks/run.py:9: in b: x\nmine.py:8: in run: raise")

    assert [("RUN-01", "RUN-02"), ("RUN-03",)] == found(one, two, other)


def test_comparisons_of_two_checks_are_two_causes() -> None:
    one = Result("RUN-01", "one", 1, Status.FAIL, "expected: 1\ngot: 2\nat a.py:1: x", expected="1", got="2")
    two = Result("RUN-02", "one", 1, Status.FAIL, "expected: 1\ngot: 2\nat a.py:9: x", expected="1", got="2")

    assert [("RUN-01",), ("RUN-02",)] == found(one, two)


def test_the_exception_that_a_check_got_in_place_of_another_is_the_cause() -> None:
    got = "AttributeError: module 'mine' has no attribute 'errors'"
    one = Result("RUN-01", "one", 1, Status.FAIL, f"got: {got}", expected="ValueError raised", got=got)

    assert [("RUN-01", "RUN-02")] == found(one, error("RUN-02", got))


def test_deaths_at_different_places_are_different_causes() -> None:
    place = 'the process died (signal SIGSEGV)\nFatal Python error\n  File "/x/mine.py", line {} in f'
    crashes = [error(f"RUN-0{n}", place.format(line), Status.CRASH) for n, line in ((1, 3), (2, 3), (3, 9))]

    assert [("RUN-01", "RUN-02"), ("RUN-03",)] == found(*crashes)

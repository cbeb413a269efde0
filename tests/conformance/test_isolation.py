"""A case that is run apart leaves nothing behind, and its end is the end of the process that runs it."""

from conformance.results import Result
from conformance.runner import Job, run


def statuses(implementation: str, *ids: str, timeout: float = 60.0) -> list[str]:
    job = Job(f"tests.conformance.fake:{implementation}", ids, timeout=timeout, checks="tests.conformance.fake:checks")
    found: list[Result] = list(run(job))
    return [result.status.name for result in found]


def test_a_case_sees_what_the_case_before_it_has_left_unless_they_are_isolated() -> None:
    assert ["PASS", "FAIL", "FAIL"] == statuses("fake", "RUN-14")
    assert ["PASS", "PASS", "PASS"] == statuses("isolated", "RUN-14")


def test_isolation_changes_no_status() -> None:
    ids = ("RUN-01", "RUN-02", "RUN-03", "RUN-04", "RUN-08", "RUN-11")

    assert statuses("fake", *ids) == statuses("isolated", *ids)


def test_an_isolated_case_that_hangs_is_ended() -> None:
    assert ["PASS", "TIMEOUT", "PASS"] == statuses("isolated", "RUN-05", timeout=3.0)

"""The runner reaches every status, and goes on after a child that died or hung."""

from typing import Any

import pytest

from conformance import jobs
from conformance.catalogue import load
from conformance.declarations import Declarations
from conformance.implementations import UnknownName, find
from conformance.jobs import HEAVY_WEIGHT, Job, Task, shares
from conformance.results import Case, Result, Status, worst
from conformance.runner import SuiteError, run
from conformance.worker import _kept_programs

FAKE = "tests.conformance.fake:fake"
CHECKS = "tests.conformance.fake:checks"


def results(*ids: str, implementation: str = FAKE, **options: Any) -> list[Result]:
    return list(run(Job(implementation, ids, checks=CHECKS, **options)))


def test_each_case_is_reported_with_its_status() -> None:
    found = results("RUN-01", "RUN-02", "RUN-03", "RUN-06", "RUN-07", "RUN-08", "RUN-09")

    by_behavior = {id: [result.status.name for result in found if result.id == id] for id in ("RUN-01", "RUN-08")}
    assert {"RUN-01": ["PASS"] * 3, "RUN-08": ["PASS", "DIVERGES", "PASS"]} == by_behavior
    expected = {
        "RUN-01": Status.PASS,
        "RUN-02": Status.FAIL,
        "RUN-03": Status.ERROR,
        "RUN-06": Status.DIVERGES,
        "RUN-07": Status.FAIL,
        "RUN-08": Status.DIVERGES,
        "RUN-09": Status.UNSUPPORTED,
    }
    assert expected == {id: worst(result.status for result in found if result.id == id) for id in expected}
    assert {FAKE} == {result.implementation for result in found}
    assert {("7", "3", "Mirrored with 3 replicas")} == {(r.expected, r.got, r.strategy) for r in found if r.got == "3"}


def test_a_child_that_exits_is_a_crash_of_the_running_case_only() -> None:
    found = results("RUN-03", "RUN-04", "RUN-01")

    expected = ["ERROR"] * 3 + ["PASS", "CRASH", "PASS"] + ["PASS"] * 3
    assert expected == [result.status.name for result in found]
    assert "the process died (exit code 7)\nlast words" == found[4].detail


def test_a_child_that_is_killed_is_reported_with_its_signal() -> None:
    found = results("RUN-11")

    assert ["CRASH"] * 3 == [result.status.name for result in found]
    assert all("signal SIGKILL" in result.detail for result in found)


def test_a_check_that_hangs_is_ended_and_shows_where_it_hung() -> None:
    found = results("RUN-05", timeout=3)

    assert ["PASS", "TIMEOUT", "PASS"] == [result.status.name for result in found]
    assert "did not end within 3 s" in found[1].detail
    assert "_hangs" in found[1].detail


def test_what_cannot_be_checked_is_unsupported_without_a_child() -> None:
    started: list[Case] = []
    job = Job("tests.conformance.fake:broken", ("RUN-10", "RUN-12"), checks=CHECKS)

    found = list(run(job, lambda _, case: started.append(case)))

    assert [("RUN-10", 1), ("RUN-10", 2), ("RUN-10", 3), ("RUN-12", None)] == [(r.id, r.replicas) for r in found]
    assert {Status.UNSUPPORTED} == {result.status for result in found}
    assert ("needs data, function", "has no check yet") == (found[0].detail, found[-1].detail)
    assert [] == started


def test_only_the_replica_counts_asked_for_are_run() -> None:
    started: list[str] = []
    job = Job(FAKE, ("RUN-01",), replicas=(2, 8), checks=CHECKS)

    found = list(run(job, lambda name, case: started.append(f"{name}: {case}")))

    assert [2] == [result.replicas for result in found]
    assert [f"{FAKE}: RUN-01 with 2 replicas"] == started


NEEDING = "tests.conformance.fake:needing"


def by_status(found: list[Result]) -> dict[str, list[str]]:
    """The statuses by id, in the order of the replica counts."""
    ordered = sorted(found, key=lambda result: (result.id, result.replicas or 0))
    return {id: [result.status.value for result in ordered if result.id == id] for id in {r.id: 0 for r in ordered}}


def needing(*ids: str, **options: Any) -> dict[str, list[str]]:
    return by_status(list(run(Job(FAKE, ids, checks=NEEDING, **options))))


def test_what_needs_a_broken_behavior_is_not_run() -> None:
    found = list(run(Job(FAKE, ("RUN-04", "RUN-03", "RUN-02", "RUN-01"), checks=NEEDING)))

    expected = {"RUN-01": ["PASS"] * 3, "RUN-02": ["FAIL"] * 3, "RUN-03": ["NOT RUN"] * 3, "RUN-04": ["NOT RUN"] * 3}
    assert expected == by_status(found)
    assert {"needs RUN-02"} == {result.detail for result in found if result.status is Status.NOT_RUN}


def test_a_behavior_that_is_broken_with_some_counts_holds_back_these_counts_only() -> None:
    assert {"RUN-09": ["PASS", "FAIL"], "RUN-10": ["PASS", "NOT RUN", "PASS"]} == needing("RUN-09", "RUN-10")


def test_a_crash_with_every_count_holds_back_all_counts() -> None:
    assert {"RUN-11": ["CRASH"], "RUN-12": ["NOT RUN"] * 3} == needing("RUN-11", "RUN-12")


def test_what_is_not_selected_holds_nothing_back() -> None:
    assert {"RUN-03": ["PASS"] * 3} == needing("RUN-03")


def test_a_patient_job_runs_everything() -> None:
    assert {"RUN-02": ["FAIL"] * 3, "RUN-03": ["PASS"] * 3} == needing("RUN-02", "RUN-03", patient=True)


def test_an_expected_failure_holds_nothing_back_and_what_passes_instead_is_a_failure() -> None:
    declared = Declarations(
        xfails={"RUN-02": "known", "RUN-03@2": "known"}, skips={"RUN-01": "slow", "RUN-04@3": "slow"}
    )

    found = needing("RUN-01", "RUN-02", "RUN-03", "RUN-04", declarations=declared)

    expected = {"RUN-01": ["SKIP"] * 3, "RUN-02": ["XFAIL"] * 3, "RUN-03": ["PASS", "FAIL", "PASS"]}
    assert expected | {"RUN-04": ["PASS", "PASS", "SKIP"]} == found


def test_quick_mode_runs_the_smallest_count_above_one_and_others_only_if_that_says_nothing() -> None:
    found = list(run(Job(FAKE, ("RUN-01", "RUN-14"), checks=NEEDING, mode="quick")))

    assert [("RUN-01", 2), ("RUN-14", 2), ("RUN-14", 3)] == [(result.id, result.replicas) for result in found]
    assert ["PASS", "UNSUPPORTED", "PASS"] == [result.status.name for result in found]


def test_only_the_cases_asked_for_are_run() -> None:
    found = needing("RUN-01", "RUN-12", "RUN-99", only=frozenset({Case("RUN-01", 3)}))

    assert {"RUN-01": ["PASS"]} == found


def test_several_workers_find_what_one_finds() -> None:
    ids = ("RUN-01", "RUN-02", "RUN-03", "RUN-04", "RUN-06", "RUN-08", "RUN-09")

    one = by_status(results(*ids, workers=1))

    assert one == by_status(results(*ids, workers=3))


def test_an_implementation_that_allows_one_process_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    running = jobs.Worker

    def counting(*given: Any, **named: Any) -> Any:
        started.append("worker")
        return running(*given, **named)

    monkeypatch.setattr(jobs, "Worker", counting)

    results("RUN-01", "RUN-06", implementation="tests.conformance.fake:alone", workers=2)

    assert ["worker"] == started


def test_a_worker_that_cannot_start_ends_the_others_too() -> None:
    with pytest.raises(SuiteError, match="cannot be opened"):
        results("RUN-01", "RUN-02", implementation="tests.conformance.fake:broken", workers=2)


def test_a_child_that_cannot_start_breaks_the_suite_and_shows_why() -> None:
    with pytest.raises(SuiteError, match="RuntimeError: cannot be opened"):
        results("RUN-01", implementation="tests.conformance.fake:broken")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("simulato", "expected one of host, simulator, jax"),
        ("tests.conformance.fake:missing", "cannot be imported"),
        ("no.such.module:fake", "cannot be imported"),
        ("tests.conformance.fake:namespace", "expected Implementation"),
    ],
)
def test_an_unknown_implementation_is_an_error_that_says_what_there_is(name: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        find(name)


@pytest.mark.parametrize("name", ["host", "simulator", "jax"])
def test_the_implementations_of_the_project_are_found_by_name(name: str) -> None:
    assert name == find(name).name
    assert "GPU" == find(name).accelerator
    assert {key.partition("@")[0] for key in find(name).divergences} <= load().keys()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_worker_runs_what_loads_a_heavy_library_and_all_have_as_much_to_do(count):
    batch = [Task((Case(f"RUN-{number:02}", 2),), heavy=number % 20 == 0) for number in range(100)]

    found = shares(batch, count)

    assert sorted(task.cases[0].id for share in found for task in share) == [task.cases[0].id for task in batch]
    assert 5 == sum(task.heavy for task in found[0])
    loads = [sum(HEAVY_WEIGHT if task.heavy else 1 for task in share) for share in found]
    assert max(loads) <= max(5 * HEAVY_WEIGHT, min(loads) + 1)
    assert found == shares(batch, count)


def test_programs_of_jax_are_kept_for_each_worker(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, second = (_kept_programs("package.module:object", number) for number in (0, 1))

    assert first["JAX_COMPILATION_CACHE_DIR"] != second["JAX_COMPILATION_CACHE_DIR"]
    assert first["JAX_COMPILATION_CACHE_DIR"].startswith(str(tmp_path))
    assert ":" not in first["JAX_COMPILATION_CACHE_DIR"].removeprefix(str(tmp_path))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert {} == _kept_programs("simulator", 0)  # where nothing can be kept

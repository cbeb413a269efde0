"""A planted fault is caught only by a check that fails; lost processes and errors are reported as what they are."""

import json
import pathlib

import pytest

from conformance.__main__ import main
from conformance.case import caught
from conformance.implementations import UnknownName, find
from conformance.proofs import Outcome, Proof, Proofs, gathered, planted
from conformance.results import Result, Status
from conformance.runner import Job

FAKE = "tests.conformance.fake:plain"
PLACES = ["--checks", "tests.conformance.fake:proving", "--faults", "tests.conformance.fake:faults"]
FAULTS = ["faults", "--impl", FAKE, *PLACES]


def proofs(*ids: str, others: str | None = None, **options: float) -> dict[str, Proof]:
    job = Job(FAKE, ids, checks=PLACES[1], faults=PLACES[3], **options)  # pyright: ignore[reportArgumentType]
    found = planted(job, lambda _, __: None, others=others)
    return {proof.id: proof for proof in gathered(found, job.loaded_checks())}


def test_each_fault_has_the_outcome_that_its_check_shows() -> None:
    found = proofs("RUN-01", "RUN-02", "RUN-03", "RUN-04", "RUN-06", "RUN-07", "RUN-08")
    # What never ends does not end within any time, however slow the machine is; all others have theirs.
    found |= proofs("RUN-05", timeout=0.5)

    expected = {
        "RUN-01": (Outcome.CAUGHT, Status.FAIL),
        "RUN-02": (Outcome.MISSED, Status.PASS),
        "RUN-03": (Outcome.MISSED, Status.ERROR),
        "RUN-04": (Outcome.MISSED, Status.CRASH),
        "RUN-05": (Outcome.MISSED, Status.TIMEOUT),
        "RUN-06": (Outcome.MISSED, Status.ERROR),
        "RUN-07": (Outcome.UNPROVED, Status.UNSUPPORTED),
    }
    assert expected == {id: (proof.outcome, proof.status) for id, proof in found.items()}
    assert "no_such_method" in found["RUN-06"].results[0].detail


def test_a_check_is_run_until_it_fails() -> None:
    found = proofs("RUN-01", "RUN-02")

    assert ([1], [1, 2, 3]) == tuple([result.replicas for result in proof.results] for proof in found.values())


def test_the_others_that_fail_on_a_fault_are_named() -> None:
    found = proofs("RUN-01", "RUN-02", others="area", workers=2)

    assert ("RUN-02", "RUN-03", "RUN-04", "RUN-05", "RUN-06", "RUN-08") == found["RUN-01"].others
    assert () == found["RUN-02"].others
    assert found["RUN-01"].others == proofs("RUN-01", others="all")["RUN-01"].others


def test_a_lost_process_is_not_a_caught_fault() -> None:
    results = [Result("RUN-01", "fake", 1, Status.FAIL), Result("RUN-01", "fake", 2, Status.CRASH)]

    assert caught(results[:1])
    assert not caught(results)


def test_a_declared_divergence_proves_nothing() -> None:
    assert Outcome.UNPROVED is Proof("RUN-01", (Result("RUN-01", "fake", 1, Status.DIVERGES, "why"),)).outcome


@pytest.mark.parametrize(
    ("arguments", "code", "totals"),
    [
        (["-k", "RUN-01"], 0, "1 caught, 0 missed"),
        (["-k", "RUN-01", "-k", "RUN-02"], 1, "1 caught, 1 missed"),
        (["-k", "RUN-01", "-k", "RUN-07"], 0, "1 caught, 0 missed, 1 not supported"),
        (["-k", "RUN-07"], 5, "0 caught, 0 missed, 1 not supported"),
        (["-k", "RUN-08"], 5, ""),
        (["-k", "RUN-99"], 2, ""),
    ],
)
def test_exit_codes_and_totals(
    arguments: list[str], code: int, totals: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code == main([*FAULTS, *arguments])
    assert [f"{FAKE}: {totals}"] * bool(totals) == capsys.readouterr().out.splitlines()[-1:]


def test_the_text_shows_what_was_missed_and_who_else_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    main([*FAULTS, "-k", "RUN-01", "-k", "RUN-03", "--others"])

    lines = capsys.readouterr().out.splitlines()
    assert "RUN-01      RUN-02, RUN-03, RUN-04, RUN-05, RUN-06, RUN-08" == lines[0]
    assert any(line.startswith("RUN-03      missed: ERROR") for line in lines)
    assert any("RuntimeError: broken too much" in line for line in lines)
    assert f"{FAKE}: 1 caught, 1 missed" == lines[-1]
    assert max(map(len, lines)) <= 80


def test_a_fault_that_no_other_check_notices_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    main([*FAULTS, "-k", "RUN-02", "--others"])

    assert capsys.readouterr().out.startswith("RUN-02      no other check fails\n")


def test_the_json_has_one_object_for_each_fault(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "faults.json"

    main([*FAULTS, "-k", "RUN-01", "-k", "RUN-02", "--json", str(file)])

    document = json.loads(file.read_text())
    assert [("RUN-01", "caught"), ("RUN-02", "missed")] == [(one["id"], one["outcome"]) for one in document["faults"]]
    assert "FAIL" == document["faults"][0]["results"][0]["status"]
    assert {"caught": 1, "missed": 1, "not supported": 0} == document["totals"]


def test_a_suite_that_breaks_exits_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["faults", "--impl", "tests.conformance.fake:broken", *PLACES, "-k", "RUN-01"])

    output = capsys.readouterr()
    assert 3 == code
    assert "cannot be opened" in output.err
    assert "not completed" in output.out


def test_an_interrupt_prints_what_was_done(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from conformance.commands import faults as command

    def interrupted(*given: object, **options: object) -> object:
        yield from list(planted(*given, **options))[:1]  # pyright: ignore[reportArgumentType]
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "planted", interrupted)

    code = main([*FAULTS, "-k", "RUN-01"])

    assert 130 == code
    assert f"{FAKE}: 1 caught, 0 missed\nThe run was not completed" in capsys.readouterr().out


@pytest.mark.parametrize(("answered", "faults"), [(1, []), (2, []), (3, ["RUN-02"])])
def test_a_fault_is_missed_only_with_all_replica_counts(answered: int, faults: list[str]) -> None:
    job = Job(FAKE, ("RUN-02",), checks=PLACES[1], faults=PLACES[3])
    found = list(planted(job, lambda _, __: None))[:answered]

    assert faults == [proof.id for proof in gathered(found, job.loaded_checks())]


def test_nothing_proved_is_nothing_checked() -> None:
    assert 5 == Proofs("fake", (), 0.0).exit_code()


def test_an_unknown_place_of_faults_is_an_error() -> None:
    with pytest.raises(UnknownName):
        list(planted(Job(find(FAKE).name, ("RUN-01",), faults="no.such:faults"), lambda _, __: None))

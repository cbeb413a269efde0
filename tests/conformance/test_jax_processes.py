"""Workers in processes keep the same behaviors as those that one process plays, and the checks notice where they do not."""

import inspect
from dataclasses import replace

from conformance.case import missing_features, run_case
from conformance.checks import Check, checks
from conformance.faults.processes import faults
from conformance.implementations import find
from conformance.proofs import Outcome, gathered, planted
from conformance.results import Status, worst
from conformance.runner import Job, run
from conformance.world import World
from tests.conformance.fake import fake

NAME = "jax-processes"
FAULTS = f"{faults.__module__}:{faults.__name__}"
ONLY_NAMES = {"ATTR-16", "CLUSTER-04", "CLUSTER-05", "MIRROR-10"}
"""What is about strategies with several workers, but runs none."""


def selected() -> list[str]:
    return [id for id, check in checks().items() if missing_features(find(NAME).description, check) is None]


def test_only_checks_of_several_workers_are_run_and_all_of_them_are():
    for id, check in checks().items():
        runs_workers = "world.on_two_workers" in inspect.getsource(check.function)
        assert runs_workers == ("multi_worker" in check.uses), id
    assert 33 == len(set(selected()) - ONLY_NAMES)
    one = run_case(find(NAME), checks()["RUN-01"], 1)
    assert (Status.UNSUPPORTED, "as on jax, from which it differs only with several workers") == (
        one.status,
        one.detail,
    )


def test_a_check_that_has_run_no_workers_says_nothing():
    def nothing(_: World) -> None:
        pass

    check = Check("RUN-01", (1,), frozenset({"multi_worker"}), nothing)

    several = replace(fake, features=frozenset({"multi_worker"}))
    assert Status.PASS is run_case(several, check, 1).status
    assert Status.UNSUPPORTED is run_case(replace(several, variant_of="another"), check, 1).status


def test_workers_in_processes_keep_all_behaviors_of_several_workers():
    found: dict[str, list[Status]] = {}
    details: dict[str, str] = {}
    for result in run(Job(NAME, tuple(selected()), mode="quick")):
        found.setdefault(result.id, []).append(result.status)
        if result.status is not Status.PASS:
            details[f"{result.id}@{result.replicas}"] = result.detail

    expected = {id: Status.UNSUPPORTED if id in ONLY_NAMES else Status.PASS for id in selected()}
    assert expected == {id: worst(statuses) for id, statuses in found.items()}, details


def test_faults_that_only_processes_can_have_are_caught():
    job = Job(NAME, tuple(faults()), faults=FAULTS)

    proofs = gathered(planted(job, lambda _, __: None), job.loaded_checks())

    assert set(faults()) == {proof.id for proof in proofs}
    assert {} == {proof.id: proof.results for proof in proofs if proof.outcome is not Outcome.CAUGHT}

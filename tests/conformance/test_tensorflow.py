"""TensorFlow as an implementation: its declared divergences, its workers, and a sample of its checks."""

import importlib.util

import pytest

from conformance import catalogue
from conformance.checks import checks
from conformance.implementations import find
from conformance.implementations.tensorflow import divergences
from conformance.results import Status
from conformance.runner import Job, run

needs_tensorflow = pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is None,
    reason="TensorFlow is not installed here; `tox -e oracle` installs it",
)


def test_the_implementation_is_described_without_tensorflow() -> None:
    implementation = find("tensorflow")

    assert ("tensorflow", True, 0) == (implementation.name, implementation.isolate, implementation.gpus)


@pytest.mark.parametrize("case", divergences())
def test_a_declared_divergence_is_of_a_check_and_says_what_differs(case: str) -> None:
    id, _, count = case.partition("@")

    assert id in catalogue.load()
    assert not count or int(count) in checks()[id].replicas
    reason = find("tensorflow").divergences[case]
    assert "TensorFlow 2.21" in reason
    assert "page" in reason, "what the page says"


def statuses(*ids: str, replicas: tuple[int, ...]) -> list[Status]:
    return [result.status for result in run(Job("tensorflow", ids, replicas=replicas))]


@needs_tensorflow
def test_cases_pass_diverge_and_run_on_several_workers() -> None:
    ids = ("RUN-01", "REDUCE-01", "DATASET-36", "LOCAL-10", "LOGICAL-02", "DEVICE-07")

    found = {result.id: result.status for result in run(Job("tensorflow", ids, replicas=(2,)))}
    assert {
        "RUN-01": Status.PASS,
        "REDUCE-01": Status.PASS,
        "DATASET-36": Status.DIVERGES,
        "LOCAL-10": Status.UNSUPPORTED,
    } == found
    assert [Status.PASS] == statuses("LOCAL-10", replicas=(1,))
    assert [Status.UNSUPPORTED] == statuses("LOGICAL-02", replicas=(1,))

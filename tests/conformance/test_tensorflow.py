"""TensorFlow as an implementation: its declared divergences, its workers, and a sample of its checks."""

import os
import pathlib
import subprocess
import sys
from importlib.util import find_spec

import pytest

from conformance import catalogue
from conformance.checks import checks
from conformance.implementations import find
from conformance.implementations.tensorflow import divergences
from conformance.report import Report
from conformance.results import Status

PYTHON = os.environ.get("REFDIST_TENSORFLOW_PYTHON", sys.executable if find_spec("tensorflow") else "")
needs_tensorflow = pytest.mark.skipif(
    not PYTHON,
    reason="TensorFlow is not installed here, and REFDIST_TENSORFLOW_PYTHON names no interpreter that has it",
)


def test_the_implementation_is_described_without_tensorflow() -> None:
    implementation = find("tensorflow")

    assert ("tensorflow", True, 0) == (implementation.name, implementation.isolate, implementation.gpus)


@pytest.mark.parametrize("case", divergences())
def test_a_declared_divergence_is_of_a_check_and_says_what_differs(case: str) -> None:
    id, _, count = case.partition("@")

    assert id in catalogue.load()
    assert not count or id not in checks() or int(count) in checks()[id].replicas
    reason = find("tensorflow").divergences[case]
    assert "TensorFlow 2.21" in reason
    assert "page" in reason, "what the page says"


@needs_tensorflow
def test_cases_pass_diverge_and_run_on_several_workers(tmp_path: pathlib.Path) -> None:
    expected = {
        ("LOCAL-10", 1): Status.PASS,
        ("LOCAL-10", 2): Status.UNSUPPORTED,
        ("RUN-01", 1): Status.PASS,
        ("RUN-01", 2): Status.PASS,
        ("DATASET-36", 2): Status.DIVERGES,
        ("LOGICAL-02", 1): Status.UNSUPPORTED,
        ("DEVICE-07", 1): Status.DIVERGES,
    }
    ids = sorted({f"-k={id}" for id, _ in expected})
    file = tmp_path / "report.json"
    command = [PYTHON, "-m", "conformance", "run", "--impl=tensorflow", "--replicas=1,2", f"--json={file}", *ids]

    subprocess.run(command, check=True, cwd=pathlib.Path(__file__).parents[2])
    report = Report.from_json(file.read_text())
    assert expected == {(result.id, result.replicas): result.status for result in report.results}

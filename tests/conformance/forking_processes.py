"""Workers in processes of their own: each has its TF_CONFIG, and none stays when the program ends."""

import json
import os
import signal

import pytest

from conformance.expectations import CheckFailed, Unsupported
from conformance.implementations.processes import run_processes
from conformance.isolation import apart

SECONDS = 60.0


def test_each_worker_has_its_own_task_of_one_cluster_and_its_own_process() -> None:
    def program(index: int) -> tuple[object, int]:
        return json.loads(os.environ["TF_CONFIG"]), os.getpid()

    found = run_processes(3, program, SECONDS)

    assert [{"type": "worker", "index": index} for index in range(3)] == [config["task"] for config, _ in found]
    (addresses,) = {tuple(config["cluster"]["worker"]) for config, _ in found}
    assert 3 == len(set(addresses)) == len({process for _, process in found} - {os.getpid()})
    assert "TF_CONFIG" not in os.environ
    for _, process in found:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_the_first_error_ends_all_workers() -> None:
    def program(index: int) -> None:
        if index == 1:
            raise KeyError("lost")
        signal.pause()

    with pytest.raises(RuntimeError, match="worker 1 ended with KeyError: 'lost'"):
        run_processes(2, program, SECONDS)


def test_a_check_that_fails_in_a_worker_fails_with_the_same_values() -> None:
    def program(index: int) -> None:
        raise CheckFailed("1", "2", "the sum")

    with pytest.raises(CheckFailed) as caught:
        run_processes(1, program, SECONDS)
    assert ("1", "2", "worker 0 the sum") == (caught.value.expected, caught.value.got, caught.value.what)


def test_what_a_worker_has_not_is_unsupported() -> None:
    def program(index: int) -> None:
        raise Unsupported("needs a GPU")

    with pytest.raises(Unsupported, match="needs a GPU"):
        run_processes(1, program, SECONDS)


def test_a_worker_that_waits_for_ever_is_named() -> None:
    def program(index: int) -> None:
        if index == 1:
            signal.pause()

    with pytest.raises(CheckFailed, match="still at work: 1"):
        run_processes(2, program, seconds=0.5)


def test_a_worker_that_dies_is_named() -> None:
    def program(index: int) -> None:
        os._exit(1)

    with pytest.raises(CheckFailed, match="worker 0 died"):
        run_processes(1, program, SECONDS)


def test_what_is_called_apart_does_not_change_this_process() -> None:
    seen: list[int] = []

    apart(seen.append, 1)

    assert [] == seen

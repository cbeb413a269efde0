"""One case in this process ends with the right verdict, and proves that a check notices its fault."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance import case
from conformance.case import caught, prove, run_case
from conformance.checks import Check
from conformance.faults import Fault, Plant
from conformance.results import Result, Status
from conformance.world import World
from tests.conformance.fake import Strategy, broken, checks, fake, namespace


def run(function: Callable[[World], None], id: str = "RUN-01", replicas: int = 2) -> Result:
    return run_case(fake, Check(id, (1, 2), frozenset(), function), replicas)


def test_a_failure_names_the_strategy_and_the_line_of_the_check() -> None:
    result = run_case(fake, checks()["RUN-02"], 3)

    assert ("RUN-02", "fake", 3, Status.FAIL) == (result.id, result.implementation, result.replicas, result.status)
    assert "expected: 7\ngot:      3\nstrategy: Mirrored with 3 replicas\n" in result.detail
    assert "world.equal(7, world.strategy().num_replicas_in_sync)" in result.detail


def test_a_failure_carries_what_was_expected_and_got_and_the_strategy() -> None:
    failing, diverging = (run_case(fake, checks()[id], 3) for id in ("RUN-02", "RUN-06"))

    for result in (failing, diverging):
        assert ("7", "3", "Mirrored with 3 replicas") == (result.expected, result.got, result.strategy)
    assert (Status.DIVERGES, "it is declared") == (diverging.status, diverging.detail)


def test_a_plain_assertion_is_a_failure_too() -> None:
    def function(world: World) -> None:
        raise AssertionError("not so")

    assert (Status.FAIL, "", "") == (run(function).status, run(function).expected, run(function).got)


def test_an_error_shows_its_last_frames_only() -> None:
    def deep(depth: int) -> None:
        if depth == 0:
            raise KeyError("bottom")
        deep(depth - 1)

    result = run(lambda world: deep(10))

    assert Status.ERROR is result.status
    assert 3 == result.detail.count("in deep")
    assert "in _verdict" not in result.detail
    assert "KeyError: 'bottom'" in result.detail


def test_an_implementation_that_cannot_be_opened_is_an_error() -> None:
    result = run_case(broken, checks()["RUN-01"], 1)

    assert Status.ERROR is result.status
    assert result.detail.startswith("RuntimeError: cannot be opened\n")


def test_an_attempt_to_exit_is_an_error() -> None:
    def function(world: World) -> None:
        raise SystemExit(0)

    assert Status.ERROR is run(function).status


def test_warnings_of_checks_are_not_shown() -> None:
    def function(world: World) -> None:
        warnings.warn("noise", stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")

        assert Status.PASS is run(function).status


@pytest.mark.parametrize(
    ("id", "replicas", "status", "detail"),
    [
        ("RUN-06", 2, Status.DIVERGES, "it is declared"),
        ("RUN-07", 2, Status.FAIL, "declared to diverge, but passes"),
        ("RUN-08", 1, Status.PASS, ""),
        ("RUN-08", 2, Status.DIVERGES, "it is declared"),
        ("RUN-09", 2, Status.UNSUPPORTED, "has no such thing"),
        ("RUN-10", 2, Status.UNSUPPORTED, "needs data, function"),
    ],
)
def test_divergences_and_missing_features_are_told_apart(id: str, replicas: int, status: Status, detail: str) -> None:
    result = run_case(fake, checks()[id], replicas)

    assert status is result.status
    assert result.detail.startswith(detail)


def test_an_unsupported_case_stays_unsupported_when_it_is_declared_to_diverge() -> None:
    result = run(lambda world: world.unsupported("no"), id="RUN-06")

    assert Status.UNSUPPORTED is result.status


def _miscounts(plant: Plant) -> None:
    def one_replica(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(strategy: Strategy, function: Callable[[], Any]) -> Any:
            return original(replace(strategy, names=strategy.names[:1]), function)

        return run

    plant.wrap(Strategy, "run", one_replica)


def _breaks_nothing(plant: Plant) -> None:
    plant.replace(namespace, "constant", namespace.constant)


@pytest.mark.parametrize(("function", "noticed"), [(_miscounts, True), (_breaks_nothing, False)])
def test_prove_tells_whether_the_check_notices_the_fault(
    monkeypatch: pytest.MonkeyPatch, function: Callable[[Plant], None], noticed: bool
) -> None:
    def ids(world: World) -> None:
        strategy = world.strategy()
        world.equal(list(range(world.replicas)), world.locals(strategy, strategy.run(world.replica_id)))

    monkeypatch.setattr(case, "checks", lambda: {"RUN-01": Check("RUN-01", (1, 2), frozenset(), ids)})
    monkeypatch.setattr(case, "faults", lambda: {"RUN-01": Fault("RUN-01", function)})

    results = prove("RUN-01", fake)

    assert noticed == caught(results)
    assert [1, 2] == [result.replicas for result in results]
    assert Status.PASS is run(ids).status

"""Deep mode: every law holds, fails on the fault of its behavior, and draws the same values from the same seed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as drawn

from conformance.case import run_case, run_with_fault
from conformance.checks import Check, checks
from conformance.deep import Draw, Law, deep, laws
from conformance.faults import faults
from conformance.implementations import find
from conformance.results import Result, Status
from conformance.runner import Job, run
from conformance.world import World
from tests.conformance.fake import fake


def alone(id: str) -> Check:
    """The law of a behavior without its check."""
    return replace(checks()[id], function=laws()[id].bound(seed=0))


@pytest.mark.parametrize("id", laws())
def test_a_law_holds_and_fails_on_the_fault_of_its_behavior(id: str) -> None:
    simulator, count = find("simulator"), max(count for count in checks()[id].replicas if count <= 3)

    broken = run_with_fault(simulator, alone(id), count, faults()[id])

    assert Status.PASS is run_case(simulator, alone(id), count).status
    assert Status.FAIL is broken.status, broken.detail
    assert "with seed 0: replicas=" in broken.detail
    assert "at conformance/deep/" in broken.detail


def test_there_are_laws_of_every_kind() -> None:
    assert {"REDUCE", "CTX", "VALUES", "RUN", "DATASET", "DATAFN", "NUMPY", "VAR"} == {
        id.partition("-")[0] for id in laws()
    }


def tried(function: Callable[[World, Draw], None], seed: int = 0) -> Result:
    def nothing(world: World) -> None:
        """Pass."""

    return run_case(fake, Check("RUN-01", (1,), frozenset(), nothing, law=Law("RUN-01", function).bound(seed)), 1)


def test_the_simplest_values_on_which_a_law_fails_are_shown() -> None:
    def law(world: World, draw: Draw) -> None:
        first, second = draw("first", drawn.integers(0, 99)), draw("second", drawn.integers(0, 99))
        world.true(first < 7, "a small number")
        world.true(second >= 0, "no negative number")

    result = tried(law)

    assert Status.FAIL is result.status
    assert "expected: a small number\ngot:      not so\nwith seed 0: first=7, second=0" in result.detail
    assert 'world.true(first < 7, "a small number")' in result.detail


def test_the_values_follow_from_the_seed() -> None:
    def values(seed: int) -> list[int]:
        found: list[int] = []
        tried(lambda _, draw: found.append(draw("number", drawn.integers())), seed)
        return found

    assert values(1) == values(1)
    assert values(1) != values(2)


def test_an_error_in_a_law_is_an_error() -> None:
    def law(world: World, draw: Draw) -> None:
        raise KeyError("not there")

    assert Status.ERROR is tried(law).status


def test_where_a_law_cannot_be_tried_the_check_decides() -> None:
    assert Status.PASS is tried(lambda world, _: world.unsupported("has no such thing")).status


def test_a_law_belongs_to_a_behavior_of_the_catalogue() -> None:
    with pytest.raises(ValueError, match="expected an id of the catalogue"):
        deep("RUN-999")(lambda world, draw: None)


def test_deep_mode_runs_laws_in_the_child_and_full_mode_does_not() -> None:
    place = "tests.conformance.test_deep:checks_without_content"
    job = Job("tests.conformance.fake:plain", ("RUN-05",), replicas=(1,), checks=place)

    def status(job: Job) -> list[str]:
        return [result.status.name for result in run(job)]

    assert ["PASS"] == status(job)
    assert ["ERROR"] == status(replace(job, mode="deep"))


def checks_without_content() -> Any:
    """A check that passes; the law of its behavior needs arguments of `run`, which the fake has not."""

    def nothing(world: World) -> None:
        """Pass."""

    return {"RUN-05": Check("RUN-05", (1,), frozenset(), nothing)}

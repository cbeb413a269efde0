"""What is needed exists, is checked, and does not go in circles."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from conformance.catalogue import AREAS, load
from conformance.checks import checks
from conformance.dependencies import PREREQUISITES, prerequisites
from conformance.faults import Plant, faults
from conformance.implementations import find
from conformance.results import Status
from conformance.runner import Job, run

NEEDED = sorted({id for ids in PREREQUISITES.values() for id in ids})


def test_the_table_is_short() -> None:
    assert set(PREREQUISITES) <= set(AREAS)
    assert all(1 <= len(ids) <= 2 for ids in PREREQUISITES.values())


@pytest.mark.parametrize("id", NEEDED)
def test_what_is_needed_has_a_check_that_needs_nothing_which_needs_it(id: str) -> None:
    reached, pending = set[str](), [id]
    while pending:
        for needed in checks()[pending.pop()].after:
            assert needed != id
            if needed not in reached:
                reached.add(needed)
                pending.append(needed)


def test_checks_have_what_the_table_says() -> None:
    assert ("RUN-02", "REDUCE-04") == checks()["REDUCE-10"].after
    assert () == checks()["RUN-02"].after == prerequisites("ATTR-01")


@cache
def _broken() -> None:
    """Break the simulator for as long as the process lives."""
    faults()["RUN-02"].function(Plant())


def _open() -> Any:
    _broken()
    return find("simulator").open()


forgetful = replace(find("simulator"), open=_open)


def test_a_run_that_forgets_a_replica_is_one_finding_and_not_many() -> None:
    ids = tuple(id for id, behavior in load().items() if behavior.area in ("RUN", "REDUCE", "CTX"))

    found = list(run(Job("tests.conformance.test_dependencies:forgetful", ids, mode="quick")))

    assert {"RUN-02"} == {result.id for result in found if result.status is Status.FAIL}
    not_run = {result.id for result in found if result.status is Status.NOT_RUN}
    assert not_run == {id for id in ids if id in checks() and find("simulator").features >= checks()[id].needs} - {
        "RUN-02"
    }
    assert {"needs RUN-02"} == {result.detail for result in found if result.status is Status.NOT_RUN}

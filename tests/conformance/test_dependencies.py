"""What is needed exists, is checked, and does not go in circles."""

import pytest

from conformance.catalogue import AREAS
from conformance.checks import checks
from conformance.dependencies import PREREQUISITES, prerequisites

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

"""Checks and faults are registered once each, and only for behaviors of the catalogue."""

import pytest

from conformance.checks import Check, check, checks
from conformance.faults import Fault, faults
from conformance.implementations import FEATURES
from conformance.registry import Registry
from conformance.world import World


def nothing(world: World) -> None:
    """Do nothing."""


def entry(id: str) -> Check:
    return Check(id, (1,), frozenset(), nothing)


def test_a_second_entry_for_one_behavior_is_refused() -> None:
    registry: Registry[Check] = Registry("check", "conformance.checks")
    registry.add(entry("RUN-01"))

    with pytest.raises(ValueError, match=r"second check of RUN-01.*Remove one"):
        registry.add(entry("RUN-01"))


def test_an_id_that_is_not_in_the_catalogue_is_refused() -> None:
    with pytest.raises(ValueError, match="expected an id of the catalogue"):
        Registry[Check]("check", "conformance.checks").add(entry("RUN-999"))


@pytest.mark.parametrize("replicas", [(), (0, 1), (2, 2)])
def test_replica_counts_must_be_different_and_positive(replicas: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected one or more different counts"):
        check("RUN-01", replicas=replicas)


def test_needs_must_not_be_one_text() -> None:
    with pytest.raises(TypeError, match=r"needs=\('data',\)"):
        check("RUN-01", needs="data")


def test_the_packages_can_be_loaded_and_hold_checks_and_faults_by_id() -> None:
    assert all(isinstance(found, Check) and id == found.id for id, found in checks().items())
    assert all(isinstance(found, Fault) and id == found.id for id, found in faults().items())


def test_checks_need_only_features_that_are_listed() -> None:
    unknown = {id: found.needs - FEATURES for id, found in checks().items() if found.needs - FEATURES}

    assert {} == unknown

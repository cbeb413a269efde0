"""What only some backends have is asked of their types, and said to be missing where it is."""

from typing import Protocol, runtime_checkable

import pytest

import refdist as tf
import simulator
from refdist._core.backends.host_backend import HostBackend
from refdist._core.seam import capabilities
from refdist._core.seam.backend import NOWHERE
from refdist._core.seam.capabilities import Clustered, Commits, capability, in_unison, required

KINDS = [
    kind
    for kind in vars(capabilities).values()
    if getattr(kind, "_is_protocol", False) and kind.__module__ == capabilities.__name__
]


def methods(kind):
    return [name for name in vars(kind) if not name.startswith("_")]


def backend_with(*names):
    """A backend of a type with these methods and no others."""
    return type("Own", (), {**{name: lambda self, *args: None for name in names}, "name": "own"})()


@pytest.mark.parametrize("kind", KINDS)
def test_a_type_with_all_methods_of_a_capability_has_it_and_one_that_lacks_one_has_not(kind):
    assert capability(whole := backend_with(*methods(kind)), kind) is whole
    for missing in methods(kind):
        assert capability(backend_with(*(name for name in methods(kind) if name != missing)), kind) is None


def test_there_are_seven_capabilities_and_none_of_them_is_part_of_another():
    assert ["Timed", "Spreads", "LogicalDevices", "Clustered", "Joins", "Commits", "Compiles"] == [
        kind.__name__ for kind in KINDS
    ]
    for kind in KINDS:
        assert [kind] == [other for other in KINDS if capability(backend_with(*methods(kind)), other) is not None]


def test_what_a_single_object_was_given_does_not_make_its_type_capable():
    backend = HostBackend(gpus=1)
    backend.loosened = lambda value: value

    assert capability(backend, Commits) is None


def test_types_of_one_name_are_not_confused():
    first, second = backend_with("loosened"), backend_with()

    assert [first, None] == [capability(first, Commits), capability(second, Commits)]


def test_who_needs_what_is_missing_is_told_what_and_where_else_it_is():
    with pytest.raises(
        NotImplementedError, match=r"^Playing tasks was asked of the backend 'own', .* Clustered; .*Choose"
    ):
        required(backend_with(), Clustered, "Playing tasks")


def test_a_capability_of_somebody_else_can_be_asked_for_too():
    @runtime_checkable
    class Sings(Protocol):
        def sing(self): ...

    assert capability(singing := backend_with("sing"), Sings) is singing
    assert capability(HostBackend(gpus=1), Sings) is None


def test_devices_work_in_unison_where_there_is_a_clock_and_else_nothing_is_entered():
    with tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 1e-6)):
        timed = tf.distribute.MirroredStrategy().extended.plan
    with tf.using("host", gpus=2):
        untimed = tf.distribute.MirroredStrategy().extended.plan

    assert NOWHERE is in_unison(untimed, untimed.devices, None)
    assert NOWHERE is not in_unison(timed, timed.devices, None)

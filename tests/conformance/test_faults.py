"""A plant replaces what it is told to, and puts everything back in reverse order."""

from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any

import pytest

from conformance.faults import Plant


class Base:
    value = 1

    def method(self) -> str:
        return "method"

    @staticmethod
    def static() -> str:
        return "static"

    @classmethod
    def of_class(cls) -> str:
        return f"of {cls.__name__}"

    @property
    def read(self) -> str:
        return "read"

    @cached_property
    def cached(self) -> str:
        return "cached"


class Derived(Base):
    pass


class Slotted:
    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = "first"


def louder(original: Callable[..., str]) -> Callable[..., str]:
    return lambda *arguments: original(*arguments) + "!"


def uses() -> dict[str, Callable[[Any], str]]:
    return {
        "method": lambda thing: thing.method(),
        "static": lambda thing: thing.static(),
        "of_class": lambda thing: thing.of_class(),
        "read": lambda thing: thing.read,
        "cached": lambda thing: thing.cached,
    }


@pytest.mark.parametrize("name", uses())
@pytest.mark.parametrize("owner", [Base, Derived])
def test_wrap_keeps_the_form_of_a_method_and_is_undone(owner: type[Base], name: str) -> None:
    use = uses()[name]
    before = use(owner())
    own = name in vars(owner)

    with Plant() as plant:
        plant.wrap(owner, name, louder)
        assert before + "!" == use(owner())

    assert before == use(owner())
    assert own == (name in vars(owner))


def test_a_fault_in_a_derived_class_leaves_the_base_alone() -> None:
    with Plant() as plant:
        plant.wrap(Derived, "method", louder)

        assert "method" == Base().method()


def test_modules_and_objects_can_be_changed_too() -> None:
    module, thing, slotted = ModuleType("module"), Base(), Slotted()
    module.__dict__["function"] = lambda: "plain"

    with Plant() as plant:
        plant.wrap(module, "function", louder)
        plant.wrap(thing, "method", louder)
        plant.replace(slotted, "name", "second")
        assert ("plain!", "method!", "second") == (module.function(), thing.method(), slotted.name)

    assert ("plain", "method", "first") == (module.function(), thing.method(), slotted.name)


def test_changes_of_one_attribute_are_undone_in_reverse_order() -> None:
    with Plant() as plant:
        plant.replace(Base, "value", 2)
        plant.replace(Base, "value", 3)
        assert 3 == Base.value

    assert 1 == Base.value


def test_everything_is_put_back_when_the_block_fails() -> None:
    plant = Plant()
    plant.replace(Derived, "value", 2)
    with pytest.raises(KeyError), plant:
        raise KeyError

    assert "value" not in vars(Derived)


@pytest.mark.parametrize("change", [Plant.replace, Plant.wrap])
def test_an_attribute_that_does_not_exist_is_an_error(change: Callable[..., None]) -> None:
    with pytest.raises(AttributeError, match=r"Base\.missing, which does not exist"), Plant() as plant:
        change(plant, Base, "missing", louder)

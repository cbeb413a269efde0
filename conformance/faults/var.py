"""Planted faults: variables of another kind, with other names, or with copies that come apart."""

from collections.abc import Callable
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.base import convert
from refdist._core.replicas import context, values
from refdist._core.staging.replica_draft import ReplicaDraft
from refdist._core.strategies import extended
from refdist._core.variables import creation
from refdist._core.variables.distributed_variable import MirroredVariable, OnWrite
from refdist._core.variables.variable import Variable
from refdist.compat import v1


@fault("VAR-01")
def one_device_makes_a_plain_variable(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda strategy, copies, policy: copies[0] if len(copies) == 1 else original(strategy, copies, policy)

    plant.wrap(creation, "MirroredVariable", wrapper)


@fault("VAR-02")
def every_copy_calls_the_initializer_itself(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def create_variable(strategy: Any, following: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
            def anew(**own: Any) -> Any:
                return following(**{**own, "initial_value": kwargs["initial_value"]})

            return original(strategy, anew, kwargs)

        return create_variable

    plant.wrap(extended, "create_variable", wrapper)


@fault("VAR-03")
def a_write_reaches_the_first_copy_only(plant: Plant) -> None:
    plant.wrap(
        OnWrite,
        "write_all",
        lambda _: (
            lambda variable, verb, operation, value: [
                variable.copies[0].write(verb, operation, value).stored,
                *(copy.stored for copy in variable.copies[1:]),
            ]
        ),
    )


@fault("VAR-04")
def blocks_are_indented_by_four(plant: Plant) -> None:
    plant.wrap(
        values,
        "block",
        lambda original: lambda *parts: original(*parts).replace("\n  ", "\n    ").replace("\n}", "\n  }"),
    )


@fault("VAR-05")
def one_copy_prints_as_a_plain_variable(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self: original(self) if len(self.copies) > 1 else repr(self.copies[0])

    plant.wrap(MirroredVariable, "__repr__", wrapper)


@fault("VAR-06")
def entries_of_a_block_are_not_separated(plant: Plant) -> None:
    plant.wrap(values, "block", lambda original: lambda *parts: original(*parts).replace(",\n", "\n"))


@fault("VAR-07")
def copies_of_a_named_variable_have_one_name(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def create_variable(strategy: Any, following: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
            def named(**own: Any) -> Any:
                return following(**{**own, "name": kwargs.get("name") or own.get("name")})

            return original(strategy, named, kwargs)

        return create_variable

    plant.wrap(extended, "create_variable", wrapper)


@fault("VAR-08")
def default_names_are_made_unique(plant: Plant) -> None:
    made: list[str] = []

    def wrapper(original: Callable[..., Any]) -> Any:
        def initialize(self: Any, *args: Any, name: str | None = None, **kwargs: Any) -> None:
            if name is None:
                name = f"Variable_{len(made)}" if made else "Variable"
                made.append(name)
            original(self, *args, name=name, **kwargs)

        return initialize

    plant.wrap(Variable, "__init__", wrapper)


@fault("VAR-09")
def python_floats_keep_their_64_bits(plant: Plant) -> None:
    plant.replace(convert, "_PYTHON_DTYPES", {})


@fault("VAR-10")
def a_variable_made_in_a_function_is_a_plain_one(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, make, kwargs: original(self, lambda **own: type.__call__(Variable, **own), kwargs)

    plant.wrap(ReplicaDraft, "create", wrapper)


@fault("VAR-11")
def a_variable_made_in_a_function_is_named_after_that(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, make, kwargs: original(self, make, {"name": "function/Variable", **kwargs})

    plant.wrap(ReplicaDraft, "create", wrapper)


@fault("VAR-12")
def replicas_make_variables_of_their_own(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def create_variable(strategy: Any, following: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
            if context.get_replica_context() is not None:
                return following(**kwargs)
            return original(strategy, following, kwargs)

        return create_variable

    plant.wrap(extended, "create_variable", wrapper)


@fault("VAR-13")
def a_partitioner_is_ignored(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def get_variable(*args: Any, partitioner: Any = None, **kwargs: Any) -> Any:
            return original(*args, **kwargs)

        return get_variable

    plant.wrap(v1, "get_variable", wrapper)

"""Planted faults of SCOPE: what entering a strategy's scope does, and what it leaves alone."""

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any

import refdist
from conformance.faults import Plant, fault
from refdist import distribute
from refdist._core.base.where import HERE
from refdist._core.replicas import context
from refdist._core.replicas.context import default_strategy
from refdist._core.replicas.values import Mirrored
from refdist._core.strategies import mirrored, multi_worker_mirrored, parameter_server
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import Scope, StrategyBase
from refdist._core.variables.distributed_variable import DistributedVariable, OnWrite
from refdist._core.variables.placement import Placement
from refdist._core.variables.variable import Variable
from refdist.compat.v1 import distribute as distribute_v1


@fault("SCOPE-01")
def the_scope_is_entered_when_it_is_made(plant: Plant) -> None:
    def wrapper(original: Callable[..., Scope]) -> Any:
        def scope(self: StrategyBase) -> ExitStack:
            entered = ExitStack()
            entered.enter_context(original(self))
            return entered

        return scope

    plant.wrap(StrategyBase, "scope", wrapper)


@fault("SCOPE-02")
def the_strategy_is_current_in_replicas_only(plant: Plant) -> None:
    def replaced(original: Callable[[], Any]) -> Any:
        return default_strategy() if context.in_cross_replica_context() else original()

    plant.wrap(distribute, "get_strategy", lambda original: lambda: replaced(original))


@fault("SCOPE-03")
def an_error_leaves_the_scope_open(plant: Plant) -> None:
    def wrapper(original: Callable[..., None]) -> Any:
        return lambda self, kind, *rest: original(self, kind, *rest) if kind is None else None

    plant.wrap(Scope, "__exit__", wrapper)


@fault("SCOPE-04")
def the_v1_namespace_has_a_current_strategy_of_its_own(plant: Plant) -> None:
    plant.replace(distribute_v1, "get_strategy", default_strategy)


@fault("SCOPE-05")
def threads_take_over_the_scope_they_are_started_in(plant: Plant) -> None:
    def wrapper(original: Callable[[Thread], None]) -> Any:
        def start(self: Thread) -> None:
            body = self.run
            plant.replace(self, "run", partial(copy_context().run, body))
            original(self)

        return start

    plant.wrap(Thread, "start", wrapper)


@fault("SCOPE-06")
def there_is_always_a_replica_context(plant: Plant) -> None:
    def replaced(original: Callable[[], Any]) -> Any:
        return original() or context.ReplicaContext(context.get_strategy(), 0)

    plant.wrap(distribute, "get_replica_context", lambda original: lambda: replaced(original))


@fault("SCOPE-07")
def strategies_of_one_device_leave_variables_alone(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def create(self: EagerExtended, following: Callable[..., Any], **kwargs: Any) -> Any:
            plain = self.plan.placement is Placement.PLAIN
            return following(**kwargs) if plain else original(self, following, **kwargs)

        return create

    plant.wrap(EagerExtended, "create_variable", wrapper)


@fault("SCOPE-08")
def the_creator_of_the_strategy_comes_before_those_inside_it(plant: Plant) -> None:
    plant.wrap(context, "creators", lambda original: lambda: original()[::-1])


@fault("SCOPE-09")
def all_copies_land_on_the_first_device(plant: Plant) -> None:
    def crowded(plan: Plan) -> Plan:
        return dataclasses.replace(plan, homes=plan.homes[:1] * len(plan.homes))

    plant.wrap(mirrored, "mirrored_plan", lambda original: lambda *args: crowded(original(*args)))


@fault("SCOPE-10")
def the_coordinator_keeps_the_variables_itself(plant: Plant) -> None:
    def wrapper(original: Callable[..., Plan]) -> Any:
        def plan(*args: Any) -> Plan:
            made = original(*args)
            return dataclasses.replace(made, homes=made.devices)

        return plan

    plant.wrap(parameter_server, "parameter_server_plan", wrapper)


@fault("SCOPE-11")
def a_multi_worker_scope_enters_the_device_of_the_first_replica(plant: Plant) -> None:
    def wrapper(original: Callable[..., Plan]) -> Any:
        def plan(*args: Any) -> Plan:
            made = original(*args)
            return dataclasses.replace(made, scope_device=made.devices[0])

        return plan

    plant.wrap(multi_worker_mirrored, "multi_worker_plan", wrapper)


@fault("SCOPE-12")
def tensors_made_in_a_scope_are_mirrored(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def constant(*args: Any, **kwargs: Any) -> Any:
            tensor = original(*args, **kwargs)
            return Mirrored([tensor, tensor]) if context.in_cross_replica_context() else tensor

        return constant

    plant.wrap(refdist, "constant", wrapper)


@fault("SCOPE-13")
def run_calls_its_function_like_any_other(plant: Plant) -> None:
    def run(self: StrategyBase, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        with self.scope():
            return fn(*args, **(kwargs or {}))

    plant.replace(StrategyBase, "run", run)


@fault("SCOPE-14")
def a_variable_made_outside_goes_to_the_last_strategy(plant: Plant) -> None:
    last: list[StrategyBase] = []

    def entering(original: Callable[[Scope], StrategyBase]) -> Any:
        def enter(self: Scope) -> StrategyBase:
            last[:] = [original(self)]
            return last[0]

        return enter

    def creating(original: Callable[..., Any]) -> Any:
        def create(kind: type, *args: Any, **kwargs: Any) -> Any:
            outside = last and HERE.get().frame is None
            with last[0].scope() if outside else nullcontext():
                return original(kind, *args, **kwargs)

        return create

    plant.wrap(Scope, "__enter__", entering)
    plant.wrap(type(Variable), "__call__", creating)


@fault("SCOPE-15")
def replicas_make_variables_of_their_own(plant: Plant) -> None:
    plant.wrap(
        EagerExtended,
        "create_variable",
        lambda original: (
            lambda self, following, **kwargs: (
                original(self, following, **kwargs) if context.in_cross_replica_context() else following(**kwargs)
            )
        ),
    )


@fault("SCOPE-16")
def reduce_leaves_its_scope_open(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: StrategyBase, *args: Any) -> Any:
            self.scope().__enter__()
            return original(self, *args)

        return reduce

    plant.wrap(StrategyBase, "_reduce", wrapper)


@fault("SCOPE-17")
def a_read_outside_adds_up_the_copies(plant: Plant) -> None:
    def wrapper(original: Callable[[DistributedVariable], Any]) -> Any:
        def read(variable: DistributedVariable) -> Any:
            if context.in_cross_replica_context():
                return original(variable)
            return sum(copy.read_value() for copy in variable.copies)

        return read

    plant.wrap(OnWrite, "read_outside", wrapper)


@fault("SCOPE-18")
def a_write_outside_reaches_the_first_copy_only(plant: Plant) -> None:
    def wrapper(original: Callable[..., None]) -> Any:
        def write(variable: DistributedVariable, *args: Any) -> Any:
            if context.has_strategy():
                return original(variable, *args)
            verb, operation, value = args
            first = variable.copies[0]
            first.store(first.computed(operation, first.operand(verb, value)))
            return None

        return write

    plant.wrap(OnWrite, "write_outside", wrapper)


@fault("SCOPE-29")
def leaving_an_inner_scope_leaves_all(plant: Plant) -> None:
    def leave(self: Any, *error: Any) -> None:
        self._entered.pop()
        HERE.set(HERE.get()._replace(frame=None))

    plant.replace(Scope, "__exit__", leave)

"""Planted faults of CTX: replica context and cross-replica context, and how code asks which one it is in."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from conformance.faults import Plant, fault
from refdist import distribute
from refdist._core.base.enums import REDUCTIONS, ReduceOp
from refdist._core.base.where import HERE
from refdist._core.replicas import context
from refdist._core.replicas.context import ReplicaContext
from refdist._core.replicas.values import PerReplica
from refdist._core.seam.backend import host_device
from refdist._core.strategies import extended
from refdist._core.strategies.default_strategy import DefaultStrategy
from refdist._core.strategies.extended import EagerExtended


@fault("CTX-01")
def the_context_is_a_bag_of_facts(plant: Plant) -> None:
    def facts(original: Callable[[], Any]) -> Any:
        replica = original()
        return replica and SimpleNamespace(replica_id_in_sync_group=replica.replica_id_in_sync_group)

    plant.wrap(distribute, "get_replica_context", lambda original: lambda: facts(original))


@fault("CTX-02")
def every_scope_counts_as_cross_replica_context(plant: Plant) -> None:
    plant.replace(distribute, "in_cross_replica_context", lambda: HERE.get().frame is not None)


@fault("CTX-03")
def one_replica_computes_for_all(plant: Plant) -> None:
    def wrapper(original: Any) -> Any:
        def play(count: int, body: Any, *, contexts: Any, **options: Any) -> Any:
            return original(1, body, contexts=contexts[:1], **options) * count

        return play

    plant.wrap(extended, "play", wrapper)


@fault("CTX-04")
def replica_ids_are_wide_numbers(plant: Plant) -> None:
    plant.wrap(ReplicaContext, "replica_id_in_sync_group", lambda original: lambda self: np.int64(original(self)))


@fault("CTX-05")
def only_the_first_replica_gets_the_combined_value(plant: Plant) -> None:
    def wrapper(original: Callable[..., Sequence[Any]]) -> Any:
        def all_reduce(self: EagerExtended, op: ReduceOp, payloads: Sequence[Any], *others: Any) -> Any:
            return [original(self, op, payloads, *others)[0], *payloads[1:]]

        return all_reduce

    plant.wrap(EagerExtended, "all_reduce", wrapper)


@fault("CTX-06")
def a_lower_case_sum_is_not_recognised(plant: Plant) -> None:
    plant.replace(context, "REDUCTIONS", {**REDUCTIONS, "sum": ReduceOp.MEAN})


@fault("CTX-07")
def all_reduce_brings_its_results_to_the_host(plant: Plant) -> None:
    def wrapper(original: Callable[..., Sequence[Any]]) -> Any:
        def all_reduce(self: EagerExtended, *args: Any) -> Any:
            return [self.backend.copy(result, host_device(self.backend)) for result in original(self, *args)]

        return all_reduce

    plant.wrap(EagerExtended, "all_reduce", wrapper)


@fault("CTX-08")
def all_reduce_adds_where_it_should_average(plant: Plant) -> None:
    plant.wrap(EagerExtended, "all_reduce", lambda original: lambda self, _, *rest: original(self, ReduceOp.SUM, *rest))


@fault("CTX-09")
def reduce_to_ignores_its_destination(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce_to(self: EagerExtended, op: Any, value: Any, destinations: Any, options: Any = None) -> Any:
            return original(self, op, value, self.current_device(), options)

        return reduce_to

    plant.wrap(EagerExtended, "reduce_to", wrapper)


@fault("CTX-10")
def cross_replica_calls_are_let_through_everywhere(plant: Plant) -> None:
    plant.replace(context, "require_cross_replica", lambda strategy, what: None)


@fault("CTX-11")
def every_caller_gets_a_context_of_its_own(plant: Plant) -> None:
    def copied(original: Callable[[], ReplicaContext | None]) -> ReplicaContext | None:
        replica = original()
        return replica and ReplicaContext(replica.strategy, replica.replica_id_in_sync_group)

    plant.wrap(distribute, "get_replica_context", lambda original: lambda: copied(original))


@fault("CTX-12")
def the_default_strategy_wraps_results(plant: Plant) -> None:
    plant.wrap(
        DefaultStrategy,
        "run",
        lambda original: lambda self, *args, **kwargs: PerReplica([original(self, *args, **kwargs)]),
    )

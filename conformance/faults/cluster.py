"""Faults of clusters: resolvers, and what a strategy makes of them."""

import copy
import os
from dataclasses import replace
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.clusters import cluster_spec
from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.clusters.resolvers import SimpleClusterResolver, TFConfigClusterResolver
from refdist._core.strategies import mirrored, multi_worker_mirrored
from refdist._core.strategies.multi_worker_mirrored import MultiWorkerMirroredStrategy
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.strategies.v1_strategies import MultiWorkerMirroredStrategyV1


@fault("CLUSTER-01")
def a_given_resolver_is_copied(plant: Plant) -> None:
    def copying(original: Any) -> Any:
        return lambda resolver, *args: original(copy.copy(resolver), *args)

    plant.wrap(multi_worker_mirrored, "multi_worker_plan", copying)


@fault("CLUSTER-02")
def an_empty_resolver_stands_in_for_none(plant: Plant) -> None:
    def empty(original: Any) -> Any:
        return lambda self: original(self) or SimpleClusterResolver(ClusterSpec({}))

    plant.wrap(StrategyBase, "cluster_resolver", empty)


@fault("CLUSTER-03")
def a_mirrored_strategy_reads_tf_config(plant: Plant) -> None:
    def reading(original: Any) -> Any:
        def plan(names: Any, ops: Any) -> Any:
            return replace(
                original(names, ops), resolver=TFConfigClusterResolver() if "TF_CONFIG" in os.environ else None
            )

        return plan

    plant.wrap(mirrored, "mirrored_plan", reading)


@fault("CLUSTER-04")
def only_the_built_in_strategies_look_for_a_resolver(plant: Plant) -> None:
    built_in = (MultiWorkerMirroredStrategy, MultiWorkerMirroredStrategyV1)
    plant.wrap(
        StrategyBase,
        "cluster_resolver",
        lambda original: lambda self: original(self) if isinstance(self, built_in) else None,
    )


@fault("CLUSTER-05")
def the_multi_worker_strategy_has_the_general_text(plant: Plant) -> None:
    plant.replace(MultiWorkerMirroredStrategy, "cluster_resolver", StrategyBase.cluster_resolver)


@fault("CLUSTER-06")
def a_strategy_without_arguments_has_an_empty_cluster(plant: Plant) -> None:
    class Empty(TFConfigClusterResolver):
        """A resolver that has not found the cluster."""

        def cluster_spec(self) -> ClusterSpec:
            """Return no jobs."""
            return ClusterSpec({})

    plant.replace(multi_worker_mirrored, "TFConfigClusterResolver", Empty)


@fault("CLUSTER-07")
def the_addresses_of_a_job_are_put_in_order(plant: Plant) -> None:
    plant.wrap(
        cluster_spec, "_tasks", lambda original: lambda *given: dict(enumerate(sorted(original(*given).values())))
    )


@fault("CLUSTER-08")
def every_task_is_a_worker(plant: Plant) -> None:
    def working(original: Any) -> Any:
        def resolve(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            self.task_type = self.task_type and "worker"

        return resolve

    plant.wrap(TFConfigClusterResolver, "__init__", working)


@fault("CLUSTER-09")
def a_given_resolver_is_always_of_the_first_task(plant: Plant) -> None:
    def first(original: Any) -> Any:
        def resolve(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            self.task_id = 0 if self.task_id else self.task_id

        return resolve

    plant.wrap(SimpleClusterResolver, "__init__", first)

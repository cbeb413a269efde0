"""cluster_resolver and TF_CONFIG: what a strategy tells of the cluster, and where it knows it from."""

import inspect
import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from conformance.checks import check
from conformance.world import World

# The cluster of the example on the pages; the task there is worker 0.
CLUSTER = {"worker": ["localhost:12345", "localhost:23456"], "ps": ["localhost:34567"]}


@check("CLUSTER-01", replicas=(1,), needs=("multi_worker", "tpu"))
def multi_worker_strategies_have_a_resolver(world: World) -> None:
    resolver = world.tf.distribute.cluster_resolver.ClusterResolver

    given: list[Any] = []

    def program(strategy: Any, _: int) -> tuple[bool, bool]:
        own = strategy.cluster_resolver
        return isinstance(own, resolver), any(own is one for one in given) and own is strategy.cluster_resolver

    for kind in _multi_worker_kinds(world):

        def with_resolver(kind: Any = kind) -> Any:
            given.append(world.tf.distribute.cluster_resolver.TFConfigClusterResolver())
            return kind(cluster_resolver=given[-1])

        for index, (is_one, _) in enumerate(world.workers(3, program, build=kind)):
            world.true(is_one, f"{kind.__name__} of worker {index} has a ClusterResolver")
        for index, (_, is_given) in enumerate(world.workers(2, program, build=with_resolver)):
            world.true(is_given, f"{kind.__name__} of worker {index} has the resolver that it was given")
    if not world.has("TPU"):
        return
    for kind in (world.tf.distribute.TPUStrategy, world.tf.distribute.experimental.TPUStrategy):
        given = world.tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
        world.same(given, kind(given).cluster_resolver, f"the resolver given to {kind.__name__}")
        world.true(isinstance(kind().cluster_resolver, resolver), f"{kind.__name__} without one has a ClusterResolver")


@check("CLUSTER-02")
def a_strategy_that_sets_no_resolver_has_none(world: World) -> None:
    for kind in ("OneDevice", "Mirrored", "CentralStorage"):
        for flavor, suffix in ((world.tf, ""), (world.tf.compat.v1, ".v1")):
            bare = world.strategy(kind + suffix).extended

            class Minimal(flavor.distribute.Strategy):
                pass

            world.same(None, Minimal(bare).cluster_resolver, f"a strategy over the extended object of {kind}{suffix}")


@check("CLUSTER-03")
def single_worker_strategies_have_no_resolver(world: World) -> None:
    for strategy in world.each():
        world.same(None, strategy.cluster_resolver, world.built)
    # A strategy of one worker does not take part in a cluster, even where the environment describes one.
    with _tf_config(CLUSTER, "worker", 0):
        for strategy in world.each():
            world.same(None, strategy.cluster_resolver, f"{world.built}, with TF_CONFIG set")
            with strategy.scope():
                world.same(None, world.tf.distribute.get_strategy().cluster_resolver, f"{world.built}, in its scope")


@check("CLUSTER-04", replicas=(1,), needs=("multi_worker",))
def a_subclass_supplies_a_resolver_by_its_extended_object_or_by_overriding(world: World) -> None:
    tf = world.tf
    # An empty cluster has no other workers that the strategy could wait for.
    with _no_tf_config():
        provider = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=_simple_resolver(world, {}, None, None))
    overriding = _simple_resolver(world, CLUSTER, "worker", 1)

    class Inheriting(tf.distribute.Strategy):
        def __init__(self) -> None:
            super().__init__(provider.extended)

    class Overriding(tf.distribute.Strategy):
        @property
        def cluster_resolver(self) -> Any:
            return overriding

    world.true(provider.cluster_resolver is not None, "the extended object belongs to a strategy with a resolver")
    world.same(provider.cluster_resolver, Inheriting().cluster_resolver, "the extended object has a resolver")
    bare = world.strategy("Mirrored").extended
    for extended in (bare, provider.extended):
        world.same(overriding, Overriding(extended).cluster_resolver, "the property is overridden")
    world.same(None, tf.distribute.Strategy(bare).cluster_resolver, "neither is done")


@check("CLUSTER-05", replicas=(1,), needs=("multi_worker", "tpu"))
def multi_worker_strategies_document_which_resolver_they_return(world: World) -> None:
    distribute = world.tf.distribute
    general = inspect.getdoc(distribute.Strategy.cluster_resolver)
    names = ("MultiWorkerMirroredStrategy", "TPUStrategy")
    for kind in (getattr(space, name) for name in names for space in (distribute, distribute.experimental)):
        text = inspect.getdoc(kind.cluster_resolver) or ""
        world.true("resolver" in text.lower(), f"{kind.__name__}.cluster_resolver says what it returns: {text!r}")
        # The general text says what strategies in general return, not what this one does.
        world.true(text != general, f"the text of {kind.__name__}.cluster_resolver is about this strategy: {text!r}")


@check("CLUSTER-06", replicas=(1,), needs=("multi_worker",))
def a_strategy_without_arguments_reads_tf_config(world: World) -> None:
    for kind in _multi_worker_kinds(world):
        for index, (cluster, told, count) in enumerate(world.workers(2, _told, build=kind)):
            world.equal([cluster, "worker", index], told, "cluster, task type and task id")
            world.equal(2, count, "replicas of both workers")


@check("CLUSTER-07", replicas=(1,))
def tf_config_is_json_with_a_cluster_and_a_task(world: World) -> None:
    resolver = world.tf.distribute.cluster_resolver.TFConfigClusterResolver
    # The index counts the addresses as they are listed, so their order is a part of the cluster.
    unordered = {"chief": ["host-b:1"], "worker": ["host-c:3", "host-a:2", "host-b:1"], "ps": ["host-a:9", "host-a:8"]}
    for cluster in (CLUSTER, unordered):
        for job, addresses in cluster.items():
            for index, address in enumerate(addresses):
                with _tf_config(cluster, job, index):
                    found = resolver()
                    _expect_task(world, found, cluster, job, index)
                    world.equal(address, found.cluster_spec().task_address(job, index))
    config = {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}
    with _environment(json.dumps(config, indent=4, sort_keys=True)):
        _expect_task(world, resolver(), CLUSTER, "worker", 1)
    # Python prints a dict with quotes that JSON does not have.
    for text in (str(config), json.dumps(config)[:-1]):
        with _environment(text), world.raises(ValueError):
            resolver().cluster_spec()


@check("CLUSTER-08", replicas=(1,), needs=("multi_worker",))
def the_task_type_chooses_the_branch_of_the_example(world: World) -> None:
    distribute = world.tf.distribute

    def program(strategy: Any, _: int) -> str:
        if strategy.cluster_resolver.task_type == "worker":
            return "the block of workers"
        if strategy.cluster_resolver.task_type == "ps":
            return "the block of parameter servers"
        return "no block"

    ran = world.workers(2, program, build=distribute.experimental.MultiWorkerMirroredStrategy)
    world.equal(["the block of workers"] * 2, ran)
    for job in ("worker", "ps"):
        with _tf_config(CLUSTER, job, 0):
            world.equal(job, distribute.cluster_resolver.TFConfigClusterResolver().task_type)


@check("CLUSTER-09", replicas=(1,), needs=("multi_worker",))
def the_resolver_tells_cluster_task_type_and_task_id(world: World) -> None:
    for index, (cluster, told, _) in enumerate(world.workers(3, _told)):
        world.equal(3, len(cluster["worker"]), "workers of the cluster")
        world.equal([cluster, "worker", index], told, f"worker {index}")
    with _tf_config(CLUSTER, "worker", 0):
        _expect_task(world, world.tf.distribute.cluster_resolver.TFConfigClusterResolver(), CLUSTER, "worker", 0)
    with_chief = {"chief": ["localhost:12345"], "worker": ["localhost:23456", "localhost:34567"]}
    for job, index in (("chief", 0), ("worker", 0), ("worker", 1)):
        _expect_task(world, _simple_resolver(world, with_chief, job, index), with_chief, job, index)
    for strategy in world.each("TPU") if world.has("TPU") else ():
        found = strategy.cluster_resolver
        addresses = found.cluster_spec().as_dict()[found.task_type]
        world.true(
            found.task_id in range(len(addresses)), f"task {found.task_id} of {addresses}, for the cores of a TPU"
        )


def _multi_worker_kinds(world: World) -> list[Any]:
    """Return the multi-worker strategy under each of its documented names."""
    tf = world.tf
    return [
        tf.distribute.MultiWorkerMirroredStrategy,
        tf.distribute.experimental.MultiWorkerMirroredStrategy,
        tf.compat.v1.distribute.experimental.MultiWorkerMirroredStrategy,
    ]


def _told(strategy: Any, _: int) -> tuple[Any, list[Any], int]:
    """Return the cluster of TF_CONFIG, what a strategy tells of cluster and task, and how many replicas it has."""
    resolver = strategy.cluster_resolver
    cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
    told = [resolver.cluster_spec().as_dict(), resolver.task_type, resolver.task_id]
    return cluster, told, strategy.num_replicas_in_sync


def _simple_resolver(world: World, cluster: Mapping[str, Any], job: str | None, index: int | None) -> Any:
    """Make a resolver that knows the cluster and the task from its arguments."""
    spec = world.tf.train.ClusterSpec(cluster)
    return world.tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type=job, task_id=index)


def _expect_task(world: World, resolver: Any, cluster: Mapping[str, Any], job: str, index: int) -> None:
    """Expect a resolver to tell exactly this cluster and this task of it."""
    told = [resolver.cluster_spec().as_dict(), resolver.task_type, resolver.task_id]
    world.equal([cluster, job, index], told, "cluster, task type and task id")


def _tf_config(cluster: Mapping[str, Any], job: str, index: int) -> AbstractContextManager[Any]:
    """Let TF_CONFIG describe one task of a cluster within the block."""
    return _environment(json.dumps({"cluster": cluster, "task": {"type": job, "index": index}}))


def _no_tf_config() -> AbstractContextManager[Any]:
    """Let TF_CONFIG describe no cluster within the block."""
    return _environment("{}")


def _environment(config: str) -> AbstractContextManager[Any]:
    return mock.patch.dict(os.environ, {"TF_CONFIG": config})

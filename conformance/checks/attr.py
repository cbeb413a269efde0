"""Checks of ATTR: attributes, inheritance, constructors and inventories of the strategies."""

import inspect
from collections.abc import Iterable
from functools import reduce
from typing import Any

from conformance.checks import check
from conformance.world import World

SHARED_METHODS = (
    "experimental_distribute_dataset",
    "experimental_local_results",
    "experimental_make_numpy_dataset",
    "reduce",
    "run",
    "scope",
)
LOGICAL_DEVICE_METHODS = (
    "experimental_assign_to_logical_device",
    "experimental_replicate_to_logical_devices",
    "experimental_split_to_logical_devices",
)
V1_METHODS = ("experimental_run", "make_dataset_iterator", "make_input_fn_iterator", "update_config_proto")
V2_METHODS = (
    *SHARED_METHODS,
    *LOGICAL_DEVICE_METHODS,
    "experimental_distribute_datasets_from_function",
    "experimental_distribute_values_from_function",
)
NAMES_OF_THE_PAGES = (
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedValues",
    "InputContext",
    "InputIterator",
    "InputOptions",
    "InputReplicationMode.PER_WORKER",
    "NcclAllReduce",
    "ReduceOp.MEAN",
    "ReduceOp.SUM",
    "ReplicaContext",
    "RunOptions",
    "StrategyExtended",
    "cluster_resolver.ClusterResolver",
    "cluster_resolver.TPUClusterResolver",
    "experimental.MultiWorkerMirroredStrategy",
    "experimental.ParameterServerStrategy",
    "get_replica_context",
    "get_strategy",
)


@check("ATTR-01", replicas=(1,))
def the_base_class_is_built_from_extended_alone(world: World) -> None:
    base = world.tf.distribute.Strategy
    extended = world.strategy("Mirrored").extended

    world.signature(base.__init__, ["extended"])
    with world.raises(TypeError):
        base()
    world.same(extended, base(extended).extended)
    world.same(extended, base(extended=extended).extended)


@check("ATTR-02")
def extended_holds_the_further_methods(world: World) -> None:
    tf = world.tf
    default = tf.distribute.get_strategy()
    for strategy in world.each():
        extended, count = strategy.extended, strategy.num_replicas_in_sync
        world.true(isinstance(extended, tf.distribute.StrategyExtended), "extended is a StrategyExtended")
        world.same(extended, strategy.extended)
        value = world.per_replica(strategy, [float(index + 1) for index in range(count)])
        total = count * (count + 1) / 2

        with strategy.scope():
            doubled = extended.call_for_each_replica(lambda x: x * 2, args=(value,))
            summed = extended.reduce_to(tf.distribute.ReduceOp.SUM, value, destinations="CPU:0")
            batch = extended.batch_reduce_to(tf.distribute.ReduceOp.SUM, [(value, "CPU:0"), (doubled, "CPU:0")])

        world.equal([2.0 * (index + 1) for index in range(count)], world.locals(strategy, doubled))
        world.equal([total], world.locals(strategy, summed))
        world.equal([[total], [2 * total]], [world.locals(strategy, part) for part in batch])
        # The default strategy computes where it is called, so it need not name devices of its own.
        if strategy is not default:
            world.equal(count, len(extended.worker_devices), "worker devices")


@check("ATTR-03")
def num_replicas_in_sync_counts_the_replicas_that_reduce_together(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        expected = 1 if strategy_has_one_replica(world, strategy) else world.replicas
        world.true(type(strategy.num_replicas_in_sync) is int, "num_replicas_in_sync is a Python int")
        world.equal(expected, strategy.num_replicas_in_sync)

        def ones() -> Any:
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(1.0))

        world.equal([expected] * expected, world.locals(strategy, strategy.run(ones)), "all_reduce of ones")


@check("ATTR-04")
def the_v1_classes_derive_from_the_v1_base(world: World) -> None:
    v1 = world.tf.compat.v1.distribute
    for kind in (v1.OneDeviceStrategy, v1.MirroredStrategy, v1.experimental.CentralStorageStrategy):
        world.true(issubclass(kind, v1.Strategy), f"{kind.__name__} of v1 derives from compat.v1.distribute.Strategy")
    for strategy in world.each():
        world.true(isinstance(strategy, v1.Strategy), "the strategy is a compat.v1.distribute.Strategy")


@check("ATTR-05", replicas=(1,))
def the_v2_one_device_strategy_derives_from_the_v2_base(world: World) -> None:
    v1, v2 = world.tf.compat.v1.distribute, world.tf.distribute

    world.true(issubclass(v2.OneDeviceStrategy, v2.Strategy), "OneDeviceStrategy derives from distribute.Strategy")
    world.true(
        not issubclass(v2.OneDeviceStrategy, v1.Strategy), "it does not derive from compat.v1.distribute.Strategy"
    )
    for strategy in world.each():
        world.true(isinstance(strategy, v2.Strategy), "the strategy is a distribute.Strategy")
        world.true(not isinstance(strategy, v1.Strategy), "the strategy is not a compat.v1.distribute.Strategy")


@check("ATTR-06")
def state_and_computation_are_spread_over_the_devices(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        devices = world.replica_devices(strategy)
        central = isinstance(strategy, tf.distribute.experimental.CentralStorageStrategy)
        with strategy.scope():
            variable = tf.Variable(1.0)

        world.equal(devices, list(strategy.extended.worker_devices), "worker devices")
        world.equal(
            [world.full("CPU:0")] if central else devices,
            [world.device(copy) for copy in strategy.experimental_local_results(variable)],
            "devices of the variable",
        )
        results = strategy.run(lambda: tf.constant(2.0) * 3.0)
        world.equal(
            devices, [world.device(part) for part in strategy.experimental_local_results(results)], "devices of results"
        )


@check("ATTR-07", needs=("data", "logical_devices"))
def every_v2_strategy_has_the_methods_of_the_base_page(world: World) -> None:
    expect_methods(world, world.tf.distribute.Strategy, V2_METHODS)
    for strategy in world.each():
        world.true(isinstance(strategy, world.tf.distribute.Strategy), "the strategy is a distribute.Strategy")
        expect_methods(world, type(strategy), V2_METHODS)
        expect_methods(world, strategy, V2_METHODS)


@check("ATTR-08", replicas=(1,), needs=("data", "logical_devices"))
def the_v2_one_device_strategy_has_the_methods_of_its_page(world: World) -> None:
    for strategy in world.each():
        expect_methods(world, strategy, V2_METHODS)


@check("ATTR-09", needs=("data", "v1_iterators", "config_proto"))
def the_v1_strategies_have_the_methods_of_their_pages(world: World) -> None:
    for strategy in world.each():
        expect_methods(
            world, strategy, (*SHARED_METHODS, *V1_METHODS, "experimental_distribute_datasets_from_function")
        )


@check("ATTR-10", needs=("data", "v1_iterators", "config_proto"))
def the_v1_central_storage_strategy_has_the_methods_of_its_page(world: World) -> None:
    for strategy in world.each():
        expect_methods(world, strategy, (*SHARED_METHODS, *V1_METHODS, "distribute_datasets_from_function"))


@check("ATTR-11")
def the_v1_strategies_have_no_methods_of_v2_only(world: World) -> None:
    for strategy in world.each():
        for name in LOGICAL_DEVICE_METHODS:
            world.true(not hasattr(strategy, name), f"there is no {name} in v1")
        # The text of the v1 run points to this method, so it may be there; then it has to work.
        method = getattr(strategy, "experimental_distribute_values_from_function", None)
        if method is not None:
            value = method(lambda context: world.tf.constant(10 * context.replica_id_in_sync_group))
            expected = [10 * index for index in range(strategy.num_replicas_in_sync)]
            world.equal(expected, world.locals(strategy, value))


@check("ATTR-12", needs=("v1_iterators", "config_proto"))
def the_v1_methods_exist_in_v1_only(world: World) -> None:
    for strategy in world.each():
        if isinstance(strategy, world.tf.compat.v1.distribute.Strategy):
            expect_methods(world, strategy, V1_METHODS)
        else:
            for name in V1_METHODS:
                world.true(not hasattr(strategy, name), f"{type(strategy).__name__} of v2 has no {name}")


@check("ATTR-13")
def cluster_resolver_is_the_third_attribute(world: World) -> None:
    base = world.tf.distribute.Strategy(world.strategy("Mirrored").extended)
    for strategy in (base, *world.each()):
        for name in ("cluster_resolver", "extended", "num_replicas_in_sync"):
            world.true(hasattr(strategy, name), f"{type(strategy).__name__} has {name}")


@check("ATTR-14")
def the_older_pages_list_two_attributes(world: World) -> None:
    listed = {"extended", "num_replicas_in_sync"}
    for strategy in world.each():
        names = {name for name in dir(strategy) if not name.startswith("_") and not callable(getattr(strategy, name))}
        # Newer pages add cluster_resolver, which says nothing for a strategy without a cluster.
        world.equal(sorted(listed), sorted(names - {"cluster_resolver"}), "public attributes that are not methods")
        world.same(None, getattr(strategy, "cluster_resolver", None), "cluster_resolver")


@check("ATTR-15", replicas=(2,))
def the_strategies_are_classes_at_their_documented_paths(world: World) -> None:
    paths = {
        "OneDevice": "distribute.OneDeviceStrategy",
        "OneDevice.v1": "compat.v1.distribute.OneDeviceStrategy",
        "Mirrored": "distribute.MirroredStrategy",
        "Mirrored.v1": "compat.v1.distribute.MirroredStrategy",
        "CentralStorage": "distribute.experimental.CentralStorageStrategy",
        "CentralStorage.v1": "compat.v1.distribute.experimental.CentralStorageStrategy",
    }
    for path in ("distribute.Strategy", *paths.values()):
        world.true(isinstance(resolve(world.tf, path), type), f"tf.{path} is a class")
    for kind, path in paths.items():
        world.true(type(world.strategy(kind)) is resolve(world.tf, path), f"tf.{path} is the class of what it makes")


@check("ATTR-16", replicas=(2,), needs=("data", "v1_iterators", "tpu", "multi_worker", "parameter_server"))
def the_names_that_the_pages_rely_on_mean_what_they_say(world: World) -> None:
    tf, distribute = world.tf, world.tf.distribute
    for path in NAMES_OF_THE_PAGES:
        world.true(exists(distribute, path), f"there is tf.distribute.{path}")
    for kind in (distribute.experimental.MultiWorkerMirroredStrategy, distribute.experimental.ParameterServerStrategy):
        world.true(issubclass(kind, distribute.Strategy), f"{kind.__name__} is a Strategy")
    world.true(issubclass(distribute.NcclAllReduce, distribute.CrossDeviceOps), "NcclAllReduce is a CrossDeviceOps")
    resolvers = distribute.cluster_resolver
    world.true(issubclass(resolvers.TPUClusterResolver, resolvers.ClusterResolver), "TPUClusterResolver is a resolver")
    world.same(distribute.InputReplicationMode.PER_WORKER, distribute.InputOptions().experimental_replication_mode)

    strategy = world.strategy("Mirrored")
    contexts: dict[str, list[Any]] = {"value": [], "input": [], "replica": []}

    def value(context: Any) -> Any:
        contexts["value"].append(context)
        return tf.constant(context.replica_id_in_sync_group)

    def dataset(context: Any) -> Any:
        contexts["input"].append(context)
        return tf.data.Dataset.range(4).batch(2)

    def step(x: Any) -> Any:
        contexts["replica"].append(distribute.get_replica_context())
        return x + 1

    values = strategy.experimental_distribute_values_from_function(value)
    results = strategy.run(step, args=(values,), options=distribute.RunOptions())
    distributed = strategy.distribute_datasets_from_function(dataset)
    iterator = world.strategy("Mirrored.v1").make_dataset_iterator(tf.data.Dataset.range(4).batch(2))

    value_context = getattr(distribute, "ValueContext", None) or distribute.experimental.ValueContext
    expect_instances(world, contexts["value"], value_context)
    expect_instances(world, contexts["input"], distribute.InputContext)
    expect_instances(world, contexts["replica"], distribute.ReplicaContext)
    expect_instances(world, [values, results], distribute.DistributedValues)
    expect_instances(world, [distributed], distribute.DistributedDataset)
    expect_instances(world, [iterator], distribute.InputIterator)
    expect_instances(world, [strategy.extended], distribute.StrategyExtended)
    world.equal(3, strategy.reduce(distribute.ReduceOp.SUM, results, axis=None))
    world.close(1.5, strategy.reduce(distribute.ReduceOp.MEAN, results, axis=None))
    with strategy.scope():
        world.same(strategy, distribute.get_strategy())


@check("ATTR-17", replicas=(1,))
def the_terms_are_explained_where_readers_are_sent(world: World) -> None:
    distribute = world.tf.distribute
    texts = f"{inspect.getdoc(distribute)} {inspect.getdoc(distribute.StrategyExtended)}"
    # A page writes per-replica, and the class to which it points may write PerReplica.
    glossary = texts.replace("PerReplica", "per-replica").lower()

    world.true("StrategyExtended" in str(inspect.getdoc(distribute.Strategy)), "Strategy points to StrategyExtended")
    for term in ("per-replica", "replica context", "cross-replica context", "reduce"):
        world.true(term in glossary, f"the texts of StrategyExtended and of tf.distribute explain {term!r}")


def expect_methods(world: World, owner: Any, names: Iterable[str]) -> None:
    """Expect an object to have these methods, each with a text that explains it."""
    for name in names:
        method = getattr(owner, name, None)
        world.true(callable(method), f"{owner!r} has a method {name}")
        world.true(inspect.getdoc(method), f"{name} has a documentation text")


def expect_instances(world: World, values: Iterable[Any], kind: type) -> None:
    """Expect one or more values, all of this class."""
    kinds = [type(value).__name__ for value in values]
    world.true(kinds, f"there are values of class {kind.__name__}")
    world.true(all(isinstance(value, kind) for value in values), f"{kinds} are all {kind.__name__}")


def exists(root: Any, path: str) -> bool:
    """Tell whether a dotted name can be followed from a namespace."""
    try:
        resolve(root, path)
    except AttributeError:
        return False
    return True


def resolve(root: Any, path: str) -> Any:
    """Follow a dotted name from a namespace."""
    return reduce(getattr, path.split("."), root)


def strategy_has_one_replica(world: World, strategy: Any) -> bool:
    """Tell whether a strategy is of a kind that never has more than one replica."""
    one = world.is_a(strategy, "OneDeviceStrategy") or world.is_a(strategy, "ParameterServerStrategy")
    return one or strategy is world.tf.distribute.get_strategy()

"""CentralStorageStrategy: computation on every device, variables on one."""

import math
from typing import Any

from conformance.checks import check
from conformance.checks.mirror import replica_devices
from conformance.world import World


@check("CENTRAL-01", replicas=(1,))
def constructor_takes_compute_devices_and_parameter_device(world: World) -> None:
    for strategy in world.each():
        central = type(strategy)
        world.signature(central.__init__, [("compute_devices", None), ("parameter_device", None)])
        default = central()

        world.equal(
            [1.0] * default.num_replicas_in_sync, world.locals(default, default.run(lambda: world.tf.constant(1.0)))
        )


@check("CENTRAL-02")
def all_variables_live_on_one_device(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        with strategy.scope():
            variables = [
                tf.Variable(1.0),
                tf.Variable([1.0, 2.0], trainable=False),
                tf.Variable(3.0, aggregation=tf.VariableAggregation.SUM),
            ]

        world.equal([world.device(variables[0])] * 3, list(map(world.device, variables)))
        world.equal([1] * 3, [len(strategy.experimental_local_results(v)) for v in variables], "copies")


@check("CENTRAL-03", replicas=(1,))
def variables_are_on_the_cpu_unless_there_is_just_one_gpu(world: World) -> None:
    for count in (0, 2, 3):
        with world.machine(gpus=count):
            for strategy in world.each():
                world.equal(world.full("CPU:0"), _variable_device(world, type(strategy)()), f"with {count} GPUs")


@check("CENTRAL-04", replicas=(1,))
def variables_are_on_the_only_gpu(world: World) -> None:
    with world.machine(gpus=1):
        for strategy in world.each():
            default = type(strategy)()

            world.equal(world.full("GPU:0"), _variable_device(world, default))
            world.equal(1, default.num_replicas_in_sync)


@check("CENTRAL-05", replicas=(2, 3, 8))
def compute_is_replicated_over_all_gpus(world: World) -> None:
    with world.machine(gpus=world.replicas):
        for strategy in world.each():
            default = type(strategy)()

            world.equal(world.replicas, default.num_replicas_in_sync)
            world.equal(list(map(world.full, world.names())), replica_devices(world, default))


@check("CENTRAL-06")
def updates_happen_once_on_the_central_copy(world: World) -> None:
    tf = world.tf
    for built in world.each():
        names = world.names()
        strategy = type(built)(compute_devices=names, parameter_device=names[-1])
        places: list[str] = []
        with strategy.scope():
            v = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)

            def add(copy: Any, amount: float, places: list[str] = places) -> Any:
                places.append(world.device(tf.constant(0.0)))
                return copy.assign_add(amount)

            strategy.extended.update(v, add, args=(2.0,))

        def read(v: Any = v) -> Any:
            return v.read_value()

        world.equal([world.full(names[-1])], places, "where the update was executed")
        world.equal([3.0] * len(names), _on_each_replica(world, strategy, read))
        strategy.run(lambda v=v: v.assign_add(tf.constant(2.0)))
        world.equal([3.0 + 2.0 * len(names)] * len(names), _on_each_replica(world, strategy, read))
        world.equal([3.0 + 2.0 * len(names)], world.locals(strategy, v), "the only copy")


@check("CENTRAL-07", needs=("data", "function"))
def example_adds_one_to_a_distributed_dataset(world: World) -> None:
    for strategy in world.each():
        _expect_plus_one(world, strategy)


@check("CENTRAL-08", needs=("data",))
def everything_is_on_one_machine(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        with strategy.scope():
            v = tf.Variable(1.0)

        for name in (world.device(v), *replica_devices(world, strategy)):
            world.true(name.startswith("/job:localhost/replica:0/task:0/"), f"{name} on this machine")
        world.same(None, strategy.cluster_resolver)
        policies = tf.data.experimental.AutoShardPolicy
        for policy in (policies.OFF, policies.AUTO, policies.FILE, policies.DATA):
            options = tf.data.Options()
            options.experimental_distribute.auto_shard_policy = policy
            dataset = tf.data.Dataset.range(16).batch(8).with_options(options)
            seen: list[int] = []
            for element in strategy.experimental_distribute_dataset(dataset):
                seen += [int(number) for part in world.locals(strategy, element) for number in part]

            world.equal(list(range(16)), seen, f"examples with {policy}")


@check("CENTRAL-09")
def parameter_device_holds_the_variables(world: World) -> None:
    names = world.names()
    # The last of two devices or more: it computes too, unless there is just one replica.
    last = world.names(max(2, world.replicas))[-1]
    for strategy in world.each():
        for parameter_device in (last, "CPU:0"):
            built = type(strategy)(compute_devices=names, parameter_device=parameter_device)

            world.equal(world.full(parameter_device), _variable_device(world, built))
            world.equal(list(map(world.full, names)), replica_devices(world, built))


@check("CENTRAL-10")
def compute_devices_are_the_replicas(world: World) -> None:
    names = list(reversed(world.names()))
    for strategy in world.each():
        built = type(strategy)(compute_devices=names)

        world.equal(len(names), built.num_replicas_in_sync)
        world.equal(list(map(world.full, names)), replica_devices(world, built))


@check("CENTRAL-11", replicas=(1,), needs=("data", "function"))
def example_runs_with_either_spelling_of_the_class(world: World) -> None:
    tf = world.tf
    for central in (
        tf.compat.v1.distribute.experimental.CentralStorageStrategy,
        tf.distribute.experimental.CentralStorageStrategy,
    ):
        _expect_plus_one(world, central())


def _expect_plus_one(world: World, strategy: Any) -> None:
    """Run the example of the class, and expect each batch of two in pieces of one size, with one added."""
    tf = world.tf
    dist_dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(5).batch(2))
    results: list[Any] = []
    with strategy.scope():

        @tf.function
        def train_step(val: Any) -> Any:
            return val + 1

        for x in dist_dataset:
            results.append(world.locals(strategy, strategy.run(train_step, args=(x,))))

    size = math.ceil(2 / strategy.num_replicas_in_sync)
    starts = [size * index for index in range(strategy.num_replicas_in_sync)]
    expected = [[batch[start : start + size] for start in starts] for batch in ([1, 2], [3, 4], [5])]
    world.equal(expected, [[part.tolist() for part in parts] for parts in results])


def _on_each_replica(world: World, strategy: Any, fn: Any) -> list[Any]:
    """Run a function on the replicas, and return its results by replica as numpy arrays."""
    results: list[Any] = []
    strategy.run(lambda: results.append(world.array(fn())))
    return results


def _variable_device(world: World, strategy: Any) -> str:
    """Return the full name of the device of a variable made in the scope."""
    with strategy.scope():
        return world.device(world.tf.Variable(1.0))

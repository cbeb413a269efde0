"""MirroredStrategy: synchronous training on the devices of one machine."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from conformance.checks import check
from conformance.world import World


@check("MIRROR-01", replicas=(1,))
def constructor_takes_devices_and_cross_device_ops(world: World) -> None:
    for strategy in world.each():
        mirrored = type(strategy)
        world.signature(mirrored.__init__, [("devices", None), ("cross_device_ops", None)])
        default = mirrored()

        world.equal(
            [1.0] * default.num_replicas_in_sync, world.locals(default, default.run(lambda: world.tf.constant(1.0)))
        )


@check("MIRROR-02")
def uses_all_gpus_by_default(world: World) -> None:
    with world.machine(gpus=world.replicas):
        for strategy in world.each():
            default = type(strategy)()

            world.equal(world.replicas, default.num_replicas_in_sync)
            world.equal(list(map(world.full, world.names())), replica_devices(world, default))


@check("MIRROR-03", replicas=(1,))
def uses_the_cpu_where_there_is_no_gpu(world: World) -> None:
    # However many CPUs there are, they are one device.
    for cpus in (1, 4):
        with _without_gpus(world, cpus):
            for strategy in world.each():
                default = type(strategy)()

                world.equal(1, default.num_replicas_in_sync)
                world.equal([world.full("CPU:0")], replica_devices(world, default))


@check("MIRROR-04")
def each_listed_device_is_a_replica(world: World) -> None:
    names = list(reversed(world.names()))
    spelled = [f"/{name.lower()}" for name in names]
    for strategy in world.each():
        mirrored = type(strategy)
        for built in (mirrored(names), mirrored(spelled), mirrored(devices=spelled)):
            world.equal(len(names), built.num_replicas_in_sync)
            world.equal(list(map(world.full, names)), replica_devices(world, built))


@check("MIRROR-05", replicas=(2, 3, 8))
def nccl_all_reduce_is_the_default(world: World) -> None:
    nccl = world.tf.distribute.NcclAllReduce
    for strategy in world.each():
        calls: list[str] = []
        with ExitStack() as stack:
            for name in ("reduce", "batch_reduce"):
                stack.enter_context(mock.patch.object(nccl, name, _recorded(getattr(nccl, name), name, calls)))
            _expect_sums(world, strategy)
        # NCCL is for GPUs: on CPUs another implementation may stand in for it, with the same sums.
        if world.names(1) == ["GPU:0"]:
            world.true(calls, "a default strategy reduces through NcclAllReduce")


@check("MIRROR-06", replicas=(2, 3, 8))
def cross_device_ops_must_descend_from_cross_device_ops(world: World) -> None:
    class Descendant(world.tf.distribute.ReductionToOneDevice):
        pass

    for strategy in world.each():
        mirrored = type(strategy)
        accepted = mirrored(world.names(), cross_device_ops=Descendant())
        _expect_sums(world, accepted)
        _expect_all_reduced_sums(world, accepted)
        for unrelated in (object(), "nccl"):
            # The error may come from the constructor or, at the latest, from the first all-reduce.
            with world.raises():
                _expect_all_reduced_sums(world, mirrored(world.names(), cross_device_ops=unrelated))


@check("MIRROR-07", replicas=(2, 3, 8))
def given_cross_device_ops_do_the_reductions(world: World) -> None:
    tf = world.tf
    base = tf.distribute.ReductionToOneDevice
    total = tf.distribute.ReduceOp.SUM
    calls: list[str] = []

    class Recording(base):
        reduce = _recorded(base.reduce, "reduce", calls)
        batch_reduce = _recorded(base.batch_reduce, "batch_reduce", calls)

    for built in world.each():
        strategy = type(built)(world.names(), cross_device_ops=Recording())
        expected = float(sum(range(world.replicas)))
        with strategy.scope():
            v = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

        def own() -> Any:
            return tf.constant(float(world.replica_id()))

        def all_reduced() -> Any:
            return tf.distribute.get_replica_context().all_reduce(total, own())

        calls.clear()
        world.close([expected] * world.replicas, world.locals(strategy, strategy.run(all_reduced)))
        world.true(calls, "all_reduce() goes through the given cross_device_ops")
        calls.clear()
        strategy.run(lambda v=v: v.assign_add(own()))
        world.close([expected] * world.replicas, world.locals(strategy, v))
        world.true(calls, "the update of a mirrored variable goes through the given cross_device_ops")
        values = strategy.run(own)
        calls.clear()
        world.close(expected, strategy.reduce(total, values, axis=None))
        world.true(calls, "reduce() goes through the given cross_device_ops")


@check("MIRROR-08")
def other_cross_device_ops_give_the_same_numbers(world: World) -> None:
    distribute = world.tf.distribute
    for strategy in world.each():
        for ops in (distribute.HierarchicalCopyAllReduce(), distribute.ReductionToOneDevice()):
            customised = type(strategy)(world.names(), cross_device_ops=ops)
            _expect_sums(world, customised)
            _expect_all_reduced_sums(world, customised)


@check("MIRROR-09")
def copies_are_equal_after_each_step(world: World) -> None:
    tf = world.tf
    aggregation = tf.VariableAggregation
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        with strategy.scope():
            total = tf.Variable([0.0, 0.0], aggregation=aggregation.SUM)
            average = tf.Variable(0.0, aggregation=aggregation.MEAN)
            plain = tf.Variable(0.0)

        def step(total: Any = total, average: Any = average, plain: Any = plain) -> None:
            own = tf.constant(float(world.replica_id() + 1))
            total.assign_add(tf.stack([own, own]))
            average.assign_sub(own)
            plain.assign_add(tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, own))

        summed = float(sum(range(1, count + 1)))
        for turn in (1, 2, 3):
            strategy.run(step)

            world.close([[turn * summed] * 2] * count, world.locals(strategy, total))
            world.close([-turn * summed / count] * count, world.locals(strategy, average))
            world.close([turn * summed] * count, world.locals(strategy, plain))
        for name in replica_devices(world, strategy):
            world.true(name.startswith("/job:localhost/replica:0/task:0/"), f"{name} on this machine")


@check("MIRROR-10", replicas=(1,), needs=("tpu", "multi_worker"))
def relatives_for_tpus_and_workers_are_strategies(world: World) -> None:
    tf = world.tf
    for relative in (tf.distribute.experimental.TPUStrategy, tf.distribute.experimental.MultiWorkerMirroredStrategy):
        world.true(issubclass(relative, tf.distribute.Strategy), f"{relative.__name__} is a strategy")


def replica_devices(world: World, strategy: Any) -> list[str]:
    """Return the full names of the devices on which the replicas make their tensors, by replica."""
    parts = strategy.experimental_local_results(strategy.run(lambda: world.tf.constant(1.0)))
    return list(map(world.device, parts))


@contextmanager
def _without_gpus(world: World, cpus: int) -> Generator[None]:
    """Take the GPUs away; where there is none anyhow, the machine stays as it is."""
    if world.names(1) == ["CPU:0"]:
        yield
        return
    with world.machine(gpus=0, cpus=cpus):
        yield


def _recorded(method: Any, name: str, calls: list[str]) -> Any:
    def recording(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return method(self, *args, **kwargs)

    return recording


def _expect_sums(world: World, strategy: Any) -> None:
    """Expect reduce to give the true sum and mean of one number per replica."""
    op = world.tf.distribute.ReduceOp
    numbers = [float(3**i) for i in range(strategy.num_replicas_in_sync)]
    values = world.per_replica(strategy, numbers)

    world.close(sum(numbers), strategy.reduce(op.SUM, values, axis=None))
    world.close(sum(numbers) / len(numbers), strategy.reduce(op.MEAN, values, axis=None))


def _expect_all_reduced_sums(world: World, strategy: Any) -> None:
    """Expect all_reduce to leave the true sum and mean of one number per replica with each replica."""
    op = world.tf.distribute.ReduceOp
    numbers = [float(3**i) for i in range(strategy.num_replicas_in_sync)]

    def step() -> Any:
        replica = world.tf.distribute.get_replica_context()
        own = world.tf.constant(numbers[world.replica_id()])
        return replica.all_reduce(op.SUM, own), replica.all_reduce(op.MEAN, own)

    sums, means = strategy.run(step)
    world.close([sum(numbers)] * len(numbers), world.locals(strategy, sums))
    world.close([sum(numbers) / len(numbers)] * len(numbers), world.locals(strategy, means))

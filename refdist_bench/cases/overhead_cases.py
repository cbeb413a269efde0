"""Staged steps that compute almost nothing: what a call costs above a jitted one, and many virtual replicas."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import refdist as tf
from refdist_bench.benchmark_case import Case, Goal, Who
from refdist_bench.devices_at_hand import number, real_devices, strategy_on
from refdist_bench.settings import Settings
from refdist_bench.timers import Step, side

GOALS = {6: 10e-6, 20: 20e-6}
"""Seconds above a jitted call, by the number of variables."""
ctx: Callable[[], Any] = tf.distribute.get_replica_context


def overhead_cases(settings: Settings) -> list[Case]:
    """Return the calls with 6 and 20 small variables, and one step of ten thousand virtual replicas."""
    counts = [count for count in settings.device_counts() if count <= 2]
    cases = [_case(variables, count) for variables in GOALS for count in counts]
    cases += [_virtual(count) for count in settings.virtual_counts((64, 10_000))]
    return [case for case in cases if case.backend in settings.backends]


def _case(variables: int, replicas: int) -> Case:
    return Case(
        name=f"call, {variables} variables, {replicas} device{'s' if replicas > 1 else ''}",
        series=f"call, {variables} variables",
        group="overhead of a staged call",
        replicas=replicas,
        backend="jax",
        sides=(
            side(Who.REFDIST, "refdist", added_step, "jax", replicas, variables),
            side(Who.RAW, "jitted call", jitted_step, replicas, variables),
        ),
        goal=Goal("over", GOALS[variables]),
        headline=replicas == 1,
        tensorflow={"tf.function": {"step": "added", "replicas": replicas, "variables": variables}},
    )


def _virtual(replicas: int) -> Case:
    return Case(
        name=f"call, {replicas:,} virtual",
        series="call, virtual",
        group="overhead of a staged call",
        replicas=replicas,
        backend="simulator",
        amount=replicas,
        sides=(side(Who.REFDIST, "refdist", added_step, "simulator", replicas, 6),),
        headline=replicas == 10_000,
    )


def added_step(backend: str, replicas: int, variables: int) -> Step:
    """Add a sum over replicas to a few variables of four numbers each."""
    strategy = strategy_on(backend, replicas)
    with strategy.scope():
        held = [tf.Variable(np.zeros(4, np.float32)) for _ in range(variables)]

    def replica(x: Any) -> Any:
        total = ctx().all_reduce("SUM", tf.reduce_sum(x))
        for variable in held:
            variable.assign_add(jnp.broadcast_to(total, (4,)))
        return total

    @tf.function
    def step(x: Any) -> Any:
        return strategy.reduce("MEAN", strategy.run(replica, args=(x,)), axis=None)

    own = strategy.run(lambda: tf.ones([8]))
    return lambda: number(step(own))


def jitted_step(replicas: int, variables: int) -> Step:
    """The same by hand: plain jit on one device, jit(shard_map) on several."""

    def local(parameters: Any, x: Any) -> Any:
        if replicas == 1:
            return [parameter + x.sum() for parameter in parameters], x.sum()
        total = jax.lax.psum(x.sum(), "replica")
        return [parameter + total for parameter in parameters], total  # which is its own mean

    mesh = Mesh(np.array(real_devices()[:replicas]), ("replica",))
    same, split = PartitionSpec(), PartitionSpec("replica")
    spread = jax.shard_map(local, mesh=mesh, in_specs=(same, split), out_specs=(same, same), check_vma=False)
    program = jax.jit(local if replicas == 1 else spread)
    everywhere, parted = (
        [real_devices()[0]] * 2 if replicas == 1 else [NamedSharding(mesh, same), NamedSharding(mesh, split)]
    )
    parameters = [jax.device_put(np.zeros(4, np.float32), everywhere) for _ in range(variables)]
    x = jax.device_put(np.ones(8 * replicas, np.float32), parted)

    def step() -> float:
        nonlocal parameters
        parameters, total = program(parameters, x)
        return number(total.block_until_ready())  # on all devices, and not only where the number is read

    return step

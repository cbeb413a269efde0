"""Staged steps, compared with the same step written by hand for JAX, and with TensorFlow.

The two sides take turns, so that what else the machine does slows both; `ratio` is ours to theirs, between the medians.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import refdist as tf
from benchmarks.mlp_jax import by_hand, mirrored, staged

ROOT = pathlib.Path(__file__).parent.parent
COUNTS = [1, 2, 4]
DEVICES = 4
ctx = tf.distribute.get_replica_context


def in_turns(benchmark, ours, theirs, *, rounds, warmup=3):
    """Measure our step, and before each round the other one, which reports its own seconds."""
    seconds = []
    benchmark.pedantic(ours, setup=lambda: seconds.append(theirs()), rounds=rounds, warmup_rounds=warmup)
    return None if benchmark.stats is None else (benchmark.stats.stats.median, statistics.median(seconds[-rounds:]))


def note(benchmark, medians, steps, *, goal):
    if medians is not None:
        ours, theirs = medians
        benchmark.extra_info |= {
            "ratio": round(ours / theirs, 3),
            "goal": goal,
            "ours_ms": round(ours / steps * 1e3, 3),
            "theirs_ms": round(theirs / steps * 1e3, 3),
        }


def repeated(step, steps):
    def loop():
        before = time.perf_counter()
        for _ in range(steps):
            step()
        return time.perf_counter() - before

    return loop


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="784-512-512-10, batch 256: staged, and by hand")
def test_staged_step_beside_one_by_hand(benchmark, count):
    ours, traces = staged(count, devices=DEVICES)
    theirs, _ = by_hand(count)
    np.testing.assert_allclose(ours(), theirs(), rtol=1e-4)

    medians = in_turns(benchmark, repeated(ours, 5), repeated(theirs, 5), rounds=60)

    note(benchmark, medians, 5, goal=1.03)
    assert count == len(traces)
    np.testing.assert_allclose(ours(), theirs(), rtol=1e-2)


def small_steps(count, variables):
    """Make steps that do almost nothing with a few variables of four numbers each: ours, and a jitted call."""
    strategy = mirrored(count, devices=DEVICES)
    with strategy.scope():
        held = [tf.Variable(np.zeros(4, np.float32)) for _ in range(variables)]
    traces = []

    def replica(x):
        traces.append(1)
        total = ctx().all_reduce("SUM", x.sum())
        for variable in held:
            variable.assign_add(jnp.broadcast_to(total, (4,)))
        return total

    @tf.function
    def step(x):
        return strategy.reduce("MEAN", strategy.run(replica, args=(x,)), axis=None)

    def local(parameters, x):
        if count == 1:
            return [parameter + x.sum() for parameter in parameters], x.sum()
        total = jax.lax.psum(x.sum(), "replica")
        return [parameter + total for parameter in parameters], jax.lax.psum(total, "replica") / count

    mesh = Mesh(np.array(jax.devices()[:count]), ("replica",))
    same, split = PartitionSpec(), PartitionSpec("replica")
    spread = jax.shard_map(local, mesh=mesh, in_specs=(same, split), out_specs=(same, same), check_vma=False)
    program = jax.jit(local if count == 1 else spread)
    home = [jax.devices()[0]] * 2 if count == 1 else [NamedSharding(mesh, same), NamedSharding(mesh, split)]
    parameters = [jax.device_put(np.zeros(4, np.float32), home[0]) for _ in range(variables)]
    x = jax.device_put(np.ones(8 * count, np.float32), home[1])

    def raw():
        nonlocal parameters
        parameters, total = program(parameters, x)
        return total.block_until_ready()

    own = strategy.run(lambda: jnp.ones(8))
    return lambda: step(own).block_until_ready(), raw, traces


@pytest.mark.parametrize("variables", [6, 20])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.benchmark(group="overhead over a jitted call")
def test_overhead_with_small_variables(benchmark, count, variables):
    ours, theirs, traces = small_steps(count, variables)
    assert float(ours()) == float(theirs()) == 8 * count

    medians = in_turns(benchmark, repeated(ours, 10), repeated(theirs, 10), rounds=200, warmup=10)

    if medians is not None:
        overhead = round((medians[0] - medians[1]) / 10 * 1e6, 1)
        benchmark.extra_info |= {"overhead_us": overhead, "goal": {6: 20, 20: 40}[variables]}
    assert count == len(traces)


@pytest.mark.benchmark(group="staged on the simulator")
def test_ten_thousand_virtual_replicas(per_replica, benchmark):
    count, rows = 10_000, 8
    with tf.using("simulator", gpus=count):
        strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weight, bias = tf.Variable(np.zeros((4, 1), np.float32)), tf.Variable(np.zeros(1, np.float32))
        seen = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )
    points = np.random.default_rng(0).normal(size=(count * rows, 4)).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((points, points.sum(1, keepdims=True))).batch(count * rows)
    x, y = next(iter(strategy.experimental_distribute_dataset(dataset)))
    traces = []

    def replica(x, y):
        traces.append(1)

        def loss(parameters):
            return ((x @ parameters[0] + parameters[1] - y) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)([weight.read_value(), bias.read_value()])
        gradients = ctx().all_reduce("MEAN", gradients)
        weight.assign_sub(0.1 * gradients[0])
        bias.assign_sub(0.1 * gradients[1])
        seen.assign_add(value)
        return value

    @tf.function
    def step(x, y):
        return strategy.reduce("MEAN", strategy.run(replica, args=(x, y)), axis=None)

    first = float(step(x, y))
    per_replica(lambda: float(step(x, y)), count, rounds=30)

    benchmark.extra_info["goal"] = 1
    assert 1 == len(traces)
    assert float(step(x, y)) < first


@pytest.mark.benchmark(group="first call, two replicas")
def test_first_call_beside_one_by_hand(benchmark):
    def first(way):
        command = [sys.executable, "-m", "benchmarks.mlp_jax", way, "2"]
        return float(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)

    seconds = []
    medians = in_turns(benchmark, lambda: seconds.append(first("staged")), lambda: first("by_hand"), rounds=7, warmup=1)

    note(benchmark, medians and (statistics.median(seconds[1:]), medians[1]), 1, goal=1.5)


@pytest.fixture
def tensorflow(request):
    """Start a process that trains the perceptron with TensorFlow, a few steps at a time."""
    python = os.environ.get("REFDIST_TENSORFLOW_PYTHON")
    if not python:
        pytest.skip("REFDIST_TENSORFLOW_PYTHON names no interpreter that has TensorFlow")
    command = [python, "-m", "benchmarks.mlp_tensorflow", str(request.getfixturevalue("count"))]
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield process
        process.stdin.close()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="784-512-512-10, batch 256: staged, and TensorFlow")
def test_staged_step_beside_tensorflow(benchmark, count, tensorflow):
    def theirs():
        print(5, file=tensorflow.stdin, flush=True)
        return float(tensorflow.stdout.readline())

    ours, traces = staged(count, devices=DEVICES)
    np.testing.assert_allclose(ours(), float(tensorflow.stdout.readline()), rtol=1e-4)

    medians = in_turns(benchmark, repeated(ours, 5), theirs, rounds=40)

    note(benchmark, medians, 5, goal=0.8)
    assert count == len(traces)

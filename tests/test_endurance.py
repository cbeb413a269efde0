"""Long loops: five thousand staged steps neither abort the process nor fill its memory."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent

# Nothing in the loop waits for a result: hundreds of programs in flight are what makes JAX abort on host devices.
PROGRAM = """
import json, resource, signal, sys

signal.alarm(200)  # seconds; whatever happens, this process ends

import jax.numpy as jnp
import numpy as np
import refdist as tf

tf.use("jax", cpus=8)
strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(8)])
with strategy.scope():
    weight = tf.Variable(np.zeros(4, np.float32))
    count = tf.Variable(0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM)
traces = []


def replica(x):
    traces.append(1)
    error = weight.read_value() - x
    weight.assign_sub(0.1 * tf.distribute.get_replica_context().all_reduce("MEAN", error))
    count.assign_add(1)
    return (error**2).sum()


@tf.function
def step(x):
    return strategy.reduce("SUM", strategy.run(replica, args=(x,)), axis=None)


def peak_megabytes():
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


x = strategy.run(lambda: jnp.arange(4.0))
for _ in range(1_000):
    loss = step(x)
early = peak_megabytes()
for _ in range(4_000):
    loss = step(x)
result = {"loss": float(loss), "steps": int(count.read_value()), "traces": len(traces), "growth": peak_megabytes() - early}
print(json.dumps(result))
"""


def test_five_thousand_steps_neither_abort_nor_fill_the_memory():
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"}

    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240
    )

    assert 0 == ended.returncode, ended.stderr
    result = json.loads(ended.stdout)
    assert result["loss"] < 1e-6
    assert (8 * 5_000, 8) == (result["steps"], result["traces"])
    assert result["growth"] < 10

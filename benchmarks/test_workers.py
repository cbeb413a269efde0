"""Many virtual workers: a step of a small model, in seconds of one core, beside one strategy over as many devices."""

import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf

pytestmark = pytest.mark.tuning

SIZES = [(8, 16), (16,), (16, 4), (4,)]
ROWS, RATE, STEPS, DEVICES = 4, 0.1, 6, 8
ctx = tf.distribute.get_replica_context


@jax.jit
@jax.value_and_grad
def loss_and_gradients(parameters, x):
    weight, bias, last_weight, last_bias = parameters
    return (jnp.square(jax.nn.relu(x @ weight + bias) @ last_weight + last_bias)).mean()


def trained(strategy):
    """The losses of some steps, the parameters after them, and the seconds of this process at each step's beginning."""
    generator = np.random.default_rng(0)
    with strategy.scope():
        variables = [tf.Variable(generator.normal(0, 0.3, size).astype(np.float32)) for size in SIZES]

    def rows(context):
        own = np.random.default_rng(context.replica_id_in_sync_group)
        return own.normal(size=(ROWS, SIZES[0][0])).astype(np.float32)

    def replica(x):
        value, gradients = loss_and_gradients([np.asarray(variable) for variable in variables], np.asarray(x))
        for variable, gradient in zip(variables, ctx().all_reduce("MEAN", gradients), strict=True):
            variable.assign_sub(RATE * gradient)
        return value

    x = strategy.experimental_distribute_values_from_function(rows)
    losses, seconds = [], []
    for _ in range(STEPS):
        seconds.append(time.process_time())
        losses.append(float(strategy.reduce("MEAN", strategy.run(replica, args=(x,)), axis=None)))
    return losses, [variable.numpy() for variable in variables], [*seconds, time.process_time()]


def seconds_of_a_step(seconds):
    return statistics.median(np.diff(seconds)[1:])  # the first step compiles


@pytest.mark.parametrize("workers", [16, 256])
@pytest.mark.benchmark(group="virtual workers")
def test_step_of_a_small_model_on_many_workers(benchmark, workers):
    with tf.using("simulator", gpus=workers * DEVICES):
        losses, alone, seconds = trained(tf.distribute.MirroredStrategy())
    with tf.using("simulator", gpus=DEVICES):
        found = benchmark.pedantic(
            lambda: tf.cluster.run_workers(lambda _: trained(tf.distribute.MultiWorkerMirroredStrategy()), workers),
            rounds=1,
        )

    step = seconds_of_a_step(found[0][2])
    benchmark.extra_info |= {
        "seconds_of_a_step": round(step, 3),
        "goal": 1.0,
        "ratio_to_one_strategy": round(step / seconds_of_a_step(seconds), 2),
        "us_per_replica": round(step / workers / DEVICES * 1e6),
    }
    for mine, parameters, _ in found:
        assert losses == mine
        assert all(map(np.array_equal, alone, parameters))

"""The steps that train the perceptron: staged through a strategy, and written by hand for JAX.

`python -m benchmarks.mlp_jax staged 2` prints how many seconds the first call takes in a fresh process.
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import refdist as tf
from benchmarks.mlp_problem import BATCH, RATE, batch, start


def loss(parameters, x, y):
    *hidden, weight, bias = parameters
    for inner_weight, inner_bias in zip(hidden[::2], hidden[1::2], strict=True):
        x = jax.nn.relu(x @ inner_weight + inner_bias)
    return -jnp.take_along_axis(jax.nn.log_softmax(x @ weight + bias), y[:, None], 1).mean()


def mirrored(count, *, devices=None):
    with tf.using("jax", cpus=devices or count):
        return tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(count)])


def staged(count, *, devices=None):
    """Return one step of a strategy, and a list to which each trace of a replica adds an entry."""
    strategy = mirrored(count, devices=devices)
    with strategy.scope():
        variables = [tf.Variable(array) for array in start()]
    traces = []

    def replica(x, y):
        traces.append(1)
        value, gradients = jax.value_and_grad(loss)([variable.read_value() for variable in variables], x, y)
        gradients = tf.distribute.get_replica_context().all_reduce("MEAN", gradients)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(RATE * gradient)
        return value

    @tf.function
    def step(x, y):
        return strategy.reduce("MEAN", strategy.run(replica, args=(x, y)), axis=None)

    dataset = tf.data.Dataset.from_tensor_slices(batch()).batch(BATCH)
    x, y = next(iter(strategy.experimental_distribute_dataset(dataset)))
    return lambda: step(x, y).block_until_ready(), traces


def by_hand(count):
    """Return the same step as one JAX program over a mesh of devices, without a count of traces."""
    mesh = Mesh(np.array(jax.devices()[:count]), ("replica",))

    def local(parameters, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        gradients = [jax.lax.psum(gradient, "replica") / count for gradient in gradients]
        new = [old - RATE * gradient for old, gradient in zip(parameters, gradients, strict=True)]
        return new, jax.lax.psum(value, "replica") / count

    same, split = PartitionSpec(), PartitionSpec("replica")
    program = jax.jit(
        jax.shard_map(local, mesh=mesh, in_specs=(same, split, split), out_specs=(same, same), check_vma=False)
    )
    parameters = [jax.device_put(array, NamedSharding(mesh, same)) for array in start()]
    x, y = (jax.device_put(array, NamedSharding(mesh, split)) for array in batch())

    def step():
        nonlocal parameters
        parameters, value = program(parameters, x, y)
        return value.block_until_ready()

    return step, []


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", int(sys.argv[2]))
    step, _ = {"staged": staged, "by_hand": by_hand}[sys.argv[1]](int(sys.argv[2]))
    before = time.perf_counter()
    step()
    print(time.perf_counter() - before)

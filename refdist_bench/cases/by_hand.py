"""The training step written by hand, in the ways that people write it: the peers of the strategy."""

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from refdist_bench.cases.losses import LOSSES
from refdist_bench.devices_at_hand import KINDS, number, real_devices, waited
from refdist_bench.peers.problems import CLASSES, MODELS, RATE, batch, layers, start
from refdist_bench.timers import Step

_MAP: Any = jax.pmap


def _updated(parameters: Any, gradients: Any) -> Any:
    return [old - RATE * gradient for old, gradient in zip(parameters, gradients, strict=True)]


def sharded_step(model: str, replicas: int) -> Step:
    """One program over a mesh of devices: jit(shard_map)."""
    return _stepping(*sharded_program(model, replicas))


def sharded_program(model: str, replicas: int) -> tuple[Any, Any, Any, Any]:
    """Return the program, and what it takes first: a batch, and the parameters."""
    mesh = Mesh(np.array(real_devices()[:replicas]), ("replica",))

    def local(x: Any, y: Any, parameters: Any) -> Any:
        value, gradients = jax.value_and_grad(LOSSES[model])(parameters, x, y)
        gradients = [jax.lax.psum(gradient, "replica") / replicas for gradient in gradients]
        return jax.lax.psum(value, "replica") / replicas, _updated(parameters, gradients)

    same, split = PartitionSpec(), PartitionSpec("replica")
    program = jax.jit(
        jax.shard_map(local, mesh=mesh, in_specs=(split, split, same), out_specs=(same, same), check_vma=False)
    )
    parameters = [jax.device_put(array, NamedSharding(mesh, same)) for array in start(model)]
    x, y = (jax.device_put(array, NamedSharding(mesh, split)) for array in batch(model, replicas))
    return program, x, y, parameters


def mapped_step(model: str, replicas: int) -> Step:
    """One program for each device: pmap."""
    devices = real_devices()[:replicas]

    def local(x: Any, y: Any, parameters: Any) -> Any:
        value, gradients = jax.value_and_grad(LOSSES[model])(parameters, x, y)
        return jax.lax.pmean(value, "replica"), _updated(parameters, jax.lax.pmean(gradients, "replica"))

    program = _MAP(local, axis_name="replica", devices=devices)
    parameters = _MAP(lambda _: start(model), devices=devices)(np.zeros(replicas))
    x, y = (array.reshape(replicas, -1, *array.shape[1:]) for array in batch(model, replicas))
    put = _MAP(lambda *both: both, devices=devices)
    x, y = put(x, y)
    return _stepping(program, x, y, parameters, value=lambda value: value[0])


def single_step(model: str, replicas: int) -> Step:
    """The whole batch on one device: jit."""
    return _stepping(*single_program(model, replicas))


def single_program(model: str, replicas: int) -> tuple[Any, Any, Any, Any]:
    """Return the program, and what it takes first: a batch, and the parameters."""

    def local(x: Any, y: Any, parameters: Any) -> Any:
        value, gradients = jax.value_and_grad(LOSSES[model])(parameters, x, y)
        return value, _updated(parameters, gradients)

    x, y = map(jnp.asarray, batch(model, replicas))
    return jax.jit(local), x, y, [jnp.asarray(array) for array in start(model)]


def _stepping(program: Any, x: Any, y: Any, parameters: Any, *, value: Any = lambda value: value) -> Step:
    def step() -> float:
        nonlocal parameters
        found, parameters = program(x, y, parameters)
        # On all devices: the number alone is there when the first one has it, while others still write their parameters.
        return number(value(waited(found)))

    return step


def eager_step(model: str, replicas: int) -> Step:
    """Nothing compiled as a whole: each device computes its gradients, the first one adds them up."""
    devices = real_devices()[:replicas]
    copies = [[jax.device_put(array, device) for array in start(model)] for device in devices]
    whole = batch(model, replicas)
    parts = [
        [jax.device_put(array.reshape(replicas, -1, *array.shape[1:])[index], device) for array in whole]
        for index, device in enumerate(devices)
    ]

    def step() -> float:
        found: list[Any] = []
        for device, parameters, (x, y) in zip(devices, copies, parts, strict=True):
            with jax.default_device(device):
                found.append(jax.value_and_grad(LOSSES[model])(parameters, x, y))
        here = [jax.device_put(gradients, devices[0]) for _, gradients in found]
        means = [sum(each) / replicas for each in zip(*here, strict=True)]
        for index, device in enumerate(devices):
            copies[index] = _updated(copies[index], jax.device_put(means, device))
        waited(copies)
        return float(np.mean([number(value) for value, _ in found]))

    return step


def keras_step(model: str, replicas: int) -> Step:
    """Keras's own DataParallel, on its JAX backend."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras as untyped

    keras: Any = untyped
    kind = KINDS[real_devices()[0].platform].lower()
    distribution = keras.distribution.DataParallel(devices=[f"{kind}:{index}" for index in range(replicas)])
    x, y = batch(model, replicas)
    with distribution.scope():
        net = _keras_net(keras, model)
        net.compile(
            optimizer=keras.optimizers.SGD(RATE), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        )

    def step() -> float | None:
        with distribution.scope():
            value = float(net.train_on_batch(x, y))
        net.reset_metrics()
        # Its attention has biases of its own, so that its numbers are others.
        return None if model == "transformer" else value

    return step


def _keras_net(keras: Any, model: str) -> Any:
    wide = keras.layers
    given = keras.Input(MODELS[model]["batch"][1:])
    if model == "transformer":
        width = MODELS[model]["batch"][-1]
        normal = wide.LayerNormalization(epsilon=1e-5)(given)
        x = given + wide.MultiHeadAttention(4, width // 4)(normal, normal)
        normal = wide.LayerNormalization(epsilon=1e-5)(x)
        x = x + wide.Dense(width)(wide.Dense(4 * width, activation="relu")(normal))
        return keras.Model(given, wide.Dense(CLASSES)(wide.GlobalAveragePooling1D()(x)))
    x = given
    arrays = layers(start(model))
    for kernel, _ in arrays[:-1]:
        if model == "mlp":
            x = wide.Dense(kernel.shape[-1], activation="relu")(x)
        else:
            x = wide.Conv2D(kernel.shape[-1], 3, strides=2, padding="same", activation="relu")(x)
    x = wide.Dense(CLASSES)(x if model == "mlp" else wide.Flatten()(x))
    net = keras.Model(given, x)
    net.set_weights(start(model))
    return net

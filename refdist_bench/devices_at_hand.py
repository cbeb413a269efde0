"""The devices that JAX finds here, and strategies over some of them or over virtual ones."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

import refdist as tf

_CONFIG: Any = jax.config  # its settings are not in its type
KINDS = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}


def ask_for_host_devices(count: int) -> None:
    """Let the processor be that many devices, unless JAX runs already; other devices are found by themselves."""
    if _CONFIG.jax_num_cpu_devices >= count:
        return
    try:
        _CONFIG.update("jax_num_cpu_devices", count)
    except RuntimeError:
        return  # JAX runs already, with the devices that it has


def real_devices() -> Sequence[Any]:
    """Return JAX's devices of the kind that it computes on unless told otherwise."""
    return jax.local_devices()


def strategy_on(backend: str, replicas: int) -> Any:
    """Return a strategy over the first devices of a backend, as users make one."""
    if backend == "simulator":
        with tf.using("simulator", gpus=replicas):
            return tf.distribute.MirroredStrategy([f"GPU:{index}" for index in range(replicas)])
    kind = KINDS[real_devices()[0].platform]
    with tf.using("jax", **jax_options()):
        return tf.distribute.MirroredStrategy([f"{kind}:{index}" for index in range(replicas)])


def jax_options() -> dict[str, Any]:
    """Return what to choose the backend `jax` with, to have the devices that are here."""
    return {"cpus": len(real_devices()) if KINDS[real_devices()[0].platform] == "CPU" else 1}


def waited(value: Any) -> Any:
    """Wait until everything in a nest is computed, and return it."""
    if isinstance(value, (tuple, list)):
        for part in value:
            waited(part)
    elif isinstance(value, dict):
        waited(list(value.values()))
    elif isinstance(value, tf.distribute.DistributedValues):
        # What a program has made is waited for as it is: taking it apart is not part of a step.
        waited(list(value.parts) or value.held[2])
    elif isinstance(value, jax.Array):
        value.block_until_ready()
    return value


def number(value: Any) -> float:
    """Wait for a number."""
    return float(np.asarray(value))

"""TensorFlow itself, with the processor of this machine as several devices; users install it themselves."""

import importlib
import tomllib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any

from conformance.expectations import Unsupported
from conformance.implementations import FEATURES, LOCAL_KINDS, Implementation
from conformance.implementations.processes import Program, run_processes

CPUS = 8
WORKERS_SECONDS = 40.0
"""How long all workers of a program may take together; TensorFlow workers that miss each other wait forever."""


def _open() -> Any:
    """Import TensorFlow and ask for several CPU devices; its runtime does not start, so this process can still fork."""
    tf = importlib.import_module("tensorflow")
    _divide(tf, CPUS)
    _stop_tuning(tf)
    return tf


@cache
def _stop_tuning(tf: Any) -> None:
    """Turn off autotuning of the iterators that feed single devices; what they deliver stays the same.

    When such an iterator ends, TensorFlow 2.21 waits for the thread that tunes it, which often misses the call to stop:
    with eight devices on two cores, every second program hung for more than a minute.
    """
    module: Any = importlib.import_module("tensorflow.python.data.ops.multi_device_iterator_ops")
    original: Callable[..., Any] = module._create_device_dataset

    def untuned(*args: Any, **kwargs: Any) -> Any:
        options = tf.data.Options()
        options.autotune.enabled = False
        return original(*args, **kwargs).with_options(options)

    module._create_device_dataset = untuned


def _divide(tf: Any, cpus: int) -> None:
    """Divide the processor into so many devices; a started runtime refuses to change their number."""
    (processor,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * cpus)


@contextmanager
def _machine(gpus: int, cpus: int, tpus: int) -> Generator[None]:
    """Have so many CPU devices, until the process of the check ends."""
    if gpus or tpus:
        raise Unsupported("needs GPUs or TPUs, and this machine has none for TensorFlow")
    try:
        _divide(importlib.import_module("tensorflow"), cpus)
    except RuntimeError as error:
        raise Unsupported("the devices of a TensorFlow process are fixed by its first operation") from error
    yield


def _workers(count: int, replicas: int, program: Program) -> list[Any]:
    """Run a program on each worker of a cluster, each in its own process."""
    if replicas > 1:
        raise Unsupported("needs several GPUs on each worker: one without any has one replica")
    with _machine(0, 1, 0):  # This also refuses a started runtime, which would not survive a fork.
        results = run_processes(count, program, WORKERS_SECONDS)
    _divide(importlib.import_module("tensorflow"), CPUS)
    return results


def divergences() -> Mapping[str, str]:
    """Return the reasons why TensorFlow does not keep behaviors, by id, or by id and replica count."""
    text = (resources.files("conformance.implementations") / "tensorflow_divergences.toml").read_text(encoding="utf-8")
    return {case: group["reason"] for group in tomllib.loads(text)["divergence"] for case in group["cases"]}


tensorflow = Implementation(
    name="tensorflow",
    package="tensorflow",
    open=_open,
    kinds=LOCAL_KINDS | {"TPU"},
    features=FEATURES,
    gpus=0,
    cpus=CPUS,
    machine=_machine,
    workers=_workers,
    # Strategies of several shapes in one process break TensorFlow's collectives.
    isolate=True,
    divergences=divergences(),
    environment={
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "GRPC_VERBOSITY": "NONE",
        "OMP_NUM_THREADS": "1",
    },
)

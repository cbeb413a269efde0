"""refdist on JAX, with the processors of this machine as devices: they play GPUs and TPU cores."""

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from conformance.implementations import (
    FEATURES_BUILT,
    INSTALLABLE,
    KINDS_BUILT,
    Implementation,
    pieces_of,
    run_workers,
    stages_of,
)

GPUS, CPUS, TPUS = 8, 1, 16


def _open() -> Any:
    refdist = importlib.import_module("refdist")
    refdist.use("jax", gpus=GPUS, cpus=CPUS, tpus=TPUS)
    return refdist


def _machine(gpus: int, cpus: int, tpus: int) -> AbstractContextManager[Any]:
    """Choose among the devices with which JAX has started, whose number is fixed then; no check needs more."""
    return importlib.import_module("refdist").using("jax", gpus=gpus, cpus=cpus, tpus=tpus)


def _device(value: Any) -> str:
    """Return the device string; a variable knows it, but a JAX array has an object of JAX there."""
    named = getattr(value, "device", None)
    return named if isinstance(named, str) else importlib.import_module("refdist").device_name(value)


def _workers(count: int, replicas: int, program: Callable[[int], Any]) -> list[Any]:
    with _machine(count * replicas, 1, 0):  # which the workers share
        return run_workers(count, program)


jax = Implementation(
    name="jax",
    package="refdist",
    open=_open,
    kinds=KINDS_BUILT,
    features=FEATURES_BUILT,
    installable=INSTALLABLE,
    gpus=GPUS,
    cpus=CPUS,
    tpus=TPUS,
    machine=_machine,
    device=_device,
    stages=stages_of,
    pieces=pieces_of,
    workers=_workers,
    divergences=dict.fromkeys(
        ("REDUCE-19", "RUN-24", "RUN-25", "RUN-26", "VALUES-07", "VALUES-17"),
        "tensors are JAX's own arrays, which print in JAX's own form; refdist prints them inside per-replica values only",
    ),
    environment={"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"},  # the pages have 64-bit numbers
)

"""refdist on JAX, with the processors of this machine as devices."""

import importlib
from collections.abc import Callable
from typing import Any

from conformance.expectations import Unsupported
from conformance.implementations import (
    FEATURES_BUILT,
    INSTALLABLE,
    KINDS_BUILT,
    Implementation,
    pieces_of,
    run_workers,
    stages_of,
)


def _open() -> Any:
    refdist = importlib.import_module("refdist")
    refdist.use("jax", cpus=16)  # eight are enough, except that they also stand in for sixteen TPU cores
    return refdist


def _device(value: Any) -> str:
    """Return the device string; a variable knows it, but a JAX array has an object of JAX there."""
    named = getattr(value, "device", None)
    return named if isinstance(named, str) else importlib.import_module("refdist").device_name(value)


def _workers(count: int, replicas: int, program: Callable[[int], Any]) -> list[Any]:
    if replicas > 1:
        raise Unsupported("needs several GPUs on each worker")
    return run_workers(count, program)


jax = Implementation(
    name="jax",
    open=_open,
    kinds=KINDS_BUILT,
    features=FEATURES_BUILT,
    installable=INSTALLABLE,
    gpus=0,
    cpus=8,
    tpus=16,
    why_no_machine="needs GPUs, a chosen number of them; the devices of a JAX process are fixed when it starts",
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

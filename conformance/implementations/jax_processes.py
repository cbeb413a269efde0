"""refdist on JAX, where each worker of a cluster is a process of its own, joined to the others by jax.distributed.

The checks are the same as for `jax`, which plays all workers in one process; only those that run several workers are run.
"""

import importlib
from dataclasses import replace
from typing import Any

from conformance.expectations import Unsupported
from conformance.implementations.jax import jax
from conformance.implementations.processes import Program, run_processes

WORKERS_SECONDS = 40.0
"""How long all workers of a program may take together; they take less than two, on a machine that is not busy."""


def _workers(count: int, replicas: int, program: Program) -> list[Any]:
    """Run a program on each worker of a cluster, each a fork of this process, which has loaded JAX but not started it."""
    if importlib.import_module("jax._src.xla_bridge").backends_are_initialized():
        raise Unsupported("needs to run the workers before anything else is computed: JAX does not survive a fork")

    def work(index: int) -> Any:
        importlib.import_module("jax").config.update("jax_num_cpu_devices", 1 + replicas)
        importlib.import_module("refdist").use("jax", gpus=replicas)
        return program(index)

    return run_processes(count, work, WORKERS_SECONDS)


jax_processes = replace(
    jax,
    name="jax-processes",
    workers=_workers,
    variant_of=jax.name,
    divergences={},
    # JAX cannot be started twice, and a worker is in one cluster only.
    isolate=True,
)

"""refdist on virtual devices, so that a check can have any machine it wants."""

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


def virtual(backend: str) -> Implementation:
    """Describe refdist on one of its backends with virtual devices."""

    def open() -> Any:
        refdist = importlib.import_module("refdist")
        refdist.use(backend, gpus=8, cpus=1, tpus=16)
        return refdist

    def machine(gpus: int, cpus: int, tpus: int) -> AbstractContextManager[Any]:
        return importlib.import_module("refdist").using(backend, gpus=gpus, cpus=cpus, tpus=tpus)

    def workers(count: int, replicas: int, program: Callable[[int], Any]) -> list[Any]:
        with machine(replicas, 1, 0):
            return run_workers(count, program)

    return Implementation(
        name=backend,
        package="refdist",
        open=open,
        kinds=KINDS_BUILT,
        features=FEATURES_BUILT,
        installable=INSTALLABLE,
        tpus=16,
        machine=machine,
        stages=stages_of,
        pieces=pieces_of,
        workers=workers,
    )

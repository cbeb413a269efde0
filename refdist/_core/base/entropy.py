"""The source of random numbers: one generator per process, which a seed makes repeatable."""

from typing import Any

import numpy as np

ENTROPY = ((2,), np.dtype(np.uint32))  # the shape and dtype of what a compiled program gets for each run

_generators: "list[np.random.Generator]" = []  # at most one, made on demand: numpy.random takes 10 ms to load


def set_seed(seed: int | None) -> None:
    """Make all further numbers the same in every process that sets the same seed."""
    _generators[:] = [np.random.default_rng(seed)]


def generator() -> "np.random.Generator":
    """The generator of this process."""
    if not _generators:
        set_seed(None)
    return _generators[0]


def fresh() -> Any:
    """Draw the numbers from which one run of a compiled program makes all others."""
    return generator().integers(1 << 32, size=ENTROPY[0], dtype=ENTROPY[1])

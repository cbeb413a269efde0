"""Where random numbers come from: one generator of the process, which a seed makes repeatable."""

from typing import Any

import numpy as np

ENTROPY = ((2,), np.dtype(np.uint32))  # what a compiled program gets of it in each run

_generators: "list[np.random.Generator]" = []  # one, made when it is first wanted: numpy.random takes 10 ms to load


def set_seed(seed: int | None) -> None:
    """Let the numbers from now on be the same in every process that says so."""
    _generators[:] = [np.random.default_rng(seed)]


def generator() -> "np.random.Generator":
    """The generator of this process."""
    if not _generators:
        set_seed(None)
    return _generators[0]


def fresh() -> Any:
    """Numbers for one run of a compiled program, from which it makes all others."""
    return generator().integers(1 << 32, size=ENTROPY[0], dtype=ENTROPY[1])

"""`tf.random`: numbers for the pipelines of the pages, which name `uniform` as the example of a stateful operation."""

from typing import Any

import numpy as np

from refdist import context
from refdist.device import PLACEMENT

_generators: "list[np.random.Generator]" = []  # one, made when it is first wanted: numpy.random takes 10 ms to load


def set_seed(seed: int | None) -> None:
    """Let `uniform` draw the same numbers from now on in every process that says so."""
    _generators[:] = [np.random.default_rng(seed)]


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = 1, dtype: Any = "float32", seed: int | None = None, name: Any = None
) -> Any:
    """Draw numbers that are equally likely from minval up to maxval; a seed draws the same ones each time."""
    if not _generators:
        set_seed(None)
    generator = _generators[0] if seed is None else np.random.default_rng(seed)
    sizes, kind = tuple(int(size) for size in np.atleast_1d(np.asarray(shape, dtype=np.int64))), np.dtype(dtype)
    draw = generator.integers if kind.kind in "iu" else generator.uniform
    return context.backend().put(np.asarray(draw(minval, maxval, size=sizes), dtype=kind), PLACEMENT.get())

"""`tf.random`: random numbers for the documented pipelines, which use `uniform` as the example of a stateful operation."""

from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.entropy import generator
from refdist._core.base.where import HERE
from refdist._core.replicas import context


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = 1, dtype: Any = "float32", seed: int | None = None, name: Any = None
) -> Any:
    """Draw uniform numbers from minval up to maxval; the same seed draws the same numbers."""
    sizes, kind = tuple(int(size) for size in np.atleast_1d(np.asarray(shape, dtype=np.int64))), numpy_dtype(dtype)
    draft = HERE.get().draft
    if draft is not None and seed is None:
        return draft.draw(sizes, minval, maxval, kind)
    source = generator() if seed is None else np.random.default_rng(seed)
    draw = source.integers if kind.kind in "iu" else source.uniform
    return context.backend().put(np.asarray(draw(minval, maxval, size=sizes), dtype=kind), HERE.get().device)

"""Calls operations that are written with JAX, which is loaded when the first of them is called."""

import functools
import importlib
from typing import Any

import numpy as np

from refdist._core.base.jax_facts import is_jax


def kernel(name: str, *tensors: Any, **options: Any) -> Any:
    """Compute with JAX; what comes from tensors of numpy becomes such a tensor again."""
    functions = _functions()
    compute = getattr(functions, name)
    if any(map(is_jax, tensors)):
        return compute(*(one if is_jax(one) else functions.as_array(np.asarray(one)) for one in tensors), **options)
    with functions.exactly():
        result = np.asarray(compute(*(functions.as_array(np.asarray(one)) for one in tensors), **options))
    return tensors[0].like(result)


@functools.cache
def _functions() -> Any:
    return importlib.import_module("refdist._core.compilers.tensor_kernels")

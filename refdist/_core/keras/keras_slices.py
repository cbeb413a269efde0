"""Gradients of tables that are slices: embeddings give them, and optimizers use them as those of TensorFlow do.

An index can be in a batch several times. Keras on TensorFlow adds slices up where they are subtracted from a variable, but
squares each of them by itself; the numbers here are the same.
"""

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.where import HERE
from refdist._core.keras.keras_variables import tensor

_core: Any = importlib.import_module("keras.src.backend.jax.core")
_embedding: Any = importlib.import_module("keras.src.layers.core.embedding")
_ops: Any = importlib.import_module("keras.src.ops")
_state: Any = importlib.import_module("keras.src.backend.common.global_state")

_OF_EACH_SLICE = ("square", "abs", "clip")
_KNOWN = "refdist_slices"  # the attribute of Keras's state with tensors that were made of slices, and with these


def install() -> None:
    """Make embeddings give slices to tapes, and functions that optimizers call know slices."""
    _embedding.Embedding.call = _giving_slices(_embedding.Embedding.call)
    for name in _OF_EACH_SLICE:
        setattr(_ops, name, _of_each_slice(getattr(_ops, name)))


def whole(gradient: Any, variable: Any) -> Any:
    """A gradient as a tensor of JAX; slices are added up into one of the variable's shape."""
    return _added_up(gradient, variable.shape) if isinstance(gradient, IndexedSlices) else tensor(gradient)


def remembered(gradients: Sequence[Any], tensors: Sequence[Any]) -> None:
    """Remember which tensors were made of slices, until something else is remembered."""
    pairs = zip(gradients, tensors, strict=True)
    known = [(dense, slices) for slices, dense in pairs if isinstance(slices, IndexedSlices)]
    _state.set_global_attribute(_KNOWN, known)


def _added_up(slices: IndexedSlices, shape: Sequence[int]) -> Any:
    values = tensor(slices.values)
    return _core.jnp.zeros(shape, values.dtype).at[tensor(slices.indices)].add(values)


def _of_each_slice(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def function(x: Any, *others: Any, **named: Any) -> Any:
        for dense, slices in _state.get_global_attribute(_KNOWN) or ():
            if dense is x:
                values = original(tensor(slices.values), *others, **named)
                return _added_up(IndexedSlices(values, slices.indices), x.shape)
        return original(x, *others, **named)

    return function


def _giving_slices(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, inputs: Any) -> Any:
        tapes = HERE.get().tapes
        if tapes is None or isinstance(inputs, _core.KerasTensor) or self.quantization_mode or self.lora_enabled:
            return original(self, inputs)
        table, indices = self.embeddings.value, _core.cast(tensor(inputs), "int32")

        def gradient(given: Any) -> IndexedSlices:
            rows = given.reshape(-1, *table.shape[1:])
            return IndexedSlices(rows, indices.reshape(-1), np.array(table.shape, np.int32))

        rows = tapes.carried_out(lambda rows: _core.jnp.take(rows, indices, axis=0), table, gradient)
        return _core.cast(rows, self.compute_dtype)

    return call

"""Batch normalization over the rows of all replicas, which Keras has for TensorFlow only."""

import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.keras.keras_variables import tensor
from refdist._core.replicas import context

_core: Any = importlib.import_module("keras.src.backend.jax.core")
_nn: Any = importlib.import_module("keras.src.backend.jax.nn")
_layer: Any = importlib.import_module("keras.src.layers.normalization.batch_normalization")


def install() -> None:
    """Make `synchronized=True` compute statistics over the rows of all replicas."""
    kind = _layer.BatchNormalization
    kind.__init__ = _accepting(kind.__init__)
    _nn.moments = _moments(_nn.moments)


def _accepting(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def initialize(self: Any, *args: Any, synchronized: bool = False, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.synchronized = synchronized

    made: Any = initialize
    made.__signature__ = inspect.signature(original)  # by which Keras knows how to make the layer again
    return made


def _moments(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def moments(x: Any, axes: Sequence[int], keepdims: bool = False, synchronized: bool = False) -> Any:
        replica = context.get_replica_context()
        if not synchronized or replica is None or replica.num_replicas_in_sync == 1:
            return original(x, axes, keepdims)
        numpy, axes = _core.jnp, tuple(axes)
        wide = _core.cast(x, "float32") if str(x.dtype) in ("float16", "bfloat16") else x
        count = numpy.sum(numpy.ones_like(wide), axes, keepdims=True)
        parts = [numpy.sum(wide, axes, keepdims=True), numpy.sum(wide * wide, axes, keepdims=True), count]
        total, squares, count = (tensor(one) for one in replica.all_reduce("SUM", parts))
        mean = total / count
        variance = numpy.maximum(squares / count - mean * mean, 0)
        both = [one if keepdims else numpy.squeeze(one, axes) for one in (mean, variance)]
        return tuple(_core.cast(one, str(x.dtype)) for one in both)

    return moments

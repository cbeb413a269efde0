"""Models of layers that ask for sizes while these are open: `tf.zeros([tf.shape(x)[0], 4])` in a layer, before there is a batch."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

_core: Any = importlib.import_module("keras.src.backend.jax.core")
_backend: Any = importlib.import_module("keras.src.backend")
_tree: Any = importlib.import_module("keras.src.tree")
_KerasTensor: Any = importlib.import_module("keras.src.backend.common.keras_tensor").KerasTensor

_STAND_INS = (720, 840)
"""Two sizes that stand for an open one; many numbers divide them, because layers divide sizes."""


def install() -> None:
    """Let Keras find the shape of a layer's result even if the layer computes with sizes that are open."""
    _core.compute_output_spec = _backend.compute_output_spec = _with_stand_ins(_core.compute_output_spec)


def _with_stand_ins(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compute_output_spec(fn: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(fn, *args, **kwargs)
        except Exception as error:
            if not any(map(_is_open, _tree.flatten((args, kwargs)))):
                raise
            try:
                first, second = (_specs_with(original, fn, args, kwargs, size) for size in _STAND_INS)
                return _tree.map_structure(_common, first, second)
            except Exception:
                raise error from None  # which has no sizes that the user did not write

    return compute_output_spec


def _specs_with(original: Any, fn: Any, args: Any, kwargs: Any, size: int) -> Any:
    def closed(leaf: Any) -> Any:
        if not _is_open(leaf):
            return leaf
        return _KerasTensor([size if one is None else one for one in leaf.shape], leaf.dtype, sparse=leaf.sparse)

    args, kwargs = _tree.map_structure(closed, (args, kwargs))
    return original(fn, *args, **kwargs)


def _is_open(leaf: Any) -> bool:
    return isinstance(leaf, _KerasTensor) and None in leaf.shape


def _common(first: Any, second: Any) -> Any:
    """A result whose sizes are open where they depend on what stood for an open size."""
    if not isinstance(first, _KerasTensor):
        return first
    sizes = [one if one == other else None for one, other in zip(first.shape, second.shape, strict=True)]
    return _KerasTensor(sizes, first.dtype, sparse=first.sparse)

"""Tells rooms who answers what they have to ask of later rooms; nothing of these is loaded before it is asked."""

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

from refdist._core.base import keras_imports
from refdist._core.base.later_rooms import tell

_PARTS = {"RaggedTensor": "refdist._core.ops.ragged_tensor", "SparseTensor": "refdist._core.ops.sparse_tensor"}


def install() -> None:
    """Tell who answers, and whom the program's own `import keras` concerns."""
    keras_imports.install(_hook_keras)
    tell(
        {
            "default_strategy": _default_strategy,
            "traces_of_jax": _traces_of_jax,
            "tensor_kind": _tensor_kind,
            "keras_objects": _keras_objects,
            "body_tape": _function("refdist._core.tape.graph_gradients", "BodyTape"),
            "draw": _function("refdist._core.pictures.picture", "draw"),
            "called_under_tapes": _function("refdist._core.tape.recorded_calls", "called_under_tapes"),
        }
    )


def _function(module: str, name: str) -> Callable[..., Any]:
    """A function that is loaded when it is called."""
    found = functools.cache(lambda: getattr(importlib.import_module(module), name))
    return lambda *args, **kwargs: found()(*args, **kwargs)


def _default_strategy() -> Any:
    return importlib.import_module("refdist._core.strategies.default_strategy").default_strategy


def _traces_of_jax() -> Any:
    array_methods: Any = importlib.import_module("refdist._core.compilers.array_methods")
    array_methods.install()  # for the arrays that users make with JAX
    return importlib.import_module("refdist._core.compilers.jax_traces")


def _tensor_kind(name: str) -> Any:
    return getattr(importlib.import_module(_PARTS[name]), name)


def _hook_keras() -> None:
    if not any(name.startswith("refdist._core.keras.") for name in sys.modules):  # else one of these loads Keras
        importlib.import_module("refdist._core.keras").keras()


def _keras_objects() -> Any:
    importlib.import_module("refdist._core.keras").keras()  # so that its variables are ours
    return importlib.import_module("refdist._core.keras.tracked")

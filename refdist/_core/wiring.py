"""Tells rooms what they have to know about later rooms, when refdist is loaded."""

import importlib
from typing import Any

from refdist._core.base import jax_facts
from refdist._core.input import element_parts
from refdist._core.ops.missing_names import lacking
from refdist._core.replicas import context
from refdist._core.saving import module
from refdist._core.seam import tapes
from refdist._core.strategies.default_strategy import default_strategy


def install() -> None:
    """Tell each room what it has to know."""
    context.install_default(default_strategy)
    jax_facts.install(_jax_traces)
    element_parts.install(_tensors_of_parts)
    module.install_keras(_keras_objects)
    tapes.install(_Recorder())


def _jax_traces() -> Any:
    importlib.import_module(
        "refdist._core.compilers.array_methods"
    ).install()  # for the arrays that users make with JAX
    return importlib.import_module("refdist._core.compilers.jax_traces")


def _tensors_of_parts(name: str) -> Any:
    module = {"RaggedTensor": "ragged_tensor", "SparseTensor": "sparse_tensor"}[name]
    return getattr(importlib.import_module(f"refdist._core.ops.{module}"), name)


class _Recorder:
    """What functions have to know about tapes."""

    def body_tape(self, sources: Any) -> Any:
        return importlib.import_module("refdist._core.tape.graph_gradients").BodyTape(sources)

    def called_under_tapes(self, function: Any, in_python: Any, args: Any, kwargs: Any) -> Any:
        module: Any = importlib.import_module("refdist._core.tape.recorded_calls")
        return module.called_under_tapes(function, in_python, args, kwargs)


def _keras_objects() -> Any:
    importlib.import_module("refdist._core.keras").keras()  # so that its variables are ours
    return importlib.import_module("refdist._core.keras.tracked")


_OF_KERAS = ("initializers", "losses", "metrics", "optimizers")  # which TensorFlow has under both names


def loaded_when_asked_for(name: str) -> Any:
    """Load what `refdist` has under names that take time to load, or that are packages of their own."""
    if name in ("simulator", "conformance"):  # their names are common words, so they can be reached through refdist too
        return importlib.import_module(name)
    if name == "keras" or name in _OF_KERAS:
        keras = importlib.import_module("refdist._core.keras").keras()
        return keras if name == "keras" else getattr(keras, name)
    if name == "estimator":
        return importlib.import_module("refdist.estimator")
    return lacking("")(name)

"""What all operations have in common, whatever they compute."""

import functools
import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from refdist._core.base.jax_facts import is_concrete, kept_known, tracing
from refdist._core.base.where import HERE
from refdist._core.replicas.values import of_parts

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_RAGGED, _RAGGED_OPERATIONS = "refdist._core.ops.ragged_tensor", "refdist._core.ops.ragged_operations"
_PLAIN = (int, float, complex, str, bytes, type(None), np.generic, np.ndarray, np.dtype, type)


def operation(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make an operation of a function of tensors.

    In a program that is being written, what is computed from known integers alone stays known, because shapes are made of it. An
    operation on tensors of Keras becomes a part of the model.
    """

    @functools.wraps(function)
    def operate(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if "keras" in sys.modules and _has_keras_tensors((*args, *kwargs.values())):
            return _part_of_a_model(function, args, kwargs)
        if _RAGGED in sys.modules and _has_parts((*args, *kwargs.values())):
            return importlib.import_module(_RAGGED_OPERATIONS).carried_out(function, args, kwargs)
        draft = HERE.get().draft
        if draft is None:
            if tracing() and _numpy_integers(
                _leaves(args, kwargs)
            ):  # in a trace of JAX or Keras, not in a program of ours
                return kept_known(lambda: function(*args, **kwargs))
            return function(*args, **kwargs)
        if not _known_integers(_leaves(args, kwargs)):
            return function(*args, **kwargs)
        with draft.compiler.at_once():
            return function(*args, **kwargs)

    return operate


def _has_parts(values: Iterable[Any]) -> bool:
    return any(any(map(of_parts, value)) if isinstance(value, (list, tuple)) else of_parts(value) for value in values)


def _has_keras_tensors(values: Iterable[Any]) -> bool:
    return any(type(leaf).__name__ == "KerasTensor" for leaf in _leaves(values, {}))


def _known_integers(leaves: Iterable[Any]) -> bool:
    """Say whether arguments are integers of JAX whose values are known, or what Python and numpy have."""
    found = False
    for leaf in leaves:
        if is_concrete(leaf):
            if leaf.dtype.kind not in "biu":
                return False
            found = True
        elif not isinstance(leaf, _PLAIN):
            return False
    return found


def _numpy_integers(leaves: Iterable[Any]) -> bool:
    """Say whether arguments are integers of numpy, beside what Python has: sizes, as `tf.shape` returns them in such a trace."""
    found = False
    for leaf in leaves:
        if isinstance(leaf, (np.ndarray, np.generic)):
            if leaf.dtype.kind not in "iu":
                return False
            found = True
        elif not isinstance(leaf, _PLAIN):
            return False
    return found


def _leaves(args: Iterable[Any], kwargs: dict[str, Any]) -> Iterable[Any]:
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from _leaves(value, {})
        else:
            yield value


def _part_of_a_model(function: Callable[..., Any], args: Iterable[Any], kwargs: dict[str, Any]) -> Any:
    """Give Keras what to call when the model is called; before, it says which shapes come out."""
    keras: Any = importlib.import_module("keras")
    given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
    # Axes and shapes stay as they are: Keras would trace what it is given.
    symbolic = [key for key, value in given.items() if _has_keras_tensors([value])]

    class Part(keras.Operation):
        def call(self, *tensors: Any) -> Any:
            now = {**given, **dict(zip(symbolic, tensors, strict=True))}
            return function(*(now[key] for key in now if key not in kwargs), **{key: now[key] for key in kwargs})

        def compute_output_spec(self, *tensors: Any) -> Any:
            return keras.src.backend.compute_output_spec(self.call, *tensors)

    part = Part(name=keras.src.utils.naming.auto_name(function.__name__))
    return part(*(given[key] for key in symbolic))

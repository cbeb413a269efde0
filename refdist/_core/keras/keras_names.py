"""Names of `tf.keras` that Keras has for TensorFlow only: what stands in for them, or what to use instead."""

import functools
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

_ops: Any = importlib.import_module("keras.src.ops")
_backend: Any = importlib.import_module("keras._tf_keras.keras.backend")
_lazy: Any = importlib.import_module("keras.src.utils.module_utils")
_layers: Any = importlib.import_module("keras.src.layers")
_optimizers: Any = importlib.import_module("keras.src.optimizers")

_LAYERS = {
    "StringLookup": "tf.lookup.StaticHashTable in a map() of the dataset",
    "IntegerLookup": "tf.lookup.StaticHashTable in a map() of the dataset",
    "TextVectorization": "tokens that are made before, by a tokenizer of your choice",
    "Hashing": "the remainder of integers, in a map() of the dataset",
}

_OF_OLD: dict[str, Callable[..., Any]] = {
    "batch_get_value": lambda tensors: [np.asarray(one) for one in tensors],
    "flatten": lambda x: _ops.reshape(x, (-1,)),
    "gather": lambda reference, indices: _ops.take(reference, indices, axis=0),
    "get_value": lambda x: np.asarray(x)[()],
    "int_shape": lambda x: tuple(x.shape),
    "ndim": lambda x: len(x.shape),
    "pow": _ops.power,
    "set_value": lambda x, value: x.assign(value),
    "update": lambda x, new_x: x.assign(new_x),
    "update_add": lambda x, increment: x.assign_add(increment),
    "update_sub": lambda x, decrement: x.assign_sub(decrement),
}


def install() -> None:
    """Let `tf.keras.backend` compute with Keras's own operations, and say of what is missing what to use instead."""
    for name in dir(_backend):
        function = _OF_OLD.get(name) or getattr(_ops, name, None)
        if function is not None and not name.startswith("_"):
            setattr(_backend, name, function)
    _optimizers.LegacyOptimizerWarning.__init__ = _of_keras_2
    if importlib.util.find_spec("tensorflow") is None:
        for name, instead in _LAYERS.items():
            kind = getattr(_layers, name)
            kind.__init__ = _refusing(kind.__init__, name, instead)
        _lazy.LazyModule.initialize = _saying_what_to_do(_lazy.LazyModule.initialize)


def _of_keras_2(self: Any, *_: Any, **__: Any) -> None:
    raise ImportError(
        "tf.keras.optimizers.legacy was asked for, which was part of Keras 2; expected an optimizer of Keras 3. Use the one of the "
        "same name in tf.keras.optimizers, without decay=."
    )


def _refusing(original: Callable[..., None], name: str, instead: str) -> Callable[..., None]:
    @functools.wraps(original)
    def initialize(self: Any, *_: Any, **__: Any) -> None:
        raise ImportError(
            f"tf.keras.layers.{name} was asked for, and Keras has it on TensorFlow only; expected a layer of numbers. Use "
            f"{instead}."
        )

    made: Any = initialize
    made.__signature__ = inspect.signature(original)  # which Keras looks at first
    return made


def _saying_what_to_do(original: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(original)
    def initialize(self: Any) -> None:
        if self.name.partition(".")[0] == "tensorflow":
            raise ImportError(
                "Something was asked of Keras that it does with TensorFlow, which is not here; expected what Keras does on JAX. "
                "Use tf.data of refdist for data, tf.train.Checkpoint or model.save() for files, and keras.ops for tensors."
            )
        original(self)

    return initialize

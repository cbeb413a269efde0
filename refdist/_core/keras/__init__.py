"""Keras 3 on its JAX backend, with hooks that make its models train on the replicas of a strategy.

The hooks: a `tf.Variable` holds each variable of Keras, a model remembers the strategy that was current when it was made, a
step of its trainer is one `strategy.run`, and an optimizer first sums its gradients over the replicas. Of several workers,
each reads its part of the data (`keras_workers`).
"""

import functools
import importlib
import importlib.util
import os
import sys
from typing import Any

from refdist._core.backends import choosing
from refdist._core.base import keras_imports
from refdist._core.base.extras import require

_HOOKS = (
    "keras_state",
    "keras_errors",
    "keras_variables",
    "keras_losses",
    "keras_slices",
    "keras_optimizers",
    "keras_normalization",
    "keras_numbers",
    "keras_open_sizes",
    "keras_recurrence",
    "keras_names",
    "keras_seeds",
    "keras_tensorboard",
    "keras_workers",
    "keras_callbacks",
    "tracked",
    "trainer",
    "keras_past",
)


def keras() -> Any:
    """Load Keras, put the hooks in place, and return what TensorFlow has as `tf.keras`."""
    if sys.modules.get("keras") is None:
        if importlib.util.find_spec("keras") is None:
            raise ImportError(
                "tf.keras was asked for, and Keras is not installed; expected Keras 3. Run pip install 'refdist[keras]'."
            )
        require("jax", by="tf.keras")
        keras_imports.choose_backend()
        importlib.import_module("keras")
    return _hooked()


@functools.cache
def _hooked() -> Any:
    """Put the hooks in place, once: where the program imports Keras, they are asked for while it is loaded."""
    chosen = sys.modules["keras"].config.backend()
    if chosen != "jax":
        raise RuntimeError(
            f"tf.keras was asked for, and Keras runs on {chosen}; expected its JAX backend, on which strategies compute. Set "
            f"KERAS_BACKEND=jax before Keras is imported, or leave it unset and use tf.keras."
        )
    if "REFDIST_BACKEND" in os.environ:
        choosing.unused()  # which asks JAX for its devices; an optimizer made before the first strategy would start it with one
    array_methods: Any = importlib.import_module("refdist._core.compilers.array_methods")
    array_methods.install()  # for what layers return
    for name in _HOOKS:
        importlib.import_module(f"{__name__}.{name}").install()
    return importlib.import_module("keras._tf_keras.keras")  # the names of tf.keras, which Keras itself lacks in part


def name_modules(name: str) -> None:
    """Let Python find the modules of Keras, the same objects, under a name of ours."""
    theirs = keras().__name__
    for known, module in list(sys.modules.items()):
        if known == theirs or known.startswith(f"{theirs}."):
            sys.modules[name + known.removeprefix(theirs)] = module

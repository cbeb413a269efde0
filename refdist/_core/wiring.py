"""What a room has to know of rooms after it: told to it here, when refdist is loaded."""

import importlib
from typing import Any

from refdist._core.base import jax_facts
from refdist._core.replicas import context
from refdist._core.saving import module
from refdist._core.strategies.default_strategy import default_strategy


def install() -> None:
    """Tell them."""
    context.install_default(default_strategy)
    jax_facts.install(lambda: importlib.import_module("refdist._core.compilers.jax_traces"))
    module.install_keras(_keras_objects)


def _keras_objects() -> Any:
    importlib.import_module("refdist._core.keras").keras()  # so that its variables are ours
    return importlib.import_module("refdist._core.keras.tracked")

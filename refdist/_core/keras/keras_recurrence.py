"""Recurrent layers of Keras outside `tf.function`: their loop is a program of JAX, which must not read variables."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

from refdist._core.base.where import HERE

_layers: Any = importlib.import_module("keras.src.layers.rnn.rnn")
_stateless: Any = importlib.import_module("keras.src.backend.common.stateless_scope")


def install() -> None:
    """Let a recurrent layer read its variables once, before its loop."""
    _layers.RNN.inner_loop = _reading_first(_layers.RNN.inner_loop)


def _reading_first(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def inner_loop(self: Any, *args: Any, **kwargs: Any) -> Any:
        if HERE.get().draft is not None or _stateless.in_stateless_scope():
            return original(self, *args, **kwargs)
        # The values of this moment are what the loop is to see, since it runs at once and not later.
        with _stateless.StatelessScope(state_mapping=[(one, one.value) for one in self.cell.variables]):
            return original(self, *args, **kwargs)

    return inner_loop

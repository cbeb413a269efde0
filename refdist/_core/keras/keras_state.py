"""What Keras knows of the code around it, kept apart for each replica."""

import contextvars
import importlib
import types
from typing import Any

_ATTRIBUTES: contextvars.ContextVar[dict[Any, Any] | None] = contextvars.ContextVar("keras_attributes", default=None)


class _Local:
    """An object whose attributes are seen where they were set, and in what was begun from there.

    Keras keeps the scopes that it is in for each thread. Replicas share a thread, and pause in the middle of a layer; each is a
    context of its own.
    """

    def __getattr__(self, name: str) -> Any:
        known = _ATTRIBUTES.get() or {}
        if (self, name) not in known:
            raise AttributeError(name)
        return known[self, name]

    def __setattr__(self, name: str, value: Any) -> None:
        _ATTRIBUTES.set({**(_ATTRIBUTES.get() or {}), (self, name): value})


def install() -> None:
    """Let Keras keep its scopes for each context."""
    module: Any = importlib.import_module("keras.src.backend.common.global_state")
    module.GLOBAL_STATE_TRACKER = _Local()
    module.threading = types.SimpleNamespace(local=_Local)  # clear_session() makes new ones

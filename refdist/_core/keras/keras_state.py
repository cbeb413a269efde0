"""The scopes that Keras is in, kept separately for each replica."""

import contextvars
import importlib
import types
from typing import Any

_ATTRIBUTES: contextvars.ContextVar[dict[Any, Any] | None] = contextvars.ContextVar("keras_attributes", default=None)


class _ContextLocal:
    """An object whose attributes are seen in the context in which they were set, and in copies of it.

    Keras keeps its scopes per thread. Replicas share a thread and pause in the middle of a layer, but each has its own context.
    """

    def __getattr__(self, name: str) -> Any:
        known = _ATTRIBUTES.get() or {}
        if (self, name) not in known:
            raise AttributeError(name)
        return known[self, name]

    def __setattr__(self, name: str, value: Any) -> None:
        _ATTRIBUTES.set({**(_ATTRIBUTES.get() or {}), (self, name): value})


def install() -> None:
    """Make Keras keep its scopes per context."""
    module: Any = importlib.import_module("keras.src.backend.common.global_state")
    module.GLOBAL_STATE_TRACKER = _ContextLocal()
    module.threading = types.SimpleNamespace(local=_ContextLocal)  # which clear_session() calls
    variables: Any = importlib.import_module("keras.src.backend.common.variables")
    variables.initialize_all_variables = _initialize_all_variables


def _initialize_all_variables() -> None:
    """Initialize what waits for it.

    All contexts share one list of these variables, so that it is emptied, where Keras would replace it in this context alone.
    """
    module: Any = importlib.import_module("keras.src.backend.common.global_state")
    waiting: list[Any] = module.get_global_attribute("uninitialized_variables") or []
    variables = list(waiting)
    waiting.clear()
    for variable in variables:
        variable._deferred_initialize()

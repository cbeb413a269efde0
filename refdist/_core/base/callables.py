"""Checks of functions that users pass, and of what these are called with."""

import functools
import inspect
from collections.abc import Mapping
from typing import Any

NOT_RUN_WHEN_CALLED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def require_callable(fn: Any, method: str = "run()") -> None:
    """Raise unless this is a function whose body runs when it is called."""
    if not callable(fn):
        raise TypeError(
            f"{method} got {fn!r}, a {type(fn).__name__}; expected a function. Pass the function itself, uncalled."
        )
    body = fn
    while isinstance(body, functools.partial):
        body = body.func
    body = body if hasattr(body, "__code__") else type(body).__call__
    if getattr(getattr(body, "__code__", None), "co_flags", 0) & NOT_RUN_WHEN_CALLED:
        raise TypeError(
            f"{method} got {body.__qualname__}, a generator or a coroutine function; expected an ordinary one, because its body "
            f"would never run. Remove yield, or async and await."
        )


def require_arguments(args: Any, kwargs: Any, method: str = "run()") -> None:
    """Raise unless the arguments for a function come in a tuple and a dict."""
    if not isinstance(args, (tuple, list)):
        raise ValueError(
            f"{method} got args={args!r}; expected a tuple or list of positional arguments. Write args=({args!r},)."
        )
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise ValueError(f"{method} got kwargs={kwargs!r}; expected a dict of keyword arguments, or None. Pass a dict.")

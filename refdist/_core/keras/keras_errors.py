"""Errors on their way through Keras: those that ask for a tensor's value leave it as they are, with what to do."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

from refdist._core.base.jax_facts import asks_for_a_value, show_hidden_frames
from refdist._core.staging.advice import explain

_operation: Any = importlib.import_module("keras.src.ops.operation")
_tracebacks: Any = importlib.import_module("keras.src.utils.traceback_utils")

_INJECTED = "_keras_call_info_injected"  # by which Keras knows an error that says enough


def install() -> None:
    """Let errors of JAX pass through Keras, which would make others of the same class, and fail at that."""
    _tracebacks.inject_argument_info_in_traceback = _letting_pass(_tracebacks.inject_argument_info_in_traceback)
    kind = _operation.Operation
    kind.compute_output_spec = _raising_the_cause(kind.compute_output_spec)


def raise_cause(error: BaseException, layer: Any) -> None:
    """Raise what made Keras raise an error, if that asks for the value of a tensor in a layer."""
    cause = error if asks_for_a_value(error) else error.__context__
    if cause is not None and asks_for_a_value(cause):
        show_hidden_frames(cause)
        if not getattr(cause, "__notes__", None):
            explain(cause, layer.call)
        setattr(cause, _INJECTED, True)
        raise cause from None


def _raising_the_cause(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compute_output_spec(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except Exception as error:
            raise_cause(error, self)
            raise

    return compute_output_spec


def _letting_pass(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def inject(fn: Callable[..., Any], object_name: str | None = None) -> Callable[..., Any]:
        @functools.wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return fn(*args, **kwargs)
            except Exception as error:
                if asks_for_a_value(error):
                    setattr(error, _INJECTED, True)
                raise

        return original(called, object_name)

    return inject

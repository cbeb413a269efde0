"""Errors on their way through Keras: those that ask for a tensor's value leave it as they are, with what to do."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

from refdist._core.base import nest
from refdist._core.base.call_sites import call_site, where
from refdist._core.base.jax_facts import asks_for_a_value, show_hidden_frames
from refdist._core.replicas.values import DistributedValues
from refdist._core.staging.advice import explain

_operation: Any = importlib.import_module("keras.src.ops.operation")
_layers: Any = importlib.import_module("keras.src.layers.layer")
_tracebacks: Any = importlib.import_module("keras.src.utils.traceback_utils")

_NO_TENSOR = "Only input tensors may be passed as positional arguments"
_INJECTED = "_keras_call_info_injected"  # by which Keras knows an error that says enough


def install() -> None:
    """Let errors of JAX pass through Keras, which would make others of the same class, and fail at that."""
    _tracebacks.inject_argument_info_in_traceback = _letting_pass(_tracebacks.inject_argument_info_in_traceback)
    kind = _operation.Operation
    kind.compute_output_spec = _raising_the_cause(kind.compute_output_spec)
    _layers.Layer.__call__ = _naming_run(_layers.Layer.__call__)


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


def _naming_run(original: Callable[..., Any]) -> Callable[..., Any]:
    """Say what to do where a layer is called with the values of all replicas, of which Keras says that they be named."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except ValueError as error:
            several = [leaf for leaf in nest.flatten(args) if isinstance(leaf, DistributedValues)]
            if not several or not str(error).startswith(_NO_TENSOR):
                raise
            raise ValueError(
                f"The layer or model {self.name!r} was called at {where(call_site()[:1])} with a per-replica value, of "
                f"{several[0].count} components; expected a call in each replica, with its own. Write "
                f"strategy.run(model, args=(value,))."
            ) from error

    return call


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

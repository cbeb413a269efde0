"""What can be said about JAX's arrays and traces without loading JAX: the only place that knows how to tell."""

import functools
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Protocol

from refdist._core.base.later_rooms import ask

_VALUE_ERRORS = frozenset(
    {
        "ConcretizationTypeError",
        "TracerArrayConversionError",
        "TracerBoolConversionError",
        "TracerIntegerConversionError",
        "UnknownLength",  # our own, of a range that a tensor ends
    }
)


def is_jax(value: Any) -> bool:
    """Say whether a value is an array of JAX, or stands for one in a trace."""
    return hasattr(value, "aval")


def is_tracer(value: Any) -> bool:
    """Say whether a value stands for one that becomes known when a program runs."""
    return type(value).__name__.endswith("Tracer")


def is_concrete(value: Any) -> bool:
    """Say whether a value is an array of JAX with numbers in it, which lies on devices."""
    return is_jax(value) and not is_tracer(value)


def mentions_tracer(error: BaseException) -> bool:
    """Say whether an error is about something that stands for a value in a trace."""
    return "Tracer" in str(error)


def asks_for_a_value(error: BaseException) -> bool:
    """Say whether an error comes from asking for a value that is known only when a program runs."""
    return bool(_kinds(error) & _VALUE_ERRORS)


def goes_back_through_a_loop(error: BaseException) -> bool:
    """Say whether an error comes from a gradient of a loop of which no program knows how often it turns."""
    return isinstance(error, ValueError) and "Reverse-mode differentiation does not work for lax.while_loop" in str(
        error
    )


def outlived_its_trace(error: BaseException) -> bool:
    """Say whether an error comes from something that stood for a value in a trace that has ended."""
    return "UnexpectedTracerError" in _kinds(error)


def _kinds(error: BaseException) -> set[str]:
    return {kind.__name__ for one in (error, error.__cause__) for kind in type(one).__mro__}


def show_hidden_frames(error: BaseException) -> None:
    """Remove JAX's note about frames that it has hidden, because the error is raised anew with all of them."""
    notes = getattr(error, "__notes__", None)
    if notes:
        notes[:] = [note for note in notes if "JAX has removed its internal frames" not in note]


# The module of JAX, or None while it has not been loaded: then no trace is open, and there is nothing to refuse. Written in C,
# because every step of an eager replica asks.
loaded: Callable[[], ModuleType | None] = functools.partial(sys.modules.get, "jax")
# The same for flax.nnx, without which there are no objects of it.
flax_loaded: Callable[[], Any] = functools.partial(sys.modules.get, "flax.nnx")


def tracing() -> bool:
    """Say whether the code runs inside jit, grad, vmap, scan or the like, where no replica can pause."""
    if _TRACING:  # every meeting of every replica asks
        return _TRACING[0]()
    return loaded() is not None and _traces().tracing()


def staging() -> bool:
    """Say whether JAX is making a program that runs later, into which a value read now would be frozen."""
    return loaded() is not None and _traces().staging()


def repeated(times: int, step: Callable[[Any], Any], state: Any) -> Any:
    """Take a step so many times in a program that is being written, as one loop."""
    return _traces().repeated(times, step, state)


def kept_known(function: Callable[[], Any]) -> Any:
    """Compute at once what would become part of a program; integers are numpy's, with which programs do not compute."""
    return _traces().kept_known(function)


def pytree_registry() -> Mapping[type, Any]:
    """How the containers that JAX knows are taken apart (`to_iter`) and put together (`from_iter`), by type."""
    return _registry() if loaded() else _EMPTY


def part_names(container: Any) -> list[str]:
    """How JAX calls the parts of a container that it knows."""
    return _traces().part_names(container)


def is_random_key(value: Any) -> bool:
    """Say whether a value is one of JAX's random keys, which have numbers inside but are none."""
    return is_jax(value) and str(value.dtype).startswith("key<")


def key_data(key: Any) -> tuple[Any, Any]:
    """The numbers inside of a random key, and its implementation."""
    return _traces().key_data(key)


def key_of(numbers: Any, implementation: Any) -> Any:
    """The random key with these numbers inside."""
    return _traces().key_of(numbers, implementation)


class Traces(Protocol):
    """What knows the traces of JAX, once JAX is loaded."""

    def tracing(self) -> bool:
        """Say whether a trace is open."""
        ...

    def staging(self) -> bool:
        """Say whether a program is being made."""
        ...

    def repeated(self, times: int, step: Callable[[Any], Any], state: Any) -> Any:
        """Write a loop."""
        ...

    def kept_known(self, function: Callable[[], Any]) -> Any:
        """Compute at once."""
        ...

    def pytree_registry(self) -> Mapping[type, Any]:
        """The types that are containers for JAX."""
        ...

    def part_names(self, container: Any) -> list[str]:
        """How JAX calls the parts of a container."""
        ...

    def key_data(self, key: Any) -> tuple[Any, Any]:
        """The numbers inside of a random key, and its implementation."""
        ...

    def key_of(self, numbers: Any, implementation: Any) -> Any:
        """The random key with these numbers inside."""
        ...


_TRACING: list[Callable[[], bool]] = []  # what tells whether a trace is open, once JAX is loaded


_EMPTY: Mapping[type, Any] = {}


@functools.cache
def _registry() -> Mapping[type, Any]:
    return _traces().pytree_registry()


@functools.cache
def _traces() -> Traces:
    traces: Traces = ask("traces_of_jax")  # which imports JAX, so it is loaded only after JAX has been
    _TRACING.append(traces.tracing)
    return traces

"""Functions whose gradients somebody has written, and values without a gradient."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.callables import require_callable
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import HERE
from refdist._core.ops.tensor_functions import convert_to_tensor
from refdist._core.tape.gradient_tape import GradientTape
from refdist._core.tape.recording_tapes import recording
from refdist._core.variables.variable import Variable


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Let a function say what its gradient is: it returns its result, and a function of the gradients of the result.

    >>> import refdist as tf
    >>> @tf.custom_gradient
    ... def clipped(x):
    ...     return x, lambda upstream: tf.clip_by_value(upstream, -1.0, 1.0)
    >>> v = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     loss = 10.0 * clipped(v)
    >>> print(tape.gradient(loss, v))
    tf.Tensor(1.0, shape=(), dtype=float32)
    """
    if f is None:
        return custom_gradient
    require_callable(f, "custom_gradient()")

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        tapes = HERE.get().tapes
        if tapes is None:
            return _called(f, args, kwargs)[0]
        given = nest.map_structure(convert_to_tensor, args)
        with GradientTape() as watcher:
            result, gradient = _called(f, given, kwargs)
        leaves = [convert_to_tensor(leaf) for leaf in nest.flatten(result)]
        outputs = [recording().fresh(leaf) if is_jax(leaf) else leaf for leaf in leaves]
        variables = _own_variables(watcher, args)
        arrays = [variable.read_value() for variable in variables]

        def backward(incoming: Sequence[Any]) -> list[Any]:
            return _gradients(f, gradient, incoming, nest.flatten(given), variables)

        tapes.note([*nest.flatten(given), *arrays], outputs, None, backward)
        return nest.pack_sequence_as(result, outputs)

    return decorated


def _called(f: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, Callable[..., Any]]:
    answer = f(*args, **kwargs)
    if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):  # pyright: ignore[reportUnknownArgumentType]
        raise TypeError(
            f"{getattr(f, '__name__', f)!r} with a custom gradient returned {answer!r}; expected its result, and a function that "
            f"takes the gradients of the result. Return both as a tuple."
        )
    return answer  # pyright: ignore[reportUnknownVariableType]


def _own_variables(watcher: GradientTape, args: Any) -> list[Variable]:
    passed = {id(getattr(leaf, "_value", leaf)) for leaf in nest.flatten(args)} | {
        id(leaf) for leaf in nest.flatten(args)
    }
    return [variable for variable in watcher.watched_variables() if id(variable) not in passed]


def _gradients(
    f: Any, gradient: Callable[..., Any], incoming: Sequence[Any], inputs: Sequence[Any], variables: Sequence[Variable]
) -> list[Any]:
    of_variables: list[Any] = []
    if variables:
        if "variables" not in inspect.signature(gradient).parameters:
            raise TypeError(
                f"The gradient of {getattr(f, '__name__', f)!r} has no argument `variables`, and the function uses "
                f"{', '.join(repr(variable.name) for variable in variables)}; expected it to return their gradients too. Write "
                f"def grad(*upstream, variables): ... return gradients, gradients_of_variables."
            )
        answer, of_variables = gradient(*incoming, variables=list(variables))
    else:
        answer = gradient(*incoming)
    found = list(answer) if isinstance(answer, (list, tuple)) else [answer]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if len(found) != len(inputs) or len(of_variables) != len(variables):
        raise ValueError(
            f"The gradient of {getattr(f, '__name__', f)!r} returned {len(found)} gradients of arguments and {len(of_variables)} "
            f"of variables; expected {len(inputs)} and {len(variables)}. Return one for each, or None."
        )
    return [*found, *of_variables]


def stop_gradient(input: Any, name: Any = None) -> Any:
    """The same tensor, through which no gradient goes."""
    tensor = convert_to_tensor(input)
    return recording().stopped(tensor) if is_jax(tensor) else tensor


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Accept a function whose results are to be computed again for its gradient, as everything under a tape is."""
    require_callable(f, "recompute_grad()")
    return f

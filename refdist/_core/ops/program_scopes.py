"""What programs write around operations: names, order, printing. Operations happen in the order of the program anyway."""

import contextlib
import sys
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE, entered
from refdist._core.replicas.context import variable_creator_scope
from refdist._core.replicas.values import DistributedValues
from refdist._core.variables.tensors import current_value


def print(
    *inputs: Any, output_stream: Any = None, summarize: int = 3, sep: str = " ", end: str = "\n", name: Any = None
) -> None:
    """Print values to stderr, as TensorFlow does; a function prints once, when it is traced, and says so.

    Args:
        output_stream: a file, or "file://" and a path to append to.
        summarize: how many elements of the ends of each dimension are shown; -1 shows all.
    """
    tracers = any(is_tracer(one) or _is_symbolic(one) for one in inputs)
    text = sep.join(_text(current_value(one), summarize) for one in inputs) + end
    if tracers:
        text = f"[while a function is traced; use jax.debug.print to print in each call] {text}"
    if isinstance(output_stream, str):
        with open(output_stream.removeprefix("file://"), "a") as file:
            file.write(text)
        return
    stream = sys.stderr if output_stream is None else output_stream
    stream.write(text)
    stream.flush()


@contextlib.contextmanager
def name_scope(name: str) -> Generator[str]:
    """Put a name before those of the variables made in a block.

    >>> import refdist as tf
    >>> with tf.name_scope("layer"):
    ...     tf.Variable(1.0, name="weight").name
    'layer/weight:0'
    """
    if not isinstance(name, str):
        raise ValueError(f"name_scope() got {name!r}; expected a name. Pass a string.")
    prefix = name if not name or name.endswith("/") else f"{name}/"

    def named(following: Callable[..., Any], **kwargs: Any) -> Any:
        return following(**{**kwargs, "name": f"{prefix}{kwargs.get('name') or 'Variable'}"})

    inside = f"{HERE.get().name_scope}{prefix}" if prefix else ""
    with variable_creator_scope(named), entered(name_scope=inside):
        yield prefix


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Generator[None]:
    """Do nothing: what is written first happens first, in a function too."""
    if callable(control_inputs):
        control_inputs()
    yield


def group(*inputs: Any, **kwargs: Any) -> None:
    """Do nothing: the operations have happened when their results are passed here."""


def no_op(name: Any = None) -> None:
    """Do nothing."""


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, DistributedValues) and is_tracer(value.component(0))


def _text(value: Any, summarize: int) -> str:
    if isinstance(value, (list, tuple)):
        open_, close = "[]" if isinstance(value, list) else "()"
        return open_ + ", ".join(_part(one, summarize) for one in value) + close
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_part(one, summarize)}" for key, one in value.items()) + "}"
    if isinstance(value, (DistributedValues, str)) or is_tracer(value) or not hasattr(value, "__array__"):
        return str(value)
    array = np.asarray(value)
    if array.ndim == 0:
        return _number(array[()])
    forms: Any = {"float_kind": _number, "object": lambda text: f'"{_number(text)}"', "bool": _number}
    many = summarize < 0 or array.size <= 2 * summarize
    return np.array2string(
        array.astype(np.float32) if array.dtype.kind == "V" else array,
        threshold=sys.maxsize if many else 0,
        edgeitems=max(summarize, 1),
        max_line_width=sys.maxsize,
        formatter=forms,
    )


def _part(value: Any, summarize: int) -> str:
    return repr(value) if isinstance(value, str) else _text(value, summarize)


def _number(value: Any) -> str:
    """The text of an element: 1.0 is 1, floats have as many digits as they need, truth values are 1 and 0, text is bare."""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if value.dtype.kind not in "fV":
        return str(value)
    few, many = (15, 17) if value.dtype.itemsize == 8 else (6, 9)
    short = f"{value:.{few}g}"
    return short if value.dtype.type(short) == value else f"{value:.{many}g}"

"""What programs write around operations: names, order, printing. Operations happen in the order of the program anyway."""

import contextlib
import dataclasses
import importlib
import sys
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.jax_facts import is_jax, is_tracer
from refdist._core.base.where import HERE, entered
from refdist._core.devices.tensor import make
from refdist._core.replicas.context import variable_creator_scope
from refdist._core.replicas.values import DistributedValues
from refdist._core.seam.draft import executing_eagerly, leave_draft_for_data
from refdist._core.variables.tensors import current_value

if TYPE_CHECKING:
    from refdist._core.seam.draft import Draft


def print(
    *inputs: Any, output_stream: Any = None, summarize: int = 3, sep: str = " ", end: str = "\n", name: Any = None
) -> None:
    """Print values to stderr, as TensorFlow does; a function prints each time that it is called.

    Args:
        output_stream: a file, or "file://" and a path to append to.
        summarize: how many elements of the ends of each dimension are shown; -1 shows all.
    """
    values = nest.map_structure(current_value, list(inputs))
    leaves = nest.flatten(values)
    draft = HERE.get().draft
    if draft is None and not any(map(is_tracer, leaves)):
        _write(sep.join(_text(one, summarize) for one in values) + end, output_stream)
        return
    tensors = [leaf for leaf in leaves if is_jax(leaf)]
    layout = nest.map_structure(_kept, values)
    one = draft is None or draft.compiler.count == 1
    printing = importlib.import_module("refdist._core.compilers.printing")
    show = _Shown(layout, output_stream, summarize, sep, end)
    printing.print_later(show, tensors, _conditions(draft), ordered=one)


def _conditions(draft: "Draft | None") -> list[Any]:
    """When to print: each replica prints, but what is outside of replicas is printed once."""
    if draft is None or draft.compiler.count == 1:
        return [] if draft is None else draft.conditions
    number, frame = draft.compiler.replica_number(), HERE.get().frame
    inside = frame is not None and frame.replica is not None
    return [*draft.conditions, number >= 0 if inside else number == 0]


_HOLE = "<a tensor>"


def _kept(leaf: Any) -> Any:
    """What stays in the place of a value until the program runs."""
    if isinstance(leaf, DistributedValues):
        return f"PerReplica of {leaf.count} replicas"  # TensorFlow shows what stands for them, too
    return _HOLE if is_jax(leaf) else leaf


@dataclasses.dataclass(frozen=True)
class _Shown:
    """Prints what a program says; equal ones are the same step of a program."""

    layout: list[Any]  # what is printed, with a hole in the place of each tensor
    stream: Any
    summarize: int
    sep: str
    end: str

    def __call__(self, active: Any, *tensors: Any) -> None:
        if active:
            given = iter(tensors)
            values = nest.map_structure(lambda leaf: next(given) if leaf is _HOLE else leaf, self.layout)
            _write(self.sep.join(_text(one, self.summarize) for one in values) + self.end, self.stream)


def _write(text: str, output_stream: Any) -> None:
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


def get_current_name_scope() -> str:
    """The names of the scopes around the code, joined by slashes.

    >>> with name_scope("a"), name_scope("b"):
    ...     get_current_name_scope()
    'a/b'
    """
    return HERE.get().name_scope.removesuffix("/")


@contextlib.contextmanager
def init_scope() -> Generator[None]:
    """Do nothing outside of functions; in one, refuse, because what happens once would become part of a program."""
    if not executing_eagerly():
        raise RuntimeError(
            "init_scope() was entered in a tf.function; expected it outside, because here a program is made of all that the "
            "function does. Do it before the first call; variables may be made in the first call without it."
        )
    yield


def timestamp(name: Any = None) -> Any:
    """The time in seconds since 1970; a function that asks for it runs in Python."""
    leave_draft_for_data()
    return make(np.array(time.time()), "CPU:0")  # JAX would round it to minutes

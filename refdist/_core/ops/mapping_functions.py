"""Operations that call functions: with each element of tensors in turn, or with arrays of numpy; and what makes initial values."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from refdist._core.base import nest
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.where import HERE
from refdist._core.ops.random_numbers import normal, stateless_normal, stateless_uniform, uniform
from refdist._core.ops.shape_functions import reshape
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, ones, sizes_of, stack, zeros
from refdist._core.seam.draft import leave_draft_for_data


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: Any = None,
    fn_output_signature: Any = None,
) -> Any:
    """Call a function with the elements along the first dimension of tensors, and stack what it returns."""
    return _stacked([fn(one) for one in _elements(elems)], "map_fn")


def vectorized_map(fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """Call a function with the elements along the first dimension of tensors, and stack what it returns."""
    return _stacked([fn(one) for one in _elements(elems)], "vectorized_map")


def foldl(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, **options: Any) -> Any:
    """Combine elements along the first dimension, from the first to the last."""
    return functools.reduce(fn, *_started(_elements(elems), initializer))


def foldr(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, **options: Any) -> Any:
    """Combine elements along the first dimension, from the last to the first."""
    return functools.reduce(fn, *_started(_elements(elems)[::-1], initializer))


def scan(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, reverse: bool = False, **options: Any
) -> Any:
    """Combine elements along the first dimension, and stack all that comes out on the way."""
    rest, *first = _started(_elements(elems)[::-1] if reverse else _elements(elems), initializer)
    found = list(first) if initializer is None else []
    total = first[0]
    for one in rest:
        total = fn(total, one)
        found.append(total)
    return _stacked(found[::-1] if reverse else found, "scan")


def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,  # noqa: N803, the documented name
    stateful: bool = True,
    name: Any = None,
) -> Any:
    """Call a Python function with arrays of numpy; a `function` that does so runs in Python."""
    if HERE.get().draft is not None:
        leave_draft_for_data()
    return _returned(func(*[np.asarray(convert_to_tensor(value))[()] for value in inp]), Tout)


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: Any = None) -> Any:  # noqa: N803
    """Call a Python function with tensors; a `function` that does so runs in Python."""
    if HERE.get().draft is not None:
        leave_draft_for_data()
    return _returned(func(*[convert_to_tensor(value) for value in inp]), Tout)


def _initializer(name: str, make: Callable[..., Any], **defaults: Any) -> type:
    """Make a class whose objects make initial values, given a shape."""

    class Initializer:
        def __init__(self, *args: Any, **options: Any) -> None:
            self._options = {**defaults, **dict(zip(defaults, args, strict=False)), **options}

        def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
            return make(shape, dtype=dtype, **self._options)

        def get_config(self) -> dict[str, Any]:
            """What an equal one is made with."""
            return dict(self._options)

    Initializer.__name__ = Initializer.__qualname__ = name
    Initializer.__doc__ = f"Makes initial values: {name}."
    return Initializer


def _constant(shape: Any, dtype: Any, value: Any) -> Any:
    given = convert_to_tensor(value, dtype)
    return (
        given.__array_namespace__().broadcast_to(given, sizes_of(shape)) if given.size == 1 else reshape(given, shape)
    )


def _filled(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda shape, dtype: make(shape, np.float32 if dtype is None else dtype)


def _drawn(draw: Callable[..., Any], of_seeds: Callable[..., Any]) -> Callable[..., Any]:
    """Draw values; an initializer with a seed makes the same ones each time."""

    def make(shape: Any, dtype: Any, seed: int | None, **options: Any) -> Any:
        given = {"dtype": np.float32 if dtype is None else dtype, **options}
        return draw(shape, **given) if seed is None else of_seeds(shape, [seed, 0], **given)

    return make


constant_initializer = _initializer("constant_initializer", _constant, value=0)
ones_initializer = _initializer("ones_initializer", _filled(ones))
random_normal_initializer = _initializer(
    "random_normal_initializer", _drawn(normal, stateless_normal), mean=0.0, stddev=0.05, seed=None
)
random_uniform_initializer = _initializer(
    "random_uniform_initializer", _drawn(uniform, stateless_uniform), minval=-0.05, maxval=0.05, seed=None
)
zeros_initializer = _initializer("zeros_initializer", _filled(zeros))


def _elements(elems: Any) -> list[Any]:
    """The nests of elements along the first dimension of a nest of tensors."""
    tree: Any = elems if _is_nest(elems) else (elems,)
    leaves, shape = optree.tree_flatten(tree)
    tensors = [convert_to_tensor(leaf) for leaf in leaves]
    counts = {tensor.shape[0] if tensor.shape else -1 for tensor in tensors}
    if len(counts) != 1 or -1 in counts:
        raise InvalidArgumentError(
            f"Tensors of the shapes {[tuple(tensor.shape) for tensor in tensors]} were to be taken apart; expected one first "
            f"dimension. Give them one."
        )
    rows: list[Any] = [optree.tree_unflatten(shape, [one[place] for one in tensors]) for place in range(counts.pop())]
    return rows if _is_nest(elems) else [row[0] for row in rows]


def _is_nest(value: Any) -> bool:
    # A list of numbers is one tensor; a list of tensors is a nest.
    return isinstance(value, (tuple, dict)) or (isinstance(value, list) and any(hasattr(one, "shape") for one in value))


def _stacked(results: Sequence[Any], name: str) -> Any:
    if not results:
        raise InvalidArgumentError(f"{name}() got no elements; expected at least one. Skip empty tensors.")
    return nest.map_structure(lambda *ones: stack([convert_to_tensor(one) for one in ones]), *results)


def _started(elements: list[Any], initializer: Any) -> tuple[list[Any], Any]:
    return (elements[1:], elements[0]) if initializer is None else (elements, initializer)


def _returned(result: Any, dtypes: Any) -> Any:
    if isinstance(dtypes, (list, tuple)):
        return [cast(convert_to_tensor(one), dtype) for one, dtype in zip(result, dtypes, strict=True)]
    return cast(convert_to_tensor(result), dtypes)

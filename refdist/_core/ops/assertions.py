"""`tf.debugging`: conditions that tensors must meet, in programs too."""

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import dtype_name
from refdist._core.ops.tensor_functions import convert_to_tensor
from refdist._core.variables.tensors import current_value


def _comparison(name: str, sign: str, compare: Callable[[Any, Any], Any]) -> Callable[..., None]:
    def assertion(x: Any, y: Any, message: Any = None, summarize: int | None = None, name: Any = None) -> None:
        first, second = _tensors(x, y)
        _require(compare(first, second), message, f"x is {_text(first)} and y is {_text(second)}; expected x {sign} y")

    assertion.__name__ = name
    assertion.__doc__ = f"Raise unless x {sign} y holds for each element."
    return assertion


def _sign(name: str, sign: str, compare: Callable[[Any, Any], Any]) -> Callable[..., None]:
    def assertion(x: Any, message: Any = None, summarize: int | None = None, name: Any = None) -> None:
        tensor = convert_to_tensor(x)
        _require(compare(tensor, 0), message, f"x is {_text(tensor)}; expected x {sign} 0")

    assertion.__name__ = name
    assertion.__doc__ = f"Raise unless x {sign} 0 holds for each element."
    return assertion


assert_equal = _comparison("assert_equal", "==", operator.eq)
assert_none_equal = _comparison("assert_none_equal", "!=", operator.ne)
assert_less = _comparison("assert_less", "<", operator.lt)
assert_less_equal = _comparison("assert_less_equal", "<=", operator.le)
assert_greater = _comparison("assert_greater", ">", operator.gt)
assert_greater_equal = _comparison("assert_greater_equal", ">=", operator.ge)
assert_positive = _sign("assert_positive", ">", operator.gt)
assert_negative = _sign("assert_negative", "<", operator.lt)
assert_non_negative = _sign("assert_non_negative", ">=", operator.ge)
assert_non_positive = _sign("assert_non_positive", "<=", operator.le)


def Assert(condition: Any, data: Sequence[Any], summarize: int | None = None, name: Any = None) -> None:  # noqa: N802
    """Raise unless a condition holds."""
    shown = ", ".join(_text(current_value(one)) for one in data)
    _require(
        convert_to_tensor(condition), None, f"A condition does not hold, with {shown or 'no data'}; expected it to"
    )


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: Any = None,
    summarize: int | None = None,
    name: Any = None,
) -> None:
    """Raise unless two tensors are equal but for a tolerance, which is 10 times the precision of their dtype."""
    first, second = _tensors(x, y)
    least = 10 * float(np.finfo(first.dtype).eps) if first.dtype.kind == "f" else 0.0
    relative, absolute = (least if given is None else given for given in (rtol, atol))
    near = abs(first - second) <= absolute + relative * abs(second)
    _require(near, message, f"x is {_text(first)} and y is {_text(second)}; expected them to be near each other")


def assert_all_finite(x: Any, message: Any, name: Any = None) -> Any:
    """Return a tensor, or raise if it has infinite numbers, or none."""
    tensor = convert_to_tensor(x)
    finite = abs(tensor) < float("inf")  # which is false for nan too
    _require(finite, message, f"x is {_text(tensor)}; expected finite numbers")
    return tensor


def check_numerics(tensor: Any, message: Any, name: Any = None) -> Any:
    """Return a tensor, or raise if it has infinite numbers, or none."""
    return assert_all_finite(tensor, message)


def assert_rank(x: Any, rank: int, message: Any = None, name: Any = None) -> None:
    """Raise unless a tensor has so many dimensions."""
    assert_rank_in(x, (rank,), message)


def assert_rank_in(x: Any, ranks: Iterable[int], message: Any = None, name: Any = None) -> None:
    """Raise unless a tensor has one of several numbers of dimensions."""
    shape, known = tuple(convert_to_tensor(x).shape), [int(rank) for rank in ranks]
    if len(shape) not in known:
        raise ValueError(
            _said(message, f"A tensor has the shape {shape}; expected {' or '.join(map(str, known))} dimensions")
        )


def assert_rank_at_least(x: Any, rank: int, message: Any = None, name: Any = None) -> None:
    """Raise unless a tensor has at least so many dimensions."""
    shape = tuple(convert_to_tensor(x).shape)
    if len(shape) < rank:
        raise ValueError(_said(message, f"A tensor has the shape {shape}; expected at least {rank} dimensions"))


def assert_scalar(tensor: Any, message: Any = None, name: Any = None) -> Any:
    """Return a tensor, or raise if it has dimensions."""
    assert_rank(tensor, 0, message)
    return convert_to_tensor(tensor)


def assert_shapes(
    shapes: Any, data: Any = None, summarize: int | None = None, message: Any = None, name: Any = None
) -> None:
    """Raise unless tensors have the shapes given with them: numbers, None for any, and letters for sizes that are equal."""
    sizes: dict[str, int] = {}
    for value, symbols in shapes.items() if hasattr(shapes, "items") else shapes:
        shape = tuple(convert_to_tensor(value).shape)
        wanted = tuple(symbols) if isinstance(symbols, (str, list, tuple)) else (symbols,)
        fits = len(shape) == len(wanted) and all(
            symbol in (None, ".", size) or (isinstance(symbol, str) and sizes.setdefault(symbol, size) == size)
            for symbol, size in zip(wanted, shape, strict=True)
        )
        if not fits:
            known = f", where {sizes}" if sizes else ""
            raise ValueError(_said(message, f"A tensor has the shape {shape}; expected {wanted}{known}"))


def assert_type(tensor: Any, tf_type: Any, message: Any = None, name: Any = None) -> None:
    """Raise unless a tensor has a dtype."""
    found = convert_to_tensor(tensor).dtype
    if found != numpy_dtype(tf_type):
        raise TypeError(
            _said(message, f"A tensor is of {dtype_name(found)}; expected {dtype_name(numpy_dtype(tf_type))}")
        )


def assert_integer(x: Any, message: Any = None, name: Any = None) -> None:
    """Raise unless a tensor is one of integers."""
    found = convert_to_tensor(x).dtype
    if found.kind not in "iu":
        raise TypeError(_said(message, f"A tensor is of {dtype_name(found)}; expected integers"))


def assert_proper_iterable(values: Any) -> None:
    """Raise unless a value is a list or the like, and no tensor or text."""
    if isinstance(values, (str, bytes, np.ndarray)) or not hasattr(values, "__iter__"):
        raise TypeError(f"A {type(values).__name__} was given; expected a list, a tuple or the like. Put it into one.")


def is_numeric_tensor(tensor: Any) -> bool:
    """Say whether something is a tensor of numbers."""
    return hasattr(tensor, "dtype") and tensor.dtype.kind in "iufcV"


def ensure_shape(x: Any, shape: Any, name: Any = None) -> Any:
    """Return a tensor that has a shape, in which None stands for any size, or raise."""
    given, wanted = convert_to_tensor(x), tuple(shape)
    fits = len(wanted) == len(given.shape) and all(
        size is None or int(size) == own for size, own in zip(wanted, given.shape, strict=True)
    )
    if not fits:
        raise InvalidArgumentError(
            f"ensure_shape() got a tensor of shape {tuple(given.shape)}; expected {wanted}. Reshape it, or correct the shape."
        )
    return given


def _tensors(x: Any, y: Any) -> tuple[Any, Any]:
    """Two tensors of one dtype: a number of Python takes that of the tensor that it meets."""
    first, second = current_value(x), current_value(y)
    if isinstance(first, (bool, int, float, list, tuple)) and hasattr(second, "dtype"):
        first = convert_to_tensor(first, second.dtype)
    first = convert_to_tensor(first)
    second = convert_to_tensor(second, None if hasattr(second, "dtype") else first.dtype)
    if first.dtype != second.dtype:
        raise InvalidArgumentError(
            f"Tensors of {dtype_name(first.dtype)} and {dtype_name(second.dtype)} were compared; expected one dtype. Use tf.cast()."
        )
    return first, second


def _require(holds: Any, message: Any, text: str) -> None:
    draft = HERE.get().draft
    if is_tracer(holds) and draft is not None:
        draft.require(holds.all(), InvalidArgumentError, _said(message, text))
    elif not np.all(np.asarray(holds)):
        raise InvalidArgumentError(_said(message, text))


def _said(message: Any, text: str) -> str:
    before = f"{message} " if message else ""
    return f"{before}{text}. Look at where the tensor comes from."


def _text(value: Any) -> str:
    if is_tracer(value):
        return f"a tensor of shape {tuple(value.shape)}"
    array = np.asarray(value)
    return f"{array.ravel()[:3].tolist() if array.ndim else array.item()!r}{' ...' if array.size > 3 else ''}"

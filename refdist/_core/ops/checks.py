"""`tf.debugging`: what must hold, checked at once or, in a function, when its program runs."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.devices.tensor import dtype_name
from refdist._core.ops import operation_table as table
from refdist._core.ops.operation_table import pair, require
from refdist._core.ops.tensor_functions import convert_to_tensor


def _comparison(name: str, compare: Callable[[Any, Any], Any], word: str) -> Any:
    """Make a check of all pairs of elements of two tensors."""

    def check(x: Any, y: Any, message: Any = None, summarize: Any = None, name: Any = None) -> None:
        first, second = pair(x, y, label)
        require(compare(first, second).all(), _text(label, f"x {word} y for all elements", message))

    label = check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise unless x {word} y for all elements."
    return check


def _property(name: str, holds: Callable[[Any], Any], word: str) -> Any:
    """Make a check of all elements of a tensor."""

    def check(x: Any, message: Any = None, summarize: Any = None, name: Any = None) -> None:
        require(holds(convert_to_tensor(x)).all(), _text(label, f"{word} elements", message))

    label = check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise unless a tensor has {word} elements only."
    return check


# name = kind of check(documented name, what has to hold, in words)
assert_equal = _comparison("assert_equal", table.equal, "==")
assert_greater = _comparison("assert_greater", table.greater, ">")
assert_greater_equal = _comparison("assert_greater_equal", table.greater_equal, ">=")
assert_less = _comparison("assert_less", table.less, "<")
assert_less_equal = _comparison("assert_less_equal", table.less_equal, "<=")
assert_none_equal = _comparison("assert_none_equal", table.not_equal, "!=")
assert_negative = _property("assert_negative", lambda x: x < 0, "negative")
assert_non_negative = _property("assert_non_negative", lambda x: x >= 0, "no negative")
assert_non_positive = _property("assert_non_positive", lambda x: x <= 0, "no positive")
assert_positive = _property("assert_positive", lambda x: x > 0, "positive")


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, message: Any = None, summarize: Any = None, name: Any = None
) -> None:
    """Raise unless all elements of two tensors are near each other."""
    first, second = pair(x, y, "assert_near")
    least = 10 * np.finfo(first.dtype).eps if first.dtype.kind == "f" else 0
    reach = (least if atol is None else atol) + (least if rtol is None else rtol) * abs(second)
    require((abs(first - second) <= reach).all(), _text("assert_near", "elements that are near each other", message))


def assert_all_finite(x: Any, message: Any, name: Any = None) -> Any:
    """Raise if an element is no number, or infinite."""
    return check_numerics(x, message)


def check_numerics(tensor: Any, message: Any, name: Any = None) -> Any:
    """Raise if an element is no number, or infinite; else return the tensor."""
    given = convert_to_tensor(tensor)
    require(table.is_finite(given).all(), _text("check_numerics", "finite elements", message))
    return given


def assert_rank(x: Any, rank: Any, message: Any = None, name: Any = None) -> None:
    """Raise unless a tensor has so many dimensions."""
    _require_shape(x, lambda found: len(found) == int(rank), f"{int(rank)} dimensions", message, "assert_rank")


def assert_rank_at_least(x: Any, rank: Any, message: Any = None, name: Any = None) -> None:
    """Raise unless a tensor has at least so many dimensions."""
    words = f"at least {int(rank)} dimensions"
    _require_shape(x, lambda found: len(found) >= int(rank), words, message, "assert_rank_at_least")


def assert_rank_in(x: Any, ranks: Iterable[Any], message: Any = None, name: Any = None) -> None:
    """Raise unless the number of dimensions of a tensor is one of these."""
    among = [int(rank) for rank in ranks]
    _require_shape(x, lambda found: len(found) in among, f"{among} dimensions", message, "assert_rank_in")


def assert_scalar(tensor: Any, message: Any = None, name: Any = None) -> Any:
    """Raise unless a tensor has no dimensions."""
    _require_shape(tensor, lambda found: not found, "no dimensions", message, "assert_scalar")
    return tensor


def assert_shapes(shapes: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None) -> None:
    """Raise unless tensors have shapes in which equal letters stand for equal sizes, and None and "..." for any."""
    sizes: dict[Any, int] = {}
    for tensor, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        found = tuple(convert_to_tensor(tensor).shape)
        parts = list(wanted) if isinstance(wanted, (str, list, tuple)) else [wanted]
        fits = len(parts) == len(found) and all(
            part in (None, "*", ".") or size == (part if isinstance(part, int) else sizes.setdefault(part, size))
            for part, size in zip(parts, found, strict=True)
        )
        _require_shape(tensor, lambda _, fits=fits: fits, f"the shape {wanted}, with {sizes}", message, "assert_shapes")


def assert_type(tensor: Any, tf_type: Any, message: Any = None, name: Any = None) -> None:
    """Raise unless a tensor has a dtype."""
    given, wanted = convert_to_tensor(tensor), numpy_dtype(tf_type)
    if given.dtype != wanted:
        raise TypeError(_text("assert_type", f"{dtype_name(wanted)}, and not {dtype_name(given.dtype)}", message))


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


def Assert(condition: Any, data: Any, summarize: Any = None, name: Any = None) -> None:  # noqa: N802, the documented name
    """Raise, with some values, unless a condition holds."""
    flag = convert_to_tensor(condition)
    require(
        flag.all(), f"Assert() got a condition that is false, with {data!r}; expected a true one. Correct the values."
    )


def _require_shape(x: Any, holds: Callable[[Any], bool], words: str, message: Any, name: str) -> None:
    found = tuple(convert_to_tensor(x).shape)
    if not holds(found):
        raise ValueError(_text(name, f"{words}, and not the shape {found}", message))


def _text(name: str, expected: str, message: Any) -> str:
    said = "" if message is None else f" {message}"
    return f"{name}() got something else; expected {expected}. Correct what is given.{said}"

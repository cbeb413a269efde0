"""`tf.strings`: operations on byte strings, one by one. JAX has no text, so it stays on the host."""

import functools
import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.convert import to_array
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.jax_facts import is_jax
from refdist._core.ops.byte_strings import string_tensor
from refdist._core.ops.ragged_tensor import RaggedTensor
from refdist._core.ops.tensor_functions import convert_to_tensor, fresh
from refdist._core.variables.tensors import current_value


def _of_each(name: str, function: Callable[[bytes], Any], dtype: Any = object) -> Any:
    """Make an operation on each string."""

    def apply(input: Any, name: Any = None, **options: Any) -> Any:
        return _mapped(function, input, dtype)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"Apply {name} to each string."
    return apply


# name = (documented name, function of bytes)
lower = _of_each("lower", bytes.lower)
strip = _of_each("strip", bytes.strip)
upper = _of_each("upper", bytes.upper)


def length(input: Any, unit: str = "BYTE", name: Any = None) -> Any:
    """Count the bytes, or the characters of UTF-8, of each string."""
    return _mapped(len if unit == "BYTE" else lambda text: len(text.decode()), input, np.int32)


def join(inputs: Sequence[Any], separator: str = "", name: Any = None) -> Any:
    """Join the strings at one place of several tensors."""
    arrays = np.broadcast_arrays(*[_texts(one) for one in inputs])
    joined = [separator.encode().join(texts) for texts in zip(*(array.ravel() for array in arrays), strict=True)]
    return _tensor(joined, arrays[0].shape)


def reduce_join(inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "", name: Any = None) -> Any:
    """Join the strings of a tensor, all of them or those along an axis."""
    texts = _texts(inputs)
    rows = texts.reshape(1, -1) if axis is None else np.moveaxis(texts, int(axis), -1)
    flat = rows.reshape(-1, rows.shape[-1])
    joined = _array([separator.encode().join(row) for row in flat], () if axis is None else rows.shape[:-1])
    places = tuple(range(texts.ndim)) if axis is None else axis
    return string_tensor(np.expand_dims(joined, places) if keepdims else joined)


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: Any = None) -> Any:
    """Take a part of each string."""
    start, count = int(pos), int(len)

    def part(text: bytes) -> bytes:
        given = text if unit == "BYTE" else text.decode()
        first = start if start >= 0 else max(0, np.size(list(given)) + start)
        found = given[first : first + count]
        return found if isinstance(found, bytes) else found.encode()

    return _mapped(part, input)


def split(input: Any, sep: str | bytes | None = None, maxsplit: int = -1, name: Any = None) -> Any:
    """Split each string at a separator, or where there is white space; the parts of several strings are rows.

    >>> import refdist as tf
    >>> tf.strings.split(["a b", "c"])
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """
    texts, separator = _texts(input), (sep.encode() if isinstance(sep, str) else sep) or None
    rows = [text.split(separator, maxsplit) for text in texts.ravel().tolist()]
    parts = _tensor([part for row in rows for part in row], (sum(map(len, rows)),))
    if not texts.ndim:
        return parts
    ragged = RaggedTensor.from_row_lengths(parts, [len(row) for row in rows])
    for axis in range(texts.ndim - 1, 0, -1):
        ragged = RaggedTensor.from_row_lengths(ragged, [texts.shape[axis]] * math.prod(texts.shape[:axis]))
    return ragged


def regex_replace(input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: Any = None) -> Any:
    r"""Replace what a pattern finds in each string; \1 in the replacement stands for the first group."""
    compiled = re.compile(pattern.encode())
    return _mapped(lambda text: compiled.sub(rewrite.encode(), text, count=0 if replace_global else 1), input)


def regex_full_match(input: Any, pattern: str, name: Any = None) -> Any:
    """Say of each string whether all of it is as a pattern says."""
    compiled = re.compile(pattern.encode())
    return _mapped(lambda text: compiled.fullmatch(text) is not None, input, bool)


def to_number(input: Any, out_type: Any = np.float32, name: Any = None) -> Any:
    """Read each string as a number."""
    kind = numpy_dtype(out_type)
    try:
        return _mapped(int if kind.kind in "iu" else float, input, kind)
    except ValueError as error:
        raise InvalidArgumentError(
            f"to_number() got text that is no number ({error}); expected digits. Clean it first."
        ) from error


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: Any = None,
) -> Any:
    """Write each number as a string: floats with six digits behind the point."""
    numbers = np.asarray(convert_to_tensor(input))
    digits = 6 if precision < 0 else precision
    letter = "g" if shortest else "e" if scientific else "f"

    def written(number: Any) -> bytes:
        if isinstance(number, bool):
            return str(number).lower().encode()
        text = f"{number:.{digits}{letter}}" if isinstance(number, float) else str(number)
        return (text.rjust(width, fill or " ") if width > 0 else text).encode()

    return _tensor([written(number) for number in numbers.ravel().tolist()], numbers.shape)


def _mapped(function: Callable[[bytes], Any], input: Any, dtype: Any = object) -> Any:
    texts = _texts(input)
    found = _array([function(text) for text in texts.ravel().tolist()], texts.shape, dtype)
    return string_tensor(found) if dtype is object else fresh(found)


def _texts(value: Any) -> np.ndarray[Any, Any]:
    value = current_value(value)
    array = value if is_jax(value) else to_array(value)
    if array.dtype.kind != "O":
        raise InvalidArgumentError(f"A string operation got {array.dtype}; expected text. Use tf.strings.as_string().")
    return array


def _tensor(texts: Sequence[bytes], shape: Sequence[int]) -> Any:
    return string_tensor(_array(texts, shape))


def _array(found: Sequence[Any], shape: Sequence[int], dtype: Any = object) -> np.ndarray[Any, Any]:
    made = np.empty(functools.reduce(operator.mul, shape, 1), dtype)
    made[:] = found
    return made.reshape(tuple(shape))

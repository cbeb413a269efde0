"""Tensors as bytes: raw numbers, serialized tensors, text in base64, and lines of comma-separated values."""

import base64
import csv
import importlib
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from refdist._core.base.convert import to_array
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.ops.byte_strings import Array, byte_string, byte_strings, string_tensor
from refdist._core.ops.tensor_functions import convert_to_tensor, fresh

# The numbers under which TensorFlow's files know dtypes.
DTYPES = {
    1: np.dtype("float32"),
    2: np.dtype("float64"),
    3: np.dtype("int32"),
    4: np.dtype("uint8"),
    5: np.dtype("int16"),
    6: np.dtype("int8"),
    7: np.dtype("object"),
    8: np.dtype("complex64"),
    9: np.dtype("int64"),
    10: np.dtype("bool"),
    14: np.dtype(ml_dtypes.bfloat16),
    17: np.dtype("uint16"),
    18: np.dtype("complex128"),
    19: np.dtype("float16"),
    22: np.dtype("uint32"),
    23: np.dtype("uint64"),
}
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}


def decode_raw(
    input_bytes: Any, out_type: Any, little_endian: bool = True, fixed_length: int | None = None, name: Any = None
) -> Any:
    """Read bytes as numbers, along a new last dimension.

    >>> import refdist as tf
    >>> tf.io.decode_raw(b"\\x01\\x02", tf.uint8)
    <tf.Tensor: shape=(2,), dtype=uint8, numpy=array([1, 2], dtype=uint8)>
    """
    texts, dtype = byte_strings(input_bytes, "decode_raw()"), numpy_dtype(out_type)
    if fixed_length is not None:
        texts = np.array([one[:fixed_length].ljust(fixed_length, b"\0") for one in texts.flat], object).reshape(
            texts.shape
        )
    sizes = {len(one) for one in texts.flat} or {0}
    if len(sizes) > 1:
        raise InvalidArgumentError(
            f"decode_raw() got byte strings of {sorted(sizes)} bytes; expected one length. Pass fixed_length= to pad or cut them."
        )
    if (size := sizes.pop()) % dtype.itemsize:
        raise InvalidArgumentError(
            f"decode_raw() got {size} bytes; expected a multiple of {dtype.itemsize}, the size of a {dtype}. Correct out_type."
        )
    numbers = np.frombuffer(b"".join(texts.flat), dtype)
    if not little_endian:
        numbers = numbers.byteswap()
    return fresh(numbers.reshape(*texts.shape, size // dtype.itemsize).copy())


def serialize_tensor(tensor: Any, name: Any = None) -> Any:
    """Write a tensor as bytes that `parse_tensor` reads, here and in TensorFlow."""
    array = to_array(tensor) if _is_text(tensor) else np.asarray(convert_to_tensor(tensor))
    return string_tensor(tensor_message(array).SerializeToString(deterministic=True))


def tensor_message(array: Array) -> Any:
    """The protocol message of an array."""
    made = _tensor_message(dtype=NUMBERS[array.dtype])
    made.tensor_shape.SetInParent()
    for size in array.shape:
        made.tensor_shape.dim.add(size=size)
    if array.dtype == object:
        made.string_val.extend(array.ravel().tolist())
    else:
        made.tensor_content = array.tobytes()
    return made


def parse_tensor(serialized: Any, out_type: Any, name: Any = None) -> Any:
    """Read a tensor from the bytes that `serialize_tensor` wrote."""
    data, dtype, made = byte_string(serialized, "parse_tensor()"), numpy_dtype(out_type), _tensor_message()
    try:
        made.ParseFromString(data)
    except Exception as error:  # protobuf's own, which is loaded only here
        raise InvalidArgumentError(
            f"parse_tensor() got {data[:40]!r}, which is no tensor; expected what tf.io.serialize_tensor() returns. Check the "
            f"bytes."
        ) from error
    found = DTYPES.get(made.dtype)
    if found != dtype:
        raise InvalidArgumentError(
            f"parse_tensor() got a tensor of {found}; expected {dtype}, which out_type says. Correct out_type."
        )
    array = _array(made, dtype)
    return string_tensor(array) if dtype.kind == "O" else fresh(array)


def _array(made: Any, dtype: Any) -> Array:
    shape = tuple(dim.size for dim in made.tensor_shape.dim)
    if made.tensor_content:
        return np.frombuffer(made.tensor_content, dtype).reshape(shape).copy()
    fields = ("string_val", "float_val", "double_val", "int_val", "int64_val", "bool_val")
    values = next((list(found) for name in fields if (found := getattr(made, name))), [])
    if not values:
        return np.full(shape, b"" if dtype.kind == "O" else 0, dtype)
    whole = np.empty(int(np.prod(shape)), dtype)  # the last value is written once, if it repeats
    whole[: len(values)], whole[len(values) :] = values, values[-1]
    return whole.reshape(shape)


def _tensor_message(**fields: Any) -> Any:
    return importlib.import_module("refdist._core.files.messages").message("TensorProto")(**fields)


def _is_text(value: Any) -> bool:
    return to_array(value).dtype == object if isinstance(value, (str, bytes, list, tuple)) else False


def encode_base64(input: Any, pad: bool = False, name: Any = None) -> Any:
    """Write bytes as text of letters that are safe in the names of files and pages."""
    texts = byte_strings(input, "encode_base64()")
    coded = [base64.urlsafe_b64encode(one) for one in texts.flat]
    return _like(texts, coded if pad else [one.rstrip(b"=") for one in coded])


def decode_base64(input: Any, name: Any = None) -> Any:
    """Read what `encode_base64` wrote."""
    texts = byte_strings(input, "decode_base64()")
    try:
        return _like(texts, [base64.urlsafe_b64decode(one + b"=" * (-len(one) % 4)) for one in texts.flat])
    except ValueError as error:
        raise InvalidArgumentError(
            f"decode_base64() got text that is none ({error}); expected letters, digits, - and _. Encode it with encode_base64()."
        ) from error


def _like(texts: Array, values: list[bytes]) -> Any:
    made = np.empty(len(values), object)
    made[:] = values
    return string_tensor(made.reshape(texts.shape))


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: Any = None,
) -> list[Any]:
    """Read lines of comma-separated values: one tensor for each column, of the dtype of its default."""
    texts = byte_strings(records, "decode_csv()")
    lines = [one.decode() for one in texts.flat]
    quoting = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
    rows = [next(csv.reader([line], delimiter=field_delim, quoting=quoting), [""]) for line in lines]
    if select_cols is not None:
        rows = [[row[column] for column in select_cols] for row in rows]
    defaults = [np.atleast_1d(to_array(one)) for one in record_defaults]
    for number, row in enumerate(rows):
        if len(row) != len(defaults):
            raise InvalidArgumentError(
                f"Line {number} of decode_csv() has {len(row)} fields; expected {len(defaults)}, as record_defaults has. Correct "
                f"one of them."
            )
    return [
        _column([row[at] for row in rows], default, na_value, texts.shape, at) for at, default in enumerate(defaults)
    ]


def _column(fields: list[str], default: Array, na_value: str, shape: tuple[int, ...], at: int) -> Any:
    values = np.empty(len(fields), default.dtype)
    for line, field in enumerate(fields):
        missing = field in ("", na_value)
        if missing and not default.size:
            raise InvalidArgumentError(
                f"Field {at} of line {line} is missing; expected one, because it has no default. Give it one in record_defaults."
            )
        try:
            values[line] = (
                default[0] if missing else field.encode() if default.dtype == object else default.dtype.type(field)
            )
        except (ValueError, OverflowError) as error:
            raise InvalidArgumentError(
                f"Field {at} of line {line} is {field!r}; expected a {default.dtype}. Correct the line, or the default, which says "
                f"the dtype."
            ) from error
    values = values.reshape(shape)
    return string_tensor(values) if values.dtype == object else fresh(values)

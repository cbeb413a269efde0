"""Tensors of byte strings: they lie on the host, whatever the backend."""

import os
from typing import Any

import numpy as np

from refdist._core.base.convert import to_array
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.fingerprint import fingerprint
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import Tensor, make
from refdist._core.replicas import context
from refdist._core.seam.draft import leave_draft_for_data
from refdist._core.variables.tensors import current_value

Array = np.ndarray[Any, Any]


def byte_strings(value: Any, function: str) -> Array:
    """The byte strings in a value: text, bytes, a tensor or an array of them."""
    leave_draft_for_data()  # compiled programs know no strings, so that a function which uses them runs in Python
    value = current_value(value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    array = None if is_jax(value) else to_array(value)
    if array is None or (array.dtype != object and array.size):
        raise TypeError(
            f"{function} got {value!r}; expected text or byte strings. Pass a str, bytes, or a tensor of dtype tf.string."
        )
    return np.asarray(array, object)


def byte_string(value: Any, function: str) -> bytes:
    """The one byte string in a value."""
    array = byte_strings(value, function)
    if array.ndim:
        raise ValueError(
            f"{function} got byte strings of shape {array.shape}; expected a single one. Call it for each, for example with "
            f"Dataset.map() before batch()."
        )
    return array.item()


def text(value: Any, function: str) -> str:
    """The one string in a value, as Python's text."""
    return os.fsdecode(byte_string(value, function))


def string_tensor(value: Any) -> Tensor:
    """A tensor of byte strings."""
    return make(np.array(value, object), "CPU:0")


def to_hash_bucket_fast(input: Any, num_buckets: int, name: Any = None) -> Any:
    """Number strings by a fingerprint of each, from 0 up to a number of buckets.

    >>> int(to_hash_bucket_fast("emerson", 1000000007))
    80051842
    """
    if num_buckets < 1:
        raise InvalidArgumentError(
            f"to_hash_bucket_fast() got num_buckets={num_buckets}; expected at least 1. Give a larger number."
        )
    texts = byte_strings(input, "to_hash_bucket_fast()")
    numbers = [fingerprint(one) % num_buckets for one in texts.flat]
    return context.backend().put(np.array(numbers, np.int64).reshape(texts.shape), HERE.get().device)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text as bytes."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes as text."""
    return bytes_or_text if isinstance(bytes_or_text, str) else bytes(bytes_or_text).decode(encoding)


def path_to_str(path: Any) -> str:
    """A path of any kind as text."""
    return os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else str(np.asarray(path).item())

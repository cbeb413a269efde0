"""Values as bytes and back: a header in JSON and the numbers as they lie in memory. Nothing is pickled, because anybody who
reaches the coordination service could send something to unpickle.
"""

import base64
import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices

Array = np.ndarray[Any, Any]
_PLAIN = (type(None), bool, int, float, str)
_LENGTH = struct.Struct("<I")


def packed(payloads: Sequence[Any], tensor_type: type) -> tuple[str, bytes]:
    """Take a nest for each replica apart: into a text that describes its structure, and its leaves as bytes."""
    leaves = [nest.flatten(payload) for payload in payloads]
    buffers: list[bytes] = []
    header = json.dumps([[_packed(leaf, tensor_type, buffers) for leaf in row] for row in leaves]).encode()
    outline = "; ".join(dict.fromkeys(_outline(payload) for payload in payloads))
    return outline, b"".join([_LENGTH.pack(len(header)), header, *buffers])


def unpacked(data: bytes, like: Any, to_tensor: Callable[[Array], Any]) -> list[Any]:
    """What another worker has packed, in nests like this one."""
    (length,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size + length
    source = _Source(data, start)
    rows = json.loads(data[_LENGTH.size : start])
    return [nest.pack_sequence_as(like, [_unpacked(leaf, source, to_tensor) for leaf in row]) for row in rows]


class _Source:
    """The numbers, read one after another."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data, self._at = data, start

    def take(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]


def _packed(leaf: Any, tensor_type: type, buffers: list[bytes]) -> Any:
    if isinstance(leaf, _PLAIN) and not isinstance(leaf, np.generic):
        return ["plain", leaf]
    if isinstance(leaf, IndexedSlices):
        parts = (leaf.values, leaf.indices, leaf.dense_shape)
        return ["slices", [_packed(part, tensor_type, buffers) for part in parts]]
    if isinstance(leaf, bytes):
        return ["bytes", base64.b64encode(leaf).decode()]
    if isinstance(leaf, complex) and not isinstance(leaf, np.generic):
        return ["complex", [leaf.real, leaf.imag]]
    if not hasattr(leaf, "__array__"):
        raise TypeError(
            f"A {type(leaf).__name__} ({leaf!r}) was to be sent to other workers; expected tensors, arrays, numbers or text. "
            f"Send what it is made of."
        )
    kind = "tensor" if isinstance(leaf, tensor_type) else "scalar" if isinstance(leaf, np.generic) else "array"
    array = np.asarray(leaf)
    if array.dtype.kind in "OSU":
        return [kind, "text", array.shape, [_packed(one, tensor_type, buffers) for one in array.ravel().tolist()]]
    buffers.append(np.ascontiguousarray(array).tobytes())
    return [kind, array.dtype.name, array.shape, len(buffers[-1])]


def _unpacked(leaf: Any, source: _Source, to_tensor: Callable[[Array], Any]) -> Any:
    kind = leaf[0]
    if kind == "plain":
        return leaf[1]
    if kind == "bytes":
        return base64.b64decode(leaf[1])
    if kind == "complex":
        return complex(*leaf[1])
    if kind == "slices":
        return IndexedSlices(*(_unpacked(part, source, to_tensor) for part in leaf[1]))
    _, name, shape, rest = leaf
    if name == "text":
        array = np.array([_unpacked(one, source, to_tensor) for one in rest] + [None], object)[:-1].reshape(shape)
    else:
        array = np.frombuffer(source.take(rest), _dtype(name)).reshape(shape)
    return to_tensor(array) if kind == "tensor" else array[()] if kind == "scalar" else array.copy()


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(getattr(ml_dtypes, name))


def _outline(payload: Any) -> str:
    """The structure of a nest as a text that is the same in every process."""
    return nest.outline(nest.shape_of(payload))

"""Files of elements, which `Dataset.save` and `Dataset.cache` write: records, the first of which says what the others are."""

import json
import os
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import FailedPreconditionError
from refdist._core.devices.tensor import dtype_name
from refdist._core.input.readers import opened, records
from refdist._core.input.stage import UNKNOWN_CARDINALITY, Iteration, Stage
from refdist._core.input.tfrecord import TFRecordWriter
from refdist._core.replicas.specs import TensorSpec

_MAGIC = "refdist elements 1"


def write(
    path: str, elements: Iterable[Any], spec: Any, compression: str | None = None, share: str = ""
) -> Iterator[Any]:
    """Write elements while they are delivered; the file is there when the last one was, and never in part.

    Args:
        share: which part of the data these are, if not all.
    """
    beside, count = f"{path}.{os.getpid()}.tmp", 0
    try:
        with TFRecordWriter(beside, compression) as file:
            file.write(json.dumps({"kind": _MAGIC, "spec": _noted(spec), "share": share}).encode())
            for element in elements:
                for leaf in nest.flatten(element):
                    file.write(_encoded(np.asarray(leaf)))
                count += 1
                yield element
            file.write(b"end" + struct.pack("<Q", count))
        os.replace(beside, path)
    finally:
        if os.path.exists(beside):
            os.remove(beside)


class SavedElements(Stage):
    """The elements of a file."""

    name = "LoadDataset"

    def __init__(self, path: str, compression: str | None = None, share: str = "") -> None:
        super().__init__()
        self._path, self._compression = path, compression or ""
        note = json.loads(next(self._records()))
        if note.get("kind") != _MAGIC:
            raise FailedPreconditionError(
                f"The file {path!r} has other data; expected elements of a dataset. Correct its name."
            )
        if note["share"] != share:
            raise FailedPreconditionError(
                f"The file {path!r} has {note['share'] or 'all data'}, and {share or 'all data'} were to be read; expected a file "
                f"for each worker. Put the number of the worker into the name."
            )
        self._spec = _spec_of(note["spec"])
        self._leaves = nest.flatten(self._spec)

    def spec(self) -> Any:
        return self._spec

    def each(self, iteration: Iteration) -> Iterator[Any]:
        found = self._records()
        next(found)
        while not (first := next(found)).startswith(b"end"):
            parts = [first, *(next(found) for _ in self._leaves[1:])]
            arrays = [_decoded(data, leaf.dtype) for data, leaf in zip(parts, self._leaves, strict=True)]
            yield nest.pack_sequence_as(self._spec, arrays)

    def cardinality(self) -> int:
        with open(self._path, "rb") as file:
            if self._compression:
                return UNKNOWN_CARDINALITY
            file.seek(-12, os.SEEK_END)  # the last record, before its checksum
            return struct.unpack("<Q", file.read(8))[0]

    def _records(self) -> Iterator[bytes]:
        with opened(self._path, self._compression) as file:
            yield from records(file, self._path)


def _noted(spec: Any) -> Any:
    if isinstance(spec, dict):
        return {"dict": {key: _noted(part) for key, part in spec.items()}}
    if isinstance(spec, (tuple, list)):
        return {"tuple": [_noted(part) for part in spec]}
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"A file was to get elements {spec!r}; expected tensors. Take them apart in a map().")
    return {"shape": spec.shape, "dtype": dtype_name(spec.dtype)}


def _spec_of(note: Any) -> Any:
    if "dict" in note:
        return {key: _spec_of(part) for key, part in note["dict"].items()}
    if "tuple" in note:
        return tuple(_spec_of(part) for part in note["tuple"])
    return TensorSpec(note["shape"], note["dtype"])


def _encoded(array: Any) -> bytes:
    """The number of dimensions, the sizes, and the numbers or texts; a text has its length before it."""
    head = struct.pack(f"<B{array.ndim}Q", array.ndim, *array.shape)
    if array.dtype.kind != "O":
        return b"+" + head + np.ascontiguousarray(array).tobytes()
    texts = [bytes(one) for one in array.ravel().tolist()] if array.ndim else [bytes(array.item())]
    return b"+" + head + b"".join(struct.pack("<Q", len(text)) + text for text in texts)


def _decoded(data: bytes, dtype: Any) -> Any:
    rank = data[1]
    shape, rest = struct.unpack_from(f"<{rank}Q", data, 2), memoryview(data)[2 + 8 * rank :]
    if numpy_dtype(dtype).kind != "O":
        return np.frombuffer(rest, dtype).reshape(shape)
    array, place = np.empty(int(np.prod(shape)), object), 0
    for index in range(array.size):
        (size,) = struct.unpack_from("<Q", rest, place)
        array[index] = bytes(rest[place + 8 : place + 8 + size])
        place += 8 + size
    return array.reshape(shape)

"""`tf.io.parse_example` and its like: tensors from the bytes of `tf.train.Example`."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from refdist._core.base.convert import to_array
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.ops.byte_strings import Array, byte_string, byte_strings, string_tensor
from refdist._core.ops.tensor_functions import fresh

_LISTS = {"object": "bytes_list", "float32": "float_list", "int64": "int64_list"}


class FixedLenFeature(NamedTuple):
    """A feature that has the same shape in every example."""

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any length, which becomes a sparse tensor."""

    dtype: Any


class RaggedFeature(NamedTuple):
    """A feature of any length, which becomes a row of a ragged tensor, or the one tensor of a single example."""

    dtype: Any
    value_key: str | None = None
    partitions: Sequence[Any] = ()
    row_splits_dtype: Any = np.int32
    validate: bool = False


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of rows of one shape; those of a batch are padded to the longest."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: Any = None
) -> Any:
    """Make a dict of tensors from the bytes of one `tf.train.Example`."""
    data = byte_string(serialized, "parse_single_example()")
    return _parsed([data], _checked(features), None)


def parse_example(serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: Any = None) -> Any:
    """Make a dict of tensors from the bytes of several examples; each has one row for each example."""
    data = byte_strings(serialized, "parse_example()")
    if data.ndim > 1:
        raise InvalidArgumentError(
            f"parse_example() got byte strings of shape {data.shape}; expected one dimension. Flatten them with tf.reshape()."
        )
    return _parsed(data.ravel().tolist(), _checked(features), len(data) if data.ndim else None)


def _parsed(data: Sequence[bytes], features: Mapping[str, Any], count: int | None) -> dict[str, Any]:
    """The features of several examples, or of one without a dimension for it, where the count is None."""
    examples = [message_of("Example", one, index).features.feature for index, one in enumerate(data)]
    return {key: assembled(examples, key, features[key], count) for key in sorted(features)}


def _checked(features: Any) -> Mapping[str, Any]:
    if not features:
        raise ValueError(
            f"The features to parse are {features!r}; expected at least one. Pass a dict such as "
            f'{{"label": tf.io.FixedLenFeature([], tf.int64)}}.'
        )
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError(
                f"The FixedLenSequenceFeature {key!r} has allow_missing=False; expected True, because an example may lack it. Pass "
                f"allow_missing=True, or use FixedLenFeature."
            )
    return features


def message_of(kind: str, data: bytes, index: int) -> Any:
    """Read a message from its bytes."""
    made = importlib.import_module("refdist._core.files.messages").message(kind)()
    try:
        made.ParseFromString(data)
    except Exception as error:  # protobuf's own, which is loaded only here
        raise InvalidArgumentError(
            f"Byte string {index} is no tf.train.{kind} ({error}); expected what its SerializeToString() returns. Check the file, "
            f"and its compression_type."
        ) from error
    return made


def assembled(examples: Sequence[Any], key: str, feature: Any, count: int | None) -> Any:
    """One feature of several examples, or of one, where the count is None."""
    assemble = _ASSEMBLED.get(type(feature))
    if assemble is None:
        raise ValueError(
            f"The feature {key!r} is {feature!r}; expected a FixedLenFeature, VarLenFeature, RaggedFeature or "
            f"FixedLenSequenceFeature. Use one of these."
        )
    own = getattr(feature, "value_key", None) or key
    return assemble([values_of(one.get(own), own, feature.dtype) for one in examples], key, feature, count)


def values_of(feature: Any, key: str, wanted: Any) -> Array | None:
    """The values of one feature of one example; None if the example lacks it."""
    dtype = numpy_dtype(wanted)
    field = _LISTS.get(dtype.name)
    if field is None:
        raise InvalidArgumentError(
            f"The feature {key!r} was to be parsed as {dtype}; expected tf.string, tf.float32 or tf.int64, which examples consist "
            f"of. Parse one of these, and use tf.cast() or tf.io.decode_raw()."
        )
    kind = None if feature is None else feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind != field:
        raise InvalidArgumentError(
            f"The feature {key!r} has a {kind}; expected a {field}, for the dtype {dtype}. Correct the dtype of the feature."
        )
    found = getattr(feature, field).value
    array = np.empty(len(found), dtype)
    array[:] = found
    return array


def fixed_rows(rows: Sequence[Array | None], key: str, feature: FixedLenFeature, count: int | None) -> Any:
    """The values of all examples, which have one shape; those that lack it have the default."""
    shape = known_shape(key, feature.shape)
    dtype = numpy_dtype(feature.dtype)
    default = None if feature.default_value is None else _default(key, feature.default_value, shape, dtype)
    filled: list[Array] = []
    for index, found in enumerate(rows):
        row = default if found is None else found
        if row is None:
            raise InvalidArgumentError(
                f"Example {index} lacks the feature {key!r}; expected it, because it has no default. Give the feature a "
                f"default_value, or write it into every example."
            )
        if row.size != int(np.prod(shape)):
            raise InvalidArgumentError(
                f"The feature {key!r} of example {index} has {row.size} values; expected {int(np.prod(shape))}, for the shape "
                f"{shape}. Correct the shape, or use VarLenFeature or FixedLenSequenceFeature."
            )
        filled.append(row.reshape(shape))
    return tensor_of(filled[0] if count is None else np.stack(filled) if filled else np.empty((0, *shape), dtype))


def known_shape(key: str, shape: Any) -> tuple[int, ...]:
    """The sizes of a feature, all of which are to be known."""
    sizes = tuple(np.atleast_1d(np.asarray(shape, object)).tolist()) if np.ndim(shape) or np.size(shape) else ()
    if None in sizes:
        raise ValueError(
            f"The FixedLenFeature {key!r} has the shape {sizes}; expected known sizes. Use FixedLenSequenceFeature for rows of any "
            f"number."
        )
    return tuple(int(size) for size in sizes)


def _default(key: str, value: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    array = to_array(value, dtype)
    if array.size != int(np.prod(shape)):
        raise InvalidArgumentError(
            f"The default of the feature {key!r} has {array.size} values; expected {int(np.prod(shape))}, for the shape {shape}. "
            f"Write out all of them."
        )
    return array


def _sequence(rows: Sequence[Array | None], key: str, feature: FixedLenSequenceFeature, count: int | None) -> Any:
    shape, dtype = known_shape(key, feature.shape), numpy_dtype(feature.dtype)
    step = int(np.prod(shape))
    parts = [np.empty(0, dtype) if row is None else row for row in rows]
    for index, part in enumerate(parts):
        if part.size % step:
            raise InvalidArgumentError(
                f"The feature {key!r} of example {index} has {part.size} values; expected a multiple of {step}, for rows of the "
                f"shape {shape}. Correct the shape."
            )
    arrays = [part.reshape(-1, *shape) for part in parts]
    if count is None:
        return tensor_of(arrays[0])
    padding = feature.default_value if feature.default_value is not None else b"" if dtype.kind == "O" else 0
    whole = np.full((count, max(map(len, arrays), default=0), *shape), to_array(padding, dtype), dtype)
    for index, array in enumerate(arrays):
        whole[index, : len(array)] = array
    return tensor_of(whole)


def sparse_rows(rows: Sequence[Array | None], key: str, feature: VarLenFeature, count: int | None) -> Any:
    """The values of all examples, and where they are: (example, position), or the position alone."""
    parts = [np.empty(0, numpy_dtype(feature.dtype)) if row is None else row for row in rows]
    sizes = [len(part) for part in parts]
    where = [(index, at) if count is not None else (at,) for index, size in enumerate(sizes) for at in range(size)]
    indices = np.array(where, np.int64).reshape(-1, 1 if count is None else 2)
    longest = max(sizes, default=0)
    return sparse_tensor(indices, np.concatenate(parts), (longest,) if count is None else (count, longest))


def _ragged(rows: Sequence[Array | None], key: str, feature: RaggedFeature, count: int | None) -> Any:
    """The values of all examples, and where those of each begin; of one example the values alone."""
    if feature.partitions:
        raise NotImplementedError(
            f"The RaggedFeature {key!r} has partitions; expected none, so that each example is one row. Parse the lengths as "
            f"another feature, and use tf.RaggedTensor.from_row_lengths()."
        )
    parts = [np.empty(0, numpy_dtype(feature.dtype)) if row is None else row for row in rows]
    if count is None:
        return tensor_of(parts[0])
    kind: Any = importlib.import_module("refdist._core.ops.ragged_tensor").RaggedTensor
    splits = np.cumsum([0, *map(len, parts)]).astype(numpy_dtype(feature.row_splits_dtype))
    return kind(tensor_of(np.concatenate(parts)), splits)


def sparse_tensor(indices: Array, values: Array, shape: tuple[int, ...]) -> Any:
    """Make a sparse tensor of arrays."""
    try:
        kind = importlib.import_module("refdist._core.ops.sparse_tensor").SparseTensor
    except ModuleNotFoundError as error:
        raise NotImplementedError(
            f"A VarLenFeature was to become a sparse tensor of shape {shape}; expected a dense feature, because refdist has no "
            f"tf.SparseTensor. Use FixedLenSequenceFeature(shape, dtype, allow_missing=True)."
        ) from error
    return kind(tensor_of(indices), tensor_of(values), fresh(np.array(shape, np.int64)))


def tensor_of(array: Array) -> Any:
    """Make a tensor of an array, or of byte strings."""
    return string_tensor(array) if array.dtype == object else fresh(array)


_ASSEMBLED: dict[type, Callable[..., Any]] = {
    FixedLenFeature: fixed_rows,
    FixedLenSequenceFeature: _sequence,
    RaggedFeature: _ragged,
    VarLenFeature: sparse_rows,
}

"""`tf.io.parse_sequence_example` and its like: tensors from the bytes of `tf.train.SequenceExample`."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.files.example_parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
    assembled,
    fixed_rows,
    known_shape,
    message_of,
    sparse_tensor,
    tensor_of,
    values_of,
)
from refdist._core.ops.byte_strings import Array, byte_string, byte_strings

Features = Mapping[str, Any]
Row = list[Array]  # the values of each step of one example


def parse_single_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: Any = None,
    name: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make two dicts of tensors from the bytes of one `tf.train.SequenceExample`: its context, and its lists of features."""
    data = byte_string(serialized, "parse_single_sequence_example()")
    return _parsed([data], context_features, sequence_features, None)[:2]


def parse_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: Any = None,
    name: Any = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Make three dicts of tensors from the bytes of several sequence examples.

    They have the contexts, the lists of features, filled up to the longest, and how long those of a fixed shape were.
    """
    data = byte_strings(serialized, "parse_sequence_example()")
    if data.ndim > 1:
        raise InvalidArgumentError(
            f"parse_sequence_example() got byte strings of shape {data.shape}; expected one dimension. Flatten them with "
            f"tf.reshape()."
        )
    count = len(data) if data.ndim else None
    return _parsed(data.ravel().tolist(), context_features, sequence_features, count)


def _parsed(
    data: Sequence[bytes], context_features: Features | None, sequence_features: Features | None, count: int | None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    if not context_features and not sequence_features:
        raise ValueError(
            "No features of sequence examples were given; expected at least one. Pass context_features or sequence_features."
        )
    examples = [message_of("SequenceExample", one, index) for index, one in enumerate(data)]
    contexts = [one.context.feature for one in examples]
    context = {key: assembled(contexts, key, one, count) for key, one in sorted((context_features or {}).items())}
    lists: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    for key, feature in sorted((sequence_features or {}).items()):
        rows = _rows(examples, key, feature)
        if isinstance(feature, VarLenFeature):
            lists[key] = _sparse(rows, feature, count)
        elif isinstance(feature, RaggedFeature):
            lists[key] = _ragged(rows, feature, count)
        else:
            lists[key] = _padded(rows, key, feature, count)
            sizes = np.array([len(row) for row in rows], np.int64)
            lengths[key] = tensor_of(sizes if count is not None else sizes[0])
    return context, lists, lengths


def _rows(examples: Sequence[Any], key: str, feature: Any) -> list[Row]:
    """The values of each step of each example."""
    if not isinstance(feature, (FixedLenSequenceFeature, RaggedFeature, VarLenFeature)):
        raise ValueError(
            f"The sequence feature {key!r} is {feature!r}; expected a FixedLenSequenceFeature, RaggedFeature or VarLenFeature. Use "
            f"one of these."
        )
    own = getattr(feature, "value_key", None) or key
    rows: list[Row] = []
    for index, example in enumerate(examples):
        found = example.feature_lists.feature_list.get(own)
        if found is None and not getattr(feature, "allow_missing", True):
            raise InvalidArgumentError(
                f"Example {index} lacks the list of features {key!r}; expected it. Pass allow_missing=True, or write it."
            )
        steps = [] if found is None else [values_of(one, own, feature.dtype) for one in found.feature]
        rows.append([np.empty(0, numpy_dtype(feature.dtype)) if step is None else step for step in steps])
    return rows


def _padded(rows: list[Row], key: str, feature: FixedLenSequenceFeature, count: int | None) -> Any:
    """The steps of all examples, each of one shape; examples that are shorter than others are filled up."""
    shape, dtype = known_shape(key, feature.shape), numpy_dtype(feature.dtype)
    fixed = FixedLenFeature(feature.shape, feature.dtype)
    arrays = [np.asarray(fixed_rows(row, key, fixed, len(row))) for row in rows]
    if count is None:
        return tensor_of(arrays[0])
    whole = np.full((count, max(map(len, arrays), default=0), *shape), b"" if dtype.kind == "O" else 0, dtype)
    for index, array in enumerate(arrays):
        whole[index, : len(array)] = array
    return tensor_of(whole)


def _sparse(rows: list[Row], feature: VarLenFeature, count: int | None) -> Any:
    """The values of all examples, and where they are: (example, step, position), or without the example."""
    where = [
        (index, step, at)
        for index, row in enumerate(rows)
        for step, values in enumerate(row)
        for at in range(len(values))
    ]
    longest = max((len(row) for row in rows), default=0)
    widest = max((len(values) for row in rows for values in row), default=0)
    indices = np.array(where, np.int64).reshape(-1, 3)
    values = _joined(rows, feature)
    if count is None:
        return sparse_tensor(indices[:, 1:], values, (longest, widest))
    return sparse_tensor(indices, values, (count, longest, widest))


def _ragged(rows: list[Row], feature: RaggedFeature, count: int | None) -> Any:
    """The values of all examples as rows of steps; of one example the steps alone."""
    if feature.partitions:
        raise NotImplementedError(
            f"A RaggedFeature of a list has the partitions {feature.partitions!r}; expected none. Parse the lengths as another "
            f"feature, and use tf.RaggedTensor.from_row_lengths()."
        )
    kind: Any = importlib.import_module("refdist._core.ops.ragged_tensor").RaggedTensor
    dtype = numpy_dtype(feature.row_splits_dtype)
    steps = [len(values) for row in rows for values in row]
    inner = kind(tensor_of(_joined(rows, feature)), np.cumsum([0, *steps]).astype(dtype))
    return inner if count is None else kind(inner, np.cumsum([0, *map(len, rows)]).astype(dtype))


def _joined(rows: list[Row], feature: Any) -> Array:
    return np.concatenate([np.empty(0, numpy_dtype(feature.dtype)), *(values for row in rows for values in row)])

"""`tf.RaggedTensor`: rows of different lengths, kept as all their elements and the places where rows begin."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError, UnimplementedError
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.tensor_shape import TensorShape
from refdist._core.input.ragged_rows import RaggedRows, RaggedTensorSpec
from refdist._core.ops.shape_functions import gather
from refdist._core.ops.sparse_tensor import SparseTensor
from refdist._core.ops.tensor_functions import concat, constant, convert_to_tensor, fresh
from refdist._core.seam.draft import leave_draft_for_shape


class RaggedTensor:
    """Rows of different lengths.

    >>> import refdist as tf
    >>> tf.RaggedTensor.from_row_lengths(tf.constant([1, 2, 3]), [2, 0, 1])
    <tf.RaggedTensor [[1, 2], [], [3]]>
    """

    of_parts = True  # it is a value of a replica, though no single tensor

    def __init__(self, values: Any, row_splits: Any) -> None:
        splits = np.asarray(_known(row_splits), None if hasattr(row_splits, "dtype") else np.int64)
        own = values if isinstance(values, RaggedTensor) else convert_to_tensor(values)
        count = len(own) if isinstance(own, RaggedTensor) else own.shape[0]
        if (
            splits.ndim != 1
            or not splits.size
            or splits[0] != 0
            or (splits[1:] < splits[:-1]).any()
            or splits[-1] != count
        ):
            raise InvalidArgumentError(
                f"A RaggedTensor got the row splits {splits.tolist()} for {count} values; expected numbers from 0 up to {count}, "
                f"in order. Correct them, or use from_row_lengths()."
            )
        self._values, self._splits = own, splits

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: Any = None, validate: bool = True) -> "RaggedTensor":
        """Make rows of elements, given where each begins, and where the last one ends."""
        return cls(values, row_splits)

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: Any = None, validate: bool = True) -> "RaggedTensor":
        """Make rows of elements, given how long each is."""
        lengths = np.asarray(_known(row_lengths), None if hasattr(row_lengths, "dtype") else np.int64)
        return cls(values, np.concatenate([[0], np.cumsum(lengths)]).astype(lengths.dtype))

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: Any = None, validate: bool = True
    ) -> "RaggedTensor":
        """Make rows of elements, given in which row each is."""
        rows = np.asarray(_known(convert_to_tensor(value_rowids)))
        count = int(rows.max(initial=-1)) + 1 if nrows is None else int(nrows)
        return cls.from_row_lengths(values, np.bincount(rows, minlength=count))

    @classmethod
    def from_tensor(cls, tensor: Any, lengths: Any = None, padding: Any = None, **options: Any) -> "RaggedTensor":
        """Make rows of a tensor, each of them cut to a length, or before the padding at its end."""
        given = convert_to_tensor(tensor)
        if lengths is not None:
            kept = np.asarray(_known(convert_to_tensor(lengths))).tolist()
        elif padding is not None:
            wanted = np.asarray(_known(given)) != np.asarray(padding)
            kept = [
                int(np.flatnonzero(row).max(initial=-1)) + 1
                for row in wanted.reshape(*given.shape[:2], -1).any(axis=-1)
            ]
        else:
            kept = [given.shape[1]] * given.shape[0]
        mask = np.arange(given.shape[1]) < np.asarray(kept, np.int64)[:, None]
        return cls.from_row_lengths(given[mask], np.asarray(kept, np.int64))

    @classmethod
    def from_sparse(cls, st_input: SparseTensor, name: Any = None, row_splits_dtype: Any = np.int64) -> "RaggedTensor":
        """Make rows of a sparse matrix, the values of which stand at the beginnings of its rows."""
        rows = np.asarray(st_input.indices)[:, 0]
        made = cls.from_row_lengths(
            st_input.values, np.bincount(rows, minlength=st_input.shape[0]).astype(row_splits_dtype)
        )
        if made._places().tolist() != np.asarray(st_input.indices).tolist():
            raise InvalidArgumentError(
                f"from_sparse() got values at {np.asarray(st_input.indices).tolist()}; expected rows without gaps, in order. Use "
                f"tf.sparse.reorder(), or RaggedTensor.from_tensor() of tf.sparse.to_dense()."
            )
        return made

    @property
    def values(self) -> Any:
        """The rows, one after the other."""
        return self._values

    @property
    def flat_values(self) -> Any:
        """The elements of the innermost rows."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self) -> Any:
        """Where each row begins, and where the last one ends."""
        return fresh(self._splits)

    @property
    def ragged_rank(self) -> int:
        """How many dimensions have rows of different lengths."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def shape(self) -> TensorShape:
        """The sizes of the dimensions; None where rows differ."""
        return TensorShape([len(self), None, *list(self._values.shape)[1:]])

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._values.dtype

    def row_lengths(self, axis: int = 1, name: Any = None) -> Any:
        """How long each row is; of a dimension further inside, as a ragged tensor."""
        return fresh(np.diff(self._splits)) if axis == 1 else self.with_values(self._values.row_lengths(axis - 1))

    def nested_row_lengths(self, name: Any = None) -> tuple[Any, ...]:
        """How long rows are, of each dimension that has such, the outermost first."""
        return tuple(fresh(np.diff(splits)) for splits in self._nested_splits())

    def row_limits(self, name: Any = None) -> Any:
        """Where each row ends."""
        return fresh(self._splits[1:])

    def row_starts(self, name: Any = None) -> Any:
        """Where each row begins."""
        return fresh(self._splits[:-1])

    def value_rowids(self, name: Any = None) -> Any:
        """In which row each value is."""
        return fresh(np.repeat(np.arange(len(self)), np.diff(self._splits)))

    def nrows(self, out_type: Any = np.int64, name: Any = None) -> Any:
        """How many rows there are."""
        return fresh(np.array(len(self), out_type))

    def bounding_shape(self, axis: Any = None, name: Any = None, out_type: Any = None) -> Any:
        """The sizes of the smallest tensor that all rows fit into."""
        inner = self._values
        rest = np.asarray(inner.bounding_shape() if isinstance(inner, RaggedTensor) else inner.shape)[1:]
        sizes = np.array([len(self), np.diff(self._splits).max(initial=0), *rest], out_type or np.int64)
        return fresh(sizes if axis is None else sizes[axis])

    def to_tensor(self, default_value: Any = None, name: Any = None, shape: Any = None) -> Any:
        """Make a tensor of the rows, filled up with a value."""
        inner = self._values.to_tensor(default_value) if isinstance(self._values, RaggedTensor) else self._values
        wanted = [None, None] if shape is None else list(shape)[:2]
        rows = len(self) if wanted[0] is None else int(wanted[0])
        width = int(np.diff(self._splits).max(initial=0)) if wanted[1] is None else int(wanted[1])
        # The place behind the last value holds what rows are filled up with.
        nothing = b"" if inner.dtype.kind == "O" else 0
        filler = constant(nothing if default_value is None else default_value, inner.dtype, [1, *inner.shape[1:]])
        offsets = np.arange(width)
        places = np.full((rows, width), inner.shape[0])
        for row, (start, end) in enumerate(zip(self._splits[:rows], self._splits[1:], strict=False)):
            within = offsets < end - start
            places[row, within] = start + offsets[within]
        return concat([inner, filler], 0)[places]

    def to_sparse(self, name: Any = None) -> SparseTensor:
        """Make a sparse tensor, in which rows begin at 0."""
        if len(self.flat_values.shape) > 1:
            raise UnimplementedError(
                f"to_sparse() got a RaggedTensor of shape {self.shape}; expected rows of numbers. Use tf.sparse.from_dense() of "
                f"to_tensor()."
            )
        return SparseTensor(self._places(), self.flat_values, np.asarray(self.bounding_shape()))

    def _places(self) -> np.ndarray[Any, Any]:
        """The index of each element, in all dimensions."""
        columns = [np.arange(len(self))]
        for splits in self._nested_splits():
            lengths = np.diff(splits)
            within = np.arange(splits[-1]) - np.repeat(splits[:-1], lengths)
            columns = [*(np.repeat(column, lengths) for column in columns), within]
        return np.stack(columns, axis=1)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Put the rows of some dimensions, from one to another, one after the other."""
        rank = len(self.shape)
        outer, inner = outer_axis % rank, inner_axis % rank
        if not outer < inner <= self.ragged_rank:
            raise UnimplementedError(
                f"merge_dims() got the dimensions {outer_axis} to {inner_axis} of a RaggedTensor with {self.ragged_rank} of rows; "
                f"expected two or more of these. Use tf.reshape() of its flat_values."
            )
        if outer > 1:
            return self.with_values(self._values.merge_dims(outer - 1, inner - 1))
        made: Any = self
        for _ in range(inner - 1):  # take out the second dimension of rows
            made = RaggedTensor(made.values.values, np.asarray(made.values.row_splits)[np.asarray(made.row_splits)])
        return made.values if outer == 0 else made

    def to_list(self) -> list[Any]:
        """The rows as lists of Python."""
        return [row.to_list() if isinstance(row, RaggedTensor) else np.asarray(row).tolist() for row in self]

    def numpy(self) -> np.ndarray[Any, Any]:
        """The rows as an array of arrays, or one array if all have one length."""
        return self.host_parts().numpy()

    def host_parts(self) -> RaggedRows:
        """The elements and the row splits in numpy, as pipelines have them."""
        return RaggedRows(np.asarray(self.flat_values), self._nested_splits(), self._splits.dtype)

    @property
    def type_spec(self) -> RaggedTensorSpec:
        """The shape, the dtype, and how many dimensions have rows of different lengths."""
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._splits.dtype)

    _type_spec = type_spec  # what programs reach for in TensorFlow

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """Where rows begin, of each dimension that has such, the outermost first."""
        return tuple(map(fresh, self._nested_splits()))

    def _nested_splits(self) -> list[np.ndarray[Any, Any]]:
        inner = self._values
        return [self._splits, *(inner._nested_splits() if isinstance(inner, RaggedTensor) else ())]

    def with_values(self, new_values: Any) -> "RaggedTensor":
        """Rows of the same lengths, of other values."""
        return RaggedTensor(new_values, self._splits)

    def with_flat_values(self, new_values: Any) -> "RaggedTensor":
        """Rows of the same lengths, of other elements."""
        inner = self._values
        return self.with_values(inner.with_flat_values(new_values) if isinstance(inner, RaggedTensor) else new_values)

    def __len__(self) -> int:
        return len(self._splits) - 1

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        keys: list[Any] = list(key) if isinstance(key, tuple) else [key]
        first, rest = keys[0], keys[1:]
        if isinstance(first, slice):
            chosen = [self[place] for place in range(*first.indices(len(self)))]
            rows = [_inside(row, rest) for row in chosen]
            return (
                _rows(rows, self._values)
                if not rest or _keeps_dimension(rest[0])
                else concat([row[None] for row in rows], 0)
            )
        place = int(first)
        if not -len(self) <= place < len(self):
            raise IndexError(
                f"Row {place} of a RaggedTensor was asked for; expected one of its {len(self)} rows. Use another."
            )
        place %= len(self)
        row = self._values[int(self._splits[place]) : int(self._splits[place + 1])]
        return _inside(row, rest)

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor {self.to_list()}>"

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        raise TypeError(
            "A RaggedTensor was used as a tensor; expected rows of one length. Use to_tensor(), or its flat_values."
        )


def ragged_constant(
    pylist: Any, dtype: Any = None, ragged_rank: Any = None, inner_shape: Any = None, name: Any = None, **options: Any
) -> Any:
    """Make rows of lists of Python, all of whose dimensions but the first may differ."""
    depth = _depth(pylist) if ragged_rank is None else int(ragged_rank) + 1
    return _nested(pylist, depth, dtype)


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function to the elements of ragged tensors of one form."""
    first = next(one for one in (*args, *kwargs.values()) if isinstance(one, RaggedTensor))

    def flat(value: Any) -> Any:
        if isinstance(value, RaggedTensor):
            _require_alike(first, value)
            return value.flat_values
        return value

    return first.with_flat_values(op(*map(flat, args), **{name: flat(one) for name, one in kwargs.items()}))


def _nested(given: Any, depth: int, dtype: Any) -> Any:
    if depth <= 1:
        return constant(given, dtype)
    splits = np.concatenate([[0], np.cumsum([len(row) for row in given])]).astype(np.int64)
    inner: list[Any] = [one for row in given for one in row]
    return RaggedTensor(_nested(inner, depth - 1, dtype), splits)


def _depth(given: Any) -> int:
    if not isinstance(given, (list, tuple, np.ndarray)):
        return 0
    return 1 + max((_depth(one) for one in given), default=0)


def _rows(rows: list[Any], like: Any) -> RaggedTensor:
    lengths = np.array([len(row) for row in rows], np.int64)
    if any(isinstance(row, RaggedTensor) for row in rows):
        return RaggedTensor.from_row_lengths(_rows([one for row in rows for one in row], like.values), lengths)
    return RaggedTensor.from_row_lengths(concat(rows, 0) if rows else like[:0], lengths)


def _inside(row: Any, keys: list[Any]) -> Any:
    return row[tuple(keys) if len(keys) > 1 else keys[0]] if keys else row


def _keeps_dimension(key: Any) -> bool:
    return isinstance(key, slice)


def _require_alike(first: RaggedTensor, second: RaggedTensor) -> None:
    own, other = first.row_splits, second.row_splits
    if first.ragged_rank != second.ragged_rank or np.asarray(own).tolist() != np.asarray(other).tolist():
        raise InvalidArgumentError(
            f"Ragged tensors with the row splits {np.asarray(own).tolist()} and {np.asarray(other).tolist()} were combined; "
            f"expected rows of one length. Use to_tensor()."
        )


def _known(rows: Any) -> Any:
    """What says how long rows are, which only Python can find out in a program."""
    leave_draft_for_shape(
        rows, "A RaggedTensor got lengths of rows", "Make it outside, and pass to_tensor() and the lengths."
    )
    if is_tracer(rows):
        raise UnimplementedError(
            "A RaggedTensor got lengths of rows in a trace of JAX; expected known ones, because shapes depend on them. Make it "
            "outside, and pass to_tensor() and the lengths."
        )
    return rows


def element_wise(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function of each element to ragged tensors of one form, and to what fits beside their rows."""
    first = next(one for one in (*args, *kwargs.values()) if isinstance(one, RaggedTensor))
    own = [value if isinstance(value, RaggedTensor) else _beside(first, value) for value in args]
    return map_flat_values(function, *own, **kwargs)


def _beside(rows: RaggedTensor, value: Any) -> Any:
    """A number for all elements, or a tensor of one number for each row, as one for each element."""
    sizes = tuple(getattr(value, "shape", np.shape(value) if isinstance(value, (list, tuple)) else ()))
    if len(sizes) < len(rows.flat_values.shape):
        return value
    if sizes == (len(rows), 1) and rows.ragged_rank == 1:
        return gather(convert_to_tensor(value)[:, 0], rows.value_rowids())
    raise InvalidArgumentError(
        f"A RaggedTensor of shape {rows.shape} got a tensor of shape {sizes} beside it; expected a number, or a tensor of shape "
        f"{(len(rows), 1)}. Use to_tensor(), or a RaggedTensor with rows of the same lengths."
    )


def _operator(name: str) -> Any:
    function = getattr(operator, name)

    def operate(self: RaggedTensor, *others: Any) -> Any:
        if name in ("eq", "ne") and not hasattr(others[0], "dtype") and not isinstance(others[0], (int, float, str)):
            return NotImplemented  # nothing else is comparable
        return element_wise(function, self, *others)

    return operate


def _reflected(name: str) -> Any:
    function = getattr(operator, name)
    return lambda self, other: element_wise(lambda own, beside: function(beside, own), self, other)


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor")
for _name in (*_BINARY, "neg", "abs", "invert", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(RaggedTensor, f"__{_name.strip('_')}__", _operator(_name))
for _name in _BINARY:
    setattr(RaggedTensor, f"__r{_name.strip('_')}__", _reflected(_name))
RaggedTensor.__hash__ = object.__hash__  # an object of its own, as a tensor is

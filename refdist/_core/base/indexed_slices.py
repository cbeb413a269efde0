"""Slices of a larger tensor, for sparse updates."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from refdist._core.base.convert import cast, to_array
from refdist._core.base.jax_facts import is_jax, is_tracer


class IndexedSlices:
    """Slices of a larger tensor: `values[i]` belongs at `indices[i]` of the first dimension."""

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    def mapped(self, function: Callable[[Any], Any]) -> "IndexedSlices":
        """Apply a function to the values, the indices, and the shape of the whole, if that is there."""
        shape = self.dense_shape
        return IndexedSlices(function(self.values), function(self.indices), None if shape is None else function(shape))

    @property
    def likeness(self) -> str:
        """What slices of tensors must have in common to be joined, in words: how many there are may differ."""
        sizes = "".join(f",{size}" for size in self.values.shape[1:])
        return f"IndexedSlices {self.values.dtype}[:{sizes}] at {self.indices.dtype}"

    @classmethod
    def fitting(cls, verb: str, given: Any, shape: tuple[int, ...], dtype: Any) -> "IndexedSlices":
        """Return the same slices as arrays that fit into a variable, or raise."""
        if not isinstance(given, IndexedSlices) or not verb.startswith("scatter"):
            raise TypeError(
                f"{verb}() got a {type(given).__name__}; expected tf.IndexedSlices for scatter_add and its kin, and a "
                f"tensor for the others. Use the method that fits the value."
            )
        if is_jax(given.values) or is_jax(given.indices):
            return cls._of_jax(verb, given, shape, dtype)
        indices, values = np.asarray(given.indices), np.asarray(given.values)
        if indices.dtype.kind not in "iu":
            raise TypeError(
                f"{verb}() got indices of dtype {indices.dtype}; expected integers. Convert them with tf.cast()."
            )
        if not shape or indices.ndim != 1 or values.shape != (*indices.shape, *shape[1:]):
            raise ValueError(
                f"{verb}() got values of shape {values.shape} for {indices.size} indices; expected "
                f"{(indices.size, *shape[1:])}, one slice of a variable of shape {shape} for each index. Reshape the values."
            )
        if indices.size and not (0 <= indices.min() and indices.max() < shape[0]):
            raise ValueError(
                f"{verb}() got indices from {indices.min()} to {indices.max()}; expected 0 to {shape[0] - 1}. Correct them."
            )
        return cls(cast(values, np.dtype(dtype), given.values), indices)

    @classmethod
    def _of_jax(cls, verb: str, given: "IndexedSlices", shape: tuple[int, ...], dtype: Any) -> "IndexedSlices":
        """Do the same for tensors of JAX, without looking at their numbers, which may not be known yet."""
        values, indices = given.values, given.indices
        expected = (*np.shape(indices), *shape[1:])
        if not shape or len(np.shape(indices)) != 1 or np.shape(values) != expected or values.dtype != np.dtype(dtype):
            raise ValueError(
                f"{verb}() got values of shape {np.shape(values)} and dtype {values.dtype} for {np.shape(indices)} indices; "
                f"expected {expected} and {dtype}, one slice of a variable of shape {shape} for each index. Convert the values."
            )
        if not is_tracer(indices):
            known = np.asarray(indices)
            if known.size and not (0 <= known.min() and known.max() < shape[0]):
                raise ValueError(
                    f"{verb}() got indices from {known.min()} to {known.max()}; expected 0 to {shape[0] - 1}. Correct them."
                )
        return type(given)(values, indices)

    def inside(self, rows: int) -> Any:
        """Return whether all indices are those of rows, as a tensor for the program; None if that is known already."""
        return ((self.indices >= 0) & (self.indices < rows)).all() if is_tracer(self.indices) else None

    @classmethod
    def joined(cls, parts: Sequence["IndexedSlices"], divisor: int = 1) -> "IndexedSlices":
        """Join slices, and divide each value by a count."""
        values = np.concatenate([np.asarray(part.values) for part in parts])
        if divisor > 1:
            values = values / divisor  # floats stay what they are, and of integers nobody wants the mean
        return cls(values, np.concatenate([np.asarray(part.indices) for part in parts]))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, IndexedSlices)
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __str__(self) -> str:
        whole = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{whole})"


ARGUMENTS = "refdist.arguments"
"""Nests of arguments, in which slices are containers of two tensors, too; the shape of the whole is known to programs."""


def _taken_apart(slices: IndexedSlices) -> tuple[tuple[Any, Any], Any]:
    shape = slices.dense_shape
    if shape is not None and not is_tracer(shape):
        array = to_array(shape)
        shape = (array.dtype, tuple(array.tolist()))
    return (slices.values, slices.indices), shape


def _put_together(shape: Any, parts: Any) -> IndexedSlices:
    values, indices = parts
    return IndexedSlices(values, indices, shape if shape is None or is_tracer(shape) else np.array(shape[1], shape[0]))


_registered: Any = optree.register_pytree_node  # whose types know collections only
_registered(IndexedSlices, _taken_apart, _put_together, namespace=ARGUMENTS)


class ShardSlices(IndexedSlices):
    """Slices for one shard of a variable: indices beyond its end belong to other shards, and are dropped."""

    def inside(self, rows: int) -> Any:
        return None

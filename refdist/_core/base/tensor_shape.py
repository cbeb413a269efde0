"""Shapes in which sizes, or all of them, may be unknown."""

import math
import operator
from collections.abc import Iterator
from typing import Any


class TensorShape:
    """The sizes of a tensor's dimensions: None is any size, and a shape of None has any number of them.

    Tensors have tuples as shapes; this is for programs that make shapes, and it is equal to such tuples.

    >>> TensorShape([2, None]).is_compatible_with((2, 5)), TensorShape([2, 3]) == (2, 3)
    (True, True)
    """

    def __init__(self, dims: Any) -> None:
        if isinstance(dims, TensorShape):
            self._sizes: tuple[int | None, ...] | None = dims._sizes
        elif dims is None:
            self._sizes = None
        else:
            sizes = dims if hasattr(dims, "__iter__") else (dims,)
            self._sizes = tuple(None if size is None else operator.index(size) for size in sizes)
            if any(size is not None and size < 0 for size in self._sizes):
                raise ValueError(f"TensorShape() got {dims!r}; expected sizes of at least 0. Write None for any size.")

    @property
    def rank(self) -> int | None:
        """How many dimensions there are, or None."""
        return None if self._sizes is None else len(self._sizes)

    ndims = rank

    def as_list(self) -> list[int | None]:
        """The sizes as a list."""
        return list(self._known("as_list()"))

    def is_fully_defined(self) -> bool:
        """Say whether all sizes are known."""
        return self._sizes is not None and None not in self._sizes

    def num_elements(self) -> int | None:
        """How many elements such a tensor has, or None."""
        known = [size for size in self._sizes or () if size is not None]
        return math.prod(known) if self.is_fully_defined() else None

    def is_compatible_with(self, other: Any) -> bool:
        """Say whether a tensor could have both shapes."""
        mine, theirs = self._sizes, TensorShape(other)._sizes
        if mine is None or theirs is None:
            return True
        pairs = zip(mine, theirs, strict=False)
        return len(mine) == len(theirs) and all(a is None or b is None or a == b for a, b in pairs)

    def concatenate(self, other: Any) -> "TensorShape":
        """The dimensions of this shape, and then those of another."""
        more = TensorShape(other)._sizes
        return TensorShape(None if self._sizes is None or more is None else self._sizes + more)

    __add__ = concatenate

    def __radd__(self, other: Any) -> "TensorShape":
        return TensorShape(other).concatenate(self)

    def __getitem__(self, key: Any) -> Any:
        if self._sizes is None:
            return TensorShape(None) if isinstance(key, slice) else None
        return TensorShape(self._sizes[key]) if isinstance(key, slice) else self._sizes[key]

    def __iter__(self) -> Iterator[int | None]:
        return iter(self._known("iteration"))

    def __len__(self) -> int:
        return len(self._known("len()"))

    def __bool__(self) -> bool:
        return self._sizes is not None

    def __eq__(self, other: object) -> bool:
        try:
            return self._sizes == TensorShape(other)._sizes
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __str__(self) -> str:
        return "<unknown>" if self._sizes is None else str(self._sizes)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._sizes is None else list(self._sizes)})"

    def _known(self, what: str) -> tuple[int | None, ...]:
        if self._sizes is None:
            raise ValueError(f"{what} of a shape of unknown rank; expected a known one. Ask for its rank first.")
        return self._sizes


def get_shape(self: Any) -> TensorShape:
    """The shape of a tensor, with what a TensorShape has."""
    return TensorShape(tuple(self.shape))


def set_shape(self: Any, shape: Any) -> None:
    """Promise a shape, which may leave sizes open; a tensor has all its sizes already, so that they are only compared."""
    if not TensorShape(shape).is_compatible_with(tuple(self.shape)):
        raise ValueError(
            f"set_shape() got {tuple(TensorShape(shape))} for a tensor of shape {tuple(self.shape)}; expected sizes that it has, "
            f"or None. Use tf.reshape() to change them."
        )

"""Shapes in which sizes, or all of them, may be unknown."""

import importlib
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import optree

_REGISTRY: Any = importlib.import_module("optree.registry")
_EVERYWHERE: Any = vars(_REGISTRY)["__GLOBAL_NAMESPACE"]


class TensorShape:
    """The sizes of a tensor's dimensions: None is any size, and a shape of None has any number of them.

    Tensors have a `StaticShape`; this is for programs that make shapes, and it is equal to such tuples.

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
            try:
                self._sizes = tuple(None if size is None else operator.index(size) for size in sizes)
            except TypeError as error:
                raise TypeError(
                    f"The shape is {dims!r}; expected integers, with None for any size. Write it as a list: [2, 3]."
                ) from error
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

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise unless a tensor could have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} were compared; expected such that fit. Reshape one of them.")

    def assert_has_rank(self, rank: int) -> None:
        """Raise unless there could be so many dimensions."""
        if self.rank not in (None, rank):
            raise ValueError(f"The shape {self} has rank {self.rank}; expected rank {rank}. Reshape the tensor.")

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


class StaticShape(tuple[Any, ...], TensorShape):
    """The shape of a tensor: a tuple, which numpy and JAX take as one, with what a TensorShape can be asked.

    It has the truth of a tuple, so that the shape of a scalar is false; that of TensorFlow is true.

    >>> shape = StaticShape((2, 3))
    >>> shape.as_list(), shape.rank, shape[1:].as_list(), shape == [2, 3]
    ([2, 3], 2, [3], True)
    """

    __init__: Any = object.__init__  # what TensorShape keeps is the tuple itself
    __hash__ = tuple.__hash__
    __iter__, __len__ = tuple.__iter__, tuple.__len__
    __str__: Any = tuple.__repr__
    __repr__: Any = tuple.__repr__
    _sizes: Any = property(
        lambda self: tuple(size if isinstance(size, int) else None for size in self)
    )  # open ones are any
    rank: Any = property(tuple.__len__)
    ndims: Any = rank

    def __bool__(self) -> bool:
        return len(self) > 0

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return tuple.__ne__(self, tuple(other) if isinstance(other, list) else other)

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return StaticShape(found) if type(key) is slice else found

    def concatenate(self, other: Any) -> Any:
        """The dimensions of this shape, and then those of another."""
        return _joined(self, other)

    __add__ = concatenate

    def __radd__(self, other: Any) -> Any:
        # A list that is extended by a shape asks this first, and has to stay a list.
        return NotImplemented if isinstance(other, list) else _joined(other, self)

    def __reduce__(self) -> Any:
        return StaticShape, (tuple(self),)


SAME_SIZES: Callable[[Any, Any], bool] = tuple.__eq__  # of two shapes, without asking whether one of them is a list


def _joined(first: Any, second: Any) -> Any:
    """A static shape if all sizes are known; they may be symbols of JAX, which TensorShape takes as any size."""
    if all(isinstance(one, (tuple, list)) and not any(size is None for size in one) for one in (first, second)):
        return StaticShape((*first, *second))
    return TensorShape(tuple(first) if isinstance(first, StaticShape) else first).concatenate(second)


def shape_parts(shape: Any) -> tuple[tuple[Any, ...], None]:
    """The sizes of a shape, for nests: to these it is the tuple that it is made of."""
    return tuple(shape), None


def plain_shape(beside: Any, sizes: Any) -> Any:
    """The tuple of sizes that nests have in the place of a shape."""
    return tuple(sizes)


optree.register_pytree_node(StaticShape, shape_parts, plain_shape, namespace=_EVERYWHERE)


def get_shape(self: Any) -> StaticShape:
    """The shape of a tensor, with what a TensorShape has."""
    return StaticShape(self.shape)


def set_shape(self: Any, shape: Any) -> None:
    """Promise a shape, which may leave sizes open; a tensor has all its sizes already, so that they are only compared."""
    if not TensorShape(shape).is_compatible_with(tuple(self.shape)):
        raise ValueError(
            f"set_shape() got {tuple(TensorShape(shape))} for a tensor of shape {tuple(self.shape)}; expected sizes that it has, "
            f"or None. Use tf.reshape() to change them."
        )

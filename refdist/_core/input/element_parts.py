"""Ragged and sparse parts of an element: several arrays each, kept in numpy until a user's code or a replica gets them."""

import abc
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from refdist._core.base.later_rooms import ask


def tensor_kind(name: str) -> Any:
    """The class of ragged or of sparse tensors."""
    return ask("tensor_kind", name)


class Parts(abc.ABC):
    """What the stages of a pipeline ask of an array, for one that consists of several."""

    of_parts = True
    values: np.ndarray[Any, Any]

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int | None, ...]:
        """The sizes; None where rows differ."""

    @property
    @abc.abstractmethod
    def type_spec(self) -> Any:
        """What is known about such a tensor before it exists."""

    @abc.abstractmethod
    def __getitem__(self, index: Any) -> Any: ...

    @abc.abstractmethod
    def joined(self, group: Sequence[Any]) -> Self:
        """Put the rows of several one after the other."""

    @abc.abstractmethod
    def stacked(self, group: Sequence[Any]) -> Self:
        """Make a batch of several."""

    @abc.abstractmethod
    def mapped(self, function: Callable[[Any], Any]) -> Self:
        """The same with other values."""

    @abc.abstractmethod
    def tensor(self, put: Callable[[Any], Any]) -> Any:
        """Make the tensor, given what makes one of an array."""

    @abc.abstractmethod
    def numpy(self) -> np.ndarray[Any, Any]:
        """What an iterator of numpy delivers."""

    def host_parts(self) -> Self:
        """The same; tensors return their parts."""
        return self

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """How large the values are."""
        return self.values.nbytes

    def __len__(self) -> int:
        return self.shape[0] or 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        raise TypeError(
            f"An element has a {type(self.type_spec).__name__.removesuffix('Spec')}, where this needs a tensor; expected a single "
            f"array. Use to_tensor() or tf.sparse.to_dense() in a map() before."
        )


def numbers(index: Any, count: int) -> np.ndarray[Any, Any]:
    """The numbers of the rows that a slice or an array of numbers means."""
    return np.arange(*index.indices(count)) if isinstance(index, slice) else np.asarray(index)

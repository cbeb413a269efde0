"""Arrays of tensors of one shape, one of which is written at a time."""

import dataclasses
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError, OutOfRangeError
from refdist._core.base.jax_facts import is_jax, is_tracer
from refdist._core.base.where import HERE
from refdist._core.ops.shape_functions import gather
from refdist._core.ops.tensor_functions import cast, concat, constant, convert_to_tensor, stack
from refdist._core.replicas import context
from refdist._core.seam.draft import NeedsPython
from refdist._core.variables.tensors import current_value


@dataclasses.dataclass
class _Common:
    """What an array shares with those that are made from it, once it is known."""

    shape: tuple[int, ...] | None = None  # of the elements
    zeros: Any = None  # a row of zeros for each element


class TensorArray:
    """A list of tensors that a loop in a function can write; its size is known, unless it is written in Python.

    >>> import refdist as tf
    >>> array = tf.TensorArray(tf.float32, size=3)
    >>> for index in range(3):
    ...     array = array.write(index, 2.0 * index)
    >>> array.stack()
    <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0., 2., 4.], dtype=float32)>
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: Any = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: Any = None,
    ) -> None:
        self.dtype, self.dynamic_size = numpy_dtype(dtype), bool(dynamic_size)
        number = current_value(0 if size is None else size)
        if is_tracer(number):
            raise NeedsPython  # a compiled program knows all shapes; Python does not have to
        self._elements: list[Any] | None = [None] * int(number)  # None where a loop writes: then there is a buffer
        self._buffer: Any = None
        self._common = _Common()
        if element_shape is not None and None not in tuple(element_shape):
            self._common.shape = tuple(element_shape)

    @property
    def element_shape(self) -> tuple[int, ...] | None:
        """The shape of the elements, as far as it is known."""
        return self._common.shape

    # What a branch or a loop carries: a tensor with all elements as its rows.

    kind = property(lambda self: (TensorArray, self.dtype.name, self._count()), doc="What a loop may not change.")

    @property
    def parts(self) -> list[Any]:
        """The tensor, as a list; an empty one as long as no shape is known."""
        if self._buffer is not None:
            return [self._buffer]
        written = [one for one in self._elements or [] if one is not None]
        if written:
            return [self.stack()]
        if self._common.shape is None:
            return []
        if self._common.zeros is None:
            zeros = np.zeros((self._count(), *self._common.shape), self.dtype)
            self._common.zeros = context.backend().put(zeros, None)
        return [self._common.zeros]

    def with_parts(self, parts: Sequence[Any]) -> "TensorArray":
        """The same array with other elements."""
        made = self._copy()
        if parts:
            made._elements, made._buffer = None, parts[0]
        return made

    def write(self, index: Any, value: Any, name: Any = None) -> "TensorArray":
        """Replace an element, and return the array with it; outside of functions, that is the array itself."""
        place, element = current_value(index), self._element(value)
        made = self if HERE.get().draft is None else self._copy()
        if self._common.shape is None:
            self._common.shape = tuple(element.shape)
        if made._elements is not None and not is_tracer(place):
            made._put(int(place), element)
            return made
        if self.dynamic_size:
            raise NeedsPython  # the size of a part of a program cannot grow
        flow = importlib.import_module("refdist._core.compilers.control_flow")
        if not is_tracer(place):
            self._require_inside(int(place))
        elif (draft := HERE.get().draft) is not None:
            text = (
                f"A TensorArray of size {self._count()} got an index beyond it; expected a smaller one. Make it larger."
            )
            draft.require((place >= 0) & (place < self._count()), InvalidArgumentError, text)
        made._buffer, made._elements = flow.with_row(made._rows(element), place, element), None
        return made

    def _put(self, place: int, element: Any) -> None:
        assert self._elements is not None
        if self.dynamic_size and place >= len(self._elements):
            self._elements += [None] * (place + 1 - len(self._elements))
        self._require_inside(place)
        self._elements[place] = element

    def _rows(self, element: Any) -> Any:
        """The elements as rows, given another element that has their shape."""
        rows = self.parts[0]
        if tuple(rows.shape[1:]) != tuple(element.shape):
            raise ValueError(
                f"write() of a TensorArray got an element of shape {tuple(element.shape)}; expected {tuple(rows.shape[1:])}, the "
                f"shape of the others. Reshape it."
            )
        return rows

    def read(self, index: Any, name: Any = None) -> Any:
        """An element; zeros where none was written."""
        place = current_value(index)
        if self._elements is not None and not is_tracer(place):
            self._require_inside(int(place))
            found = self._elements[int(place)]
            return found if found is not None else self.stack()[int(place)]
        flow = importlib.import_module("refdist._core.compilers.control_flow")
        return flow.row_of(self.stack(), place)

    def stack(self, name: Any = None) -> Any:
        """All elements as one tensor."""
        if self._elements is None:
            return self._buffer
        shape = self.element_shape
        if shape is None and not self._elements:
            shape = ()  # as in TensorFlow outside of functions
        if shape is None:
            raise ValueError(
                "stack() of a TensorArray was called before an element was written; expected one, or element_shape=..., because "
                "the shape is not known. Write an element first."
            )
        if not self._elements:
            return convert_to_tensor(np.zeros((0, *shape), self.dtype))
        empty = constant(np.zeros(shape, self.dtype))
        return stack([empty if one is None else one for one in self._elements])

    def unstack(self, value: Any, name: Any = None) -> "TensorArray":
        """The array with the rows of a tensor as its elements."""
        tensor = self._element(value)
        made = self._copy()
        made._common.shape = tuple(tensor.shape[1:])
        made._elements = [tensor[place] for place in range(tensor.shape[0])]
        made._buffer = None
        return made

    def gather(self, indices: Any, name: Any = None) -> Any:
        """Some elements as one tensor."""
        return gather(self.stack(), indices)

    def scatter(self, indices: Any, value: Any, name: Any = None) -> "TensorArray":
        """The array with the rows of a tensor as elements at indices."""
        made, tensor = self, self._element(value)
        for row, index in enumerate(np.asarray(indices).tolist()):
            made = made.write(index, tensor[row])
        return made

    def concat(self, name: Any = None) -> Any:
        """All elements joined along their first dimension."""
        if self._elements is not None:
            return concat([one for one in self._elements if one is not None], 0)
        rows = self.stack()
        return rows.reshape((-1, *rows.shape[2:]))

    def size(self, name: Any = None) -> Any:
        """How many elements there are, as a tensor."""
        return constant(self._count())

    def identity(self) -> "TensorArray":
        """The array itself."""
        return self

    def __len__(self) -> int:
        return self._count()

    def _count(self) -> int:
        return self._buffer.shape[0] if self._elements is None else len(self._elements)

    def _copy(self) -> "TensorArray":
        made = object.__new__(TensorArray)
        made.__dict__.update(self.__dict__, _elements=None if self._elements is None else list(self._elements))
        return made

    def _element(self, value: Any) -> Any:
        tensor = convert_to_tensor(current_value(value))
        if tensor.dtype != self.dtype:
            if (
                is_jax(tensor)
                and (tensor.dtype.kind, tensor.dtype.itemsize) == (self.dtype.kind, self.dtype.itemsize // 2)
                and self.dtype.itemsize == 8
            ):
                self.dtype = tensor.dtype  # JAX has cut 64 bits to 32
                return tensor
            if hasattr(value, "dtype"):
                raise InvalidArgumentError(
                    f"A TensorArray of {self.dtype} got an element of {tensor.dtype}; expected the same dtype. Use tf.cast()."
                )
            return cast(tensor, self.dtype)
        return tensor

    def _require_inside(self, place: int) -> None:
        if not 0 <= place < self._count():
            raise OutOfRangeError(
                f"A TensorArray of size {self._count()} got the index {place}; expected 0 to {self._count() - 1}. Make it larger, "
                f"or pass dynamic_size=True."
            )

"""The class that tensors of all backends are instances of."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base.jax_facts import is_jax
from refdist._core.base.operators import Operators
from refdist._core.devices.tensor import Tensor as SimulatedTensor


class _Tensors(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, SimulatedTensor) or is_jax(instance)


class Tensor(Operators, metaclass=_Tensors):
    """What tensors are instances of: those of the simulator, and arrays of JAX, which have classes of their own.

    >>> import refdist as tf
    >>> isinstance(tf.constant(1.0), tf.Tensor)
    True
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> "Tensor":
        raise TypeError("tf.Tensor() was called; expected a function that makes tensors. Use tf.constant().")

    if TYPE_CHECKING:  # what all of these classes have; jax.Array and numpy.ndarray have more

        @property
        def device(self) -> Any: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...
        @property
        def ndim(self) -> int: ...
        @property
        def shape(self) -> Any: ...
        def get_shape(self) -> Any: ...
        def numpy(self) -> Any: ...
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]: ...
        def __getitem__(self, key: Any) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __len__(self) -> int: ...

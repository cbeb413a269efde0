"""A tensor of numpy numbers that a tape watches: while one records, JAX computes with it, and the tape sees that."""

import importlib
import weakref
from typing import Any

import numpy as np

from refdist._core.base.where import HERE
from refdist._core.devices.tensor import Tensor


class WatchedTensor(Tensor):
    """A tensor whose operations JAX carries out, while a tape records."""

    __slots__ = ()

    def recorded(self) -> Any:
        """The array that stands for the tensor; None if no tape records."""
        tapes = HERE.get().tapes
        return None if tapes is None else tapes.tensor(self)

    @property
    def T(self) -> Any:  # noqa: N802, numpy's name
        """The transposed tensor."""
        return self.transpose()

    def __jax_array__(self) -> Any:
        array = self.recorded()
        return np.asarray(self) if array is None or array is self else array

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        array = self.recorded()
        if array is None or method != "__call__":
            plain = [np.asarray(one).view(Tensor) if type(one) is WatchedTensor else one for one in inputs]
            return getattr(function, method)(*plain, **kwargs)
        recorded = [one.__jax_array__() if isinstance(one, WatchedTensor) else one for one in inputs]
        return getattr(array.__array_namespace__(), function.__name__)(*recorded, **kwargs)


def _method(name: str) -> Any:
    plain = getattr(Tensor, name)

    def method(self: WatchedTensor, *args: Any, **kwargs: Any) -> Any:
        array = self.recorded()
        return plain(self, *args, **kwargs) if array is None else getattr(array, name)(*args, **kwargs)

    return method


_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_METHODS = (
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "reshape",
    "astype",
    "transpose",
    "squeeze",
    "flatten",
    "ravel",
    "dot",
    "var",
    "std",
)
_NAMES = (
    *(f"__{side}{name}__" for name in _OPERATORS for side in ("", "r")),
    *(f"__{name}__" for name in (*_COMPARISONS, "neg", "abs", "getitem")),
    *_METHODS,
)
for _name in _NAMES:
    setattr(WatchedTensor, _name, _method(_name))


_twins: dict[int, tuple[weakref.ref[Any], weakref.ref[Any]]] = {}  # tensors, and the arrays that stand for them, by id


def twin(tensor: Tensor) -> Any:
    """The array that stands for a tensor in any tape that is still there; None if there is none."""
    known = _twins.get(id(tensor))
    return None if known is None or known[0]() is not tensor else known[1]()


def remember_twin(tensor: Tensor, array: Any) -> None:
    """Remember an array as long as a tape keeps it, so that the next tape takes the same one, and sees what this one does."""
    key = id(tensor)
    _twins[key] = weakref.ref(tensor), weakref.ref(array, lambda gone: _forget(key, gone))


def _forget(key: int, gone: Any) -> None:
    if key in _twins and _twins[key][1] is gone:
        del _twins[key]


def watched(tensor: Tensor) -> Tensor:
    """Make a tensor one whose operations are recorded; it stays the same object, which the user holds."""
    if type(tensor) is Tensor:
        operations: Any = importlib.import_module("refdist._core.compilers.recorded_operations")
        operations.take_as_arrays(WatchedTensor, WatchedTensor.__jax_array__)
        tensor.__class__ = WatchedTensor
    return tensor

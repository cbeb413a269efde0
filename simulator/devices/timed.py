"""Tensors of devices that keep time."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.where import HERE
from refdist._core.devices.logical_layout import LaidOut
from refdist._core.devices.tensor import Tensor

if TYPE_CHECKING:
    from simulator.devices.cluster_backend import ClusterBackend

_PRODUCTS = (np.dot, np.inner, np.vdot, np.tensordot)


class TimedTensor(Tensor):
    """A tensor of a cluster: computing with it takes time on the device that does it."""

    __slots__ = ("_owner", "ready")
    _owner: "ClusterBackend | None"  # None until a backend has claimed it
    ready: float  # when its numbers are there, where an exchange in the background brings them

    @classmethod
    def of(cls, tensor: Tensor, owner: "ClusterBackend", ready: float) -> "TimedTensor":
        """A tensor as one of a cluster, whose numbers are there from some time on."""
        timed = tensor.view(cls)
        timed.flags.writeable = False
        timed.lies_on, timed._owner, timed.ready = tensor.lies_on, owner, ready
        return timed

    def __array_finalize__(self, source: Any) -> None:
        super().__array_finalize__(source)
        self._owner = getattr(source, "_owner", None)
        self.ready = getattr(source, "ready", 0.0)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Tensor) for x in kwargs.get("out", ())):
            raise TypeError(
                f"{ufunc.__name__} was to write into a tensor; expected no change, because tensors are immutable. Leave out= away."
            )
        plain = [_plain(x) for x in inputs]
        self._await([*inputs, kwargs.get("where")])
        result = getattr(ufunc, method)(*plain, **{name: _plain(x) for name, x in kwargs.items()})
        if result is NotImplemented:
            return result
        results = result if isinstance(result, tuple) else (result,)
        laid_out = next((x for x in inputs if isinstance(x, LaidOut)), None)
        if laid_out is not None:
            made = [laid_out.like(np.asarray(x)) for x in results]
            return tuple(made) if isinstance(result, tuple) else made[0]
        operations = 2.0 * results[0].size * np.shape(plain[0])[-1] if ufunc is np.matmul else None
        made = self._made(ufunc.__name__, plain, results, operations, kwargs.get("out", ()))
        return tuple(made) if isinstance(result, tuple) else made[0]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(issubclass(kind, LaidOut) for kind in types):
            return NotImplemented  # the tensor with a layout knows what to do
        tensors: list[Tensor] = []
        given = nest.map_structure(lambda x: _noted(x, tensors), (args, kwargs))
        plain = [_plain(x) for x in tensors]
        result = function(*given[0], **given[1])
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        new = [x for x in results if isinstance(x, (np.ndarray, np.generic))]
        if any(np.may_share_memory(x, y) for x in new if isinstance(x, np.ndarray) for y in plain):
            return self._view(np.ndarray.__array_function__(self, function, types, args, kwargs))
        if not new:
            return result
        self._await(tensors)
        operations = _operations(function, given[0], plain, new)
        made = self._made(function.__name__, plain, results, operations, [kwargs.get("out")])
        if not isinstance(result, (tuple, list)):
            return made[0]
        kind: Any = type(result)
        return kind._make(made) if hasattr(kind, "_make") else kind(made)

    def __getitem__(self, key: Any) -> Any:
        result = super().__getitem__(key)
        if np.may_share_memory(np.asarray(result), np.asarray(self)) or not isinstance(result, TimedTensor):
            return result
        self._await([self])
        return self._made("getitem", [], [np.asarray(result)], None)[0]  # what is picked out is a tensor of its own

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        result = np.asarray(self).astype(*args, **kwargs)
        if np.may_share_memory(result, np.asarray(self)):
            return self
        self._await([self])
        return self._made("astype", [np.asarray(self)], [result], None)[0]

    def like(self, array: np.ndarray[Any, Any]) -> Tensor:
        tensor = super().like(array)
        return tensor if self._owner is None else self._owner.claimed(tensor)

    def _view(self, result: Any) -> Any:
        """A result that only shows numbers that are there already, and so costs nothing."""
        if type(result) is not np.ndarray:
            return result
        view = result.view(TimedTensor)  # functions such as broadcast_to forget the subclass
        view.flags.writeable = False
        view.lies_on, view._owner, view.ready = HERE.get().device or self.lies_on, self._owner, self.ready
        return view

    def _await(self, inputs: Sequence[Any]) -> None:
        """Let the device wait for what it computes with."""
        if self._owner is not None:
            self._owner.await_tensors(inputs, HERE.get().device or self.lies_on)

    def _made(
        self, name: str, inputs: Sequence[Any], results: Sequence[Any], operations: float | None, written: Any = ()
    ) -> list[Any]:
        """Charge the device for what it has computed, and make tensors of the results."""
        owner, device = self._owner, HERE.get().device or self.lies_on
        if owner is None:
            return list(results)
        arrays = [x for x in [*inputs, *results] if isinstance(x, (np.ndarray, np.generic))]
        if operations is None:
            operations = float(max((x.size for x in arrays), default=0))
        owner.charge(owner.clock.roofline(operations, float(sum(x.nbytes for x in arrays))), name, device)
        return [
            owner.put(x, device)
            if isinstance(x, (np.ndarray, np.generic)) and not any(x is one for one in written)
            else x
            for x in results
        ]


def _as_function(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: TimedTensor, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    return method


# Methods that numpy would compute behind the tensor's back, or by writing into it.
for _name in "mean var std dot argmax argmin argsort take repeat trace compress searchsorted".split():  # noqa: SIM905
    setattr(TimedTensor, _name, _as_function(_name))


def ready_of(x: Any) -> float:
    """When the numbers of a tensor are there, or those of an array that shows a tensor, as JAX takes it."""
    while x is not None:
        if isinstance(x, TimedTensor):
            return x.ready
        x = getattr(x, "base", None)
    return 0.0


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Tensor) else x


def _noted(x: Any, tensors: list[Tensor]) -> Any:
    """The array in a tensor, after noting the tensor among those that a function takes."""
    if isinstance(x, Tensor):
        tensors.append(x)
    return _plain(x)


def _operations(function: Any, args: Any, inputs: Sequence[Any], results: Sequence[Any]) -> float | None:
    """The multiplications and additions of a product; None for a function that does one operation for each number."""
    if function in _PRODUCTS and len(args) >= 2:
        # Of M x K, K x N and M x N numbers, the product is the square of M x N x K.
        return 2.0 * math.sqrt(math.prod(float(np.size(x)) for x in (*args[:2], results[0])))
    if function is np.einsum and isinstance(args[0], str) and "." not in args[0]:
        terms = args[0].replace(" ", "").split("->")[0].split(",")
        sizes = {
            letter: size
            for term, x in zip(terms, args[1:], strict=False)
            for letter, size in zip(term, np.shape(x), strict=False)
        }
        return float(len(terms) * math.prod(sizes.values()))
    return None

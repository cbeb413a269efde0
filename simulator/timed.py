"""Tensors of devices that keep time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist.device import PLACEMENT
from refdist.tensor import Tensor

if TYPE_CHECKING:
    from simulator.backend import SimulatorBackend


class TimedTensor(Tensor):
    """A tensor of a cluster: computing with it takes time on the device that does it."""

    __slots__ = ("_owner",)
    _owner: "SimulatorBackend | None"

    def __array_finalize__(self, source: Any) -> None:
        super().__array_finalize__(source)
        self._owner = getattr(source, "_owner", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            raise TypeError(
                f"{ufunc.__name__} was to write into a tensor; expected no change, because tensors are immutable."
            )
        plain = [x.view(np.ndarray) if isinstance(x, Tensor) else x for x in inputs]
        result = getattr(ufunc, method)(*plain, **kwargs)
        if result is NotImplemented:
            return result
        owner = next((x._owner for x in inputs if isinstance(x, TimedTensor) and x._owner is not None), None)
        device = PLACEMENT.get() or next(x._device for x in inputs if isinstance(x, TimedTensor))
        results = result if isinstance(result, tuple) else (result,)
        if owner is not None and owner.clock is not None:
            flops, moved = _cost(ufunc, plain, results)
            owner.charge(owner.clock.roofline(flops, moved), ufunc.__name__, device)
            results = tuple(owner.put(x, device) if isinstance(x, (np.ndarray, np.generic)) else x for x in results)
        return results if isinstance(result, tuple) else results[0]


def _cost(ufunc: Any, inputs: Sequence[Any], results: Sequence[Any]) -> tuple[float, float]:
    """Operations, and bytes read and written."""
    arrays = [x for x in [*inputs, *results] if isinstance(x, (np.ndarray, np.generic))]
    moved = float(sum(x.nbytes for x in arrays))
    if ufunc is np.matmul:
        return 2.0 * results[0].size * inputs[0].shape[-1], moved
    return float(max((x.size for x in arrays), default=0)), moved

"""Reduces a per-replica value over replicas, and over an axis of each component too."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base.enums import ReduceOp
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import mean_dtype
from refdist._core.replicas.values import PerReplica
from refdist._core.strategies.cross_device_ops import divided, require_numbers
from refdist._core.variables.placement import Placement

if TYPE_CHECKING:
    from refdist._core.strategies.verbs import StrategyExtended


def reduce_axes(extended: "StrategyExtended", op: ReduceOp, value: Any, axis: Any) -> Any:
    """Combine the examples along an axis, then the replicas; MEAN divides by the true number of examples."""
    tensors = extended.components(value)
    axes = _axes(axis, tensors)
    sums = [_sum(tensor, axes) for tensor in tensors]
    if extended.plan.placement is Placement.PLAIN:
        total = sums[0]
    else:
        total = extended.reduce(ReduceOp.SUM, PerReplica(sums))
    if op is ReduceOp.SUM:
        return total.astype(tensors[0].dtype)
    count = sum(extended.from_all_workers("reduce", [math.prod(tensor.shape[a] for a in axes) for tensor in tensors]))
    dtype, draft = mean_dtype(tensors[0].dtype), HERE.get().draft
    if draft is not None:
        draft.require_wide(dtype)
    whole = tensors[0].dtype.kind in "iu"
    quotient = divided(total, count)
    return quotient if whole else quotient.astype(dtype)


def _axes(axis: Any, tensors: Sequence[Any]) -> tuple[int, ...]:
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for index, tensor in enumerate(tensors):
        rank = len(tensor.shape)
        for one in axes:
            if not isinstance(one, (int, np.integer)) or isinstance(one, bool) or not -rank <= one < rank:
                there = (
                    f"None, or dimensions from {-rank} to {rank - 1}"
                    if rank
                    else "None, because a scalar has no dimensions"
                )
                raise ValueError(
                    f"reduce() got axis={axis!r} for a value of shape {tuple(tensor.shape)} on replica {index}; expected "
                    f"{there}. Use axis=None for a value without a batch dimension."
                )
    rank = len(tensors[0].shape)
    if any(len(tensor.shape) != rank for tensor in tensors):
        raise ValueError(
            f"reduce() got values of shapes {', '.join(str(tuple(t.shape)) for t in tensors[:8])}; expected the same number of "
            f"dimensions on all replicas. Return values of one rank."
        )
    found = tuple(sorted({int(one) % rank for one in axes}))
    if len(found) != len(axes):
        raise ValueError(
            f"reduce() got axis={axis!r}, which names a dimension twice; expected each once. Drop one of them."
        )
    return found


def _sum(tensor: Any, axes: tuple[int, ...]) -> Any:
    require_numbers(tensor.dtype)
    # Sixteen bits are too few for a long sum; other dtypes are kept, whereas numpy would widen integers.
    narrow = tensor.dtype.itemsize == 2 and tensor.dtype.kind not in "iu"
    return tensor.sum(axis=axes, dtype=np.float32 if narrow else tensor.dtype)

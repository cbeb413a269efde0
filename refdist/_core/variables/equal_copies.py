"""Refuses what would make the copies of a variable differ."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.devices.tensor import Tensor, sizes_of
from refdist._core.replicas.values import DistributedValues
from refdist._core.variables.variable import Variable


def require_equal(variable: Variable, verb: str, operands: Sequence[Any]) -> None:
    """Raise if the copies of a mirrored variable would diverge."""
    first = operands[0]
    # Without a call for each of these, because most writes of replicas are of such tensors, and have little time for it.
    bits = first.tobytes() if len(operands) > 1 and type(first) is Tensor and first.dtype.kind != "O" else None
    for index, operand in enumerate(operands):
        if operand is first:
            continue  # while a program is written, one tensor stands for all of them, and has no bits
        if bits is not None and type(operand) is Tensor:
            equal = bits == operand.tobytes() and sizes_of(first) == sizes_of(operand)
        else:
            equal = _bits(first) == _bits(operand)
        if not equal:
            raise ValueError(
                f"{verb}() of {variable.name!r} got different values from replica 0 and replica {index}, with aggregation "
                f"{variable.aggregation.name}; expected equal ones, because its copies must stay equal. Combine them first with "
                f"all_reduce(), or pass aggregation=... when you make the variable."
            )


def require_one_value(variable: Variable, argument: Any) -> None:
    """Raise if a variable with one copy is given an argument that differs from replica to replica."""
    if not isinstance(argument, DistributedValues) or argument.is_variable:
        return
    first, *others = [_bits(value) if hasattr(value, "__array__") else value for value in argument.values]
    for index, other in enumerate(others, 1):
        if other != first:
            raise ValueError(
                f"update() of {variable.name!r} got an argument that differs between replica 0 and replica {index}; expected one "
                f"value, because the variable has one copy. Combine it first, with strategy.reduce()."
            )


def _bits(tensor: Any) -> Any:
    if isinstance(tensor, IndexedSlices):
        return _bits(tensor.values), _bits(tensor.indices)
    array = np.asarray(tensor)
    return array.shape, array.tolist() if array.dtype.kind == "O" else array.tobytes()

"""How a value that is assigned to a sum is shared out among its copies."""

from collections.abc import Sequence
from typing import Any

from refdist._core.base.where import HERE


def shares_of_sum(variable: Any, operands: Sequence[Any], count: int) -> list[Any]:
    """Divide a sum among the copies, so that these add up to it: the first one takes what is left over of integers."""
    kind = operands[0].dtype.kind
    if kind in "bO":
        raise TypeError(
            f"assign() of {variable.name!r} got a value of dtype {operands[0].dtype}; expected a number, because the variable is "
            f"the sum of {count} copies. Use another aggregation."
        )
    if kind not in "iu":
        return [operand / count for operand in operands]
    shares = [((operand > 0) * 2 - 1).astype(operand.dtype) * (abs(operand) // count) for operand in operands]
    whole, draft = shares[0] + (operands[0] - shares[0] * count), HERE.get().draft
    if draft is not None:
        return [draft.on_first_replica(whole, shares[0])]
    return [whole, *shares[1:]] if variable.strategy.extended.plan.first_replica == 0 else shares

"""Values that all workers of this process have in hand at the same time, and what one of them computes for all."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

R = TypeVar("R")


class CommonValues(tuple[Any, ...]):
    """What all replicas of all workers have brought to a meeting: one object, which each of the workers gets.

    Every worker makes the same of it. With hundreds of workers, each of which has thousands of values to add up, that is
    nearly all of the time of a step, so the first worker does it for all.
    """

    made: dict[Hashable, Any]

    def __new__(cls, values: Iterable[Any]) -> "CommonValues":
        common = super().__new__(cls, values)
        common.made = {}
        return common


def once(values: Sequence[Any], what: Hashable, compute: Callable[[], R]) -> R:
    """Compute something from values; or, if other workers have the very same ones, take what the first of them has computed.

    Args:
        what: tells apart what is computed from the same values: an operation, an axis.
        compute: must depend on the values alone, and not on the worker.

    >>> common = CommonValues([1, 2])
    >>> once(common, "sum", lambda: sum(common)), once(common, "sum", lambda: 0), once([1, 2], "sum", lambda: 0)
    (3, 3, 0)
    """
    if type(values) is not CommonValues:
        return compute()
    if what not in values.made:
        values.made[what] = compute()
    return values.made[what]

"""What stands for a variable where replicas meet to write it."""

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refdist._core.variables.distributed_variable import DistributedVariable


class Target:
    """What stands for a variable in the meetings that write to it."""

    __slots__ = ("_variable",)

    def __init__(self, variable: "DistributedVariable") -> None:
        # Which has this, and would else be kept until the next collection of garbage.
        self._variable = weakref.ref(variable)

    @property
    def variable(self) -> "DistributedVariable":
        found = self._variable()
        assert found is not None, "who meets to write a variable has it"
        return found

    def __str__(self) -> str:
        return repr(self.variable.name)

"""Variables with several copies, which a policy keeps in agreement."""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from refdist._core.base.where import HERE
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues
from refdist._core.variables.variable import Operation, Variable

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase
    from refdist._core.variables.policies import Policy


class DistributedVariable(Variable):
    """A variable whose copies a policy keeps in agreement."""

    def __init__(self, strategy: "StrategyBase", copies: Sequence[Variable], policy: "type[Policy]") -> None:
        self._strategy = strategy
        self._container = None
        self._values = tuple(copies)
        self.held = ([copy.stored for copy in copies], None, None)
        self._policy = policy
        first = self._values[0]
        self._backend, self._name = first._backend, first._name
        self._trainable, self._synchronization, self._aggregation = (
            first.trainable,
            first.synchronization,
            first.aggregation,
        )

    shape = property(lambda self: self._values[0].shape)
    dtype = property(lambda self: self._values[0].dtype)
    ndim = property(lambda self: len(self.shape))

    @property
    def copies(self) -> tuple[Variable, ...]:
        # In a trace the first stands for all: it is the one of the replica that the program is written for.
        return self._values if HERE.get().draft is None else self._values[:1]

    @property
    def all_copies(self) -> tuple[Variable, ...]:
        """The same, also in a trace."""
        return self._values

    @property
    def strategy(self) -> "StrategyBase":
        """The strategy in whose scope the variable was made."""
        assert self._strategy is not None
        return self._strategy

    @property
    def device(self) -> str:
        """The device of the replica's own copy, and of the first one elsewhere."""
        replica = self._replica()
        if replica is not None and HERE.get().draft is not None and len(self._values) > 1:
            number: Any = replica.replica_id_in_sync_group
            return self._values[number if isinstance(number, int) else 0].device
        return self._own().device

    def __deepcopy__(self, memo: dict[int, Any]) -> "Variable":
        clone = super().__deepcopy__(memo)
        assert isinstance(clone, DistributedVariable)
        clone._values = tuple(copy.deepcopy(one, memo) for one in self._values)
        for place, one in enumerate(clone._values):
            one.belong(self.strategy, clone, place)
        return clone

    def component(self, index: int) -> "DistributedVariable":
        """The variable itself: it knows in which replica it is used."""
        return self

    def read_value(self) -> Any:
        replica = self._replica()
        if replica is not None or context.updating() is not None:
            return self._own().read_value()
        return self._policy.read_outside(self)

    def write(self, verb: str, operation: Operation, value: Any) -> Any:
        replica = self._replica(writing=verb)
        index = context.updating()
        if index is not None:
            return self._own().write(verb, operation, value)
        if replica is not None:
            return self._policy.write_in_replica(self, replica, verb, operation, value)
        self._policy.write_outside(self, verb, operation, value)
        return self

    def _replica(self, writing: str | None = None) -> context.ReplicaContext | None:
        """The replica of this variable's strategy that the code is in."""
        frame = HERE.get().frame
        if frame is None or frame.strategy is self._strategy:
            return frame.replica if frame is not None else None
        if writing is not None and context.has_strategy():
            raise RuntimeError(
                f"{writing}() of {self.name!r}, a variable of {self._strategy!r}, was called under {frame.strategy!r}; expected "
                f"one strategy at a time. Leave that scope first, or make the variable in it."
            )
        return None

    def _own(self) -> Variable:
        replica, index = self._replica(), context.updating()
        if replica is not None:
            index = replica.local_index
        return self._values[index if index is not None and index < len(self._values) else 0]

    def __repr__(self) -> str:
        return repr(self._values[0])


class MirroredVariable(DistributedVariable, DistributedValues):
    """One copy on every device, all equal: every write goes to all."""

    def __repr__(self) -> str:
        return DistributedValues.__repr__(self)

    __str__ = __repr__


class SyncOnReadVariable(DistributedVariable, DistributedValues):
    """One copy on every device, each replica's own; reading outside combines them."""

    own_copies = True

    def __repr__(self) -> str:
        return DistributedValues.__repr__(self)

    __str__ = __repr__


class CentralVariable(DistributedVariable):
    """One copy, on one device, for all replicas."""

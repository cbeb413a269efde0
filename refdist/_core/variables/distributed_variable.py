"""Variables with several copies, and the two policies by which these agree: on every write, or only when they are read."""

import copy
import functools
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from refdist._core.base.common_values import CommonValues, once
from refdist._core.base.enums import ReduceOp, VariableAggregation
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import loaded, tracing
from refdist._core.base.where import HERE
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor
from refdist._core.replicas.context import ReplicaContext, contained, crossed, has_strategy
from refdist._core.replicas.values import WRITING, DistributedValues, PerReplica, Storage, select
from refdist._core.seam.backend import NOWHERE
from refdist._core.seam.capabilities import in_unison
from refdist._core.variables.equal_copies import require_equal
from refdist._core.variables.scattering import UNCOMBINABLE, Operation
from refdist._core.variables.sum_shares import shares_of_sum
from refdist._core.variables.tensors import current_value
from refdist._core.variables.variable import Variable, replace
from refdist._core.variables.write_target import Target

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase

KnownWrite = tuple[Operation, str, Callable[..., Any]]
"""What replicas came last to write together, and the function of their meeting: one for all of them."""

NUMBERS = (bool, int, float)
REDUCTIONS = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}


class DistributedVariable(Variable):
    """A variable whose copies a policy keeps in agreement."""

    is_variable = True  # among the values that have a component for each replica
    central = False  # whether there is one copy for all replicas

    def __init__(self, strategy: "StrategyBase", copies: Sequence[Variable], policy: "type[Policy]") -> None:
        first = copies[0]
        self._strategy, self._policy = strategy, policy
        self._container, self.as_target = None, Target(self)
        self.known_write: KnownWrite | None = None
        self._components = tuple(copies)
        homes = [Device(copy.device) for copy in copies]
        self.storage = Storage([copy.stored for copy in copies], homes, own_copies=self.own_copies)
        self._backend, self._name, self._shape, self._dtype = first._backend, first._name, first.shape, first.dtype
        self._trainable, self._synchronization = first.trainable, first.synchronization
        self._aggregation, self._constraint = first.aggregation, first.constraint

    strategy = property(operator.attrgetter("_strategy"))  # in whose scope the variable was made

    @property
    def copies(self) -> tuple[Variable, ...]:
        # In a draft the first copy stands for all: it is that of the replica for which the program is written.
        return self._components if HERE.get().draft is None else self._components[:1]

    @property
    def all_copies(self) -> tuple[Variable, ...]:
        return self._components

    @property
    def values(self) -> tuple[Variable, ...]:
        """The copies, as the components of a value that has one for each replica."""
        return self._components

    _values = values  # a name that programs reach for in TensorFlow

    @property
    def count(self) -> int:
        """How many copies there are."""
        return len(self._components)

    def component(self, index: int) -> "DistributedVariable":
        """The variable itself: it knows in which replica it is used."""
        return self

    @property
    def device(self) -> str:
        """The device of the replica's own copy; outside of replicas, that of the first one."""
        replica = self._replica()
        if replica is not None and HERE.get().draft is not None and len(self._components) > 1:
            number: Any = replica.replica_id_in_sync_group
            return self._components[number if isinstance(number, int) else 0].device
        return self._own(replica).device

    def __deepcopy__(self, memo: dict[int, Any]) -> "Variable":
        clone = super().__deepcopy__(memo)
        assert isinstance(clone, DistributedVariable)
        clone.as_target, clone.known_write = Target(clone), None
        clone._components = tuple(copy.deepcopy(one, memo) for one in self._components)
        for place, one in enumerate(clone._components):
            one.belong(self.strategy, clone, place)
        return clone

    def read_value(self) -> Any:
        replica = self._replica()
        frame = HERE.get().frame
        if replica is not None or (frame is not None and frame.updating is not None):
            return self._own(replica).read_value()
        return self._policy.read_outside(self)

    def write(self, verb: str, operation: Operation, value: Any) -> Any:
        frame = HERE.get().frame
        if frame is not None and frame.replica is not None and frame.strategy is self._strategy:  # as most often
            return self._policy.write_in_replica(self, frame.replica, verb, operation, value)
        replica = self._replica(writing=verb)
        if frame is not None and frame.updating is not None:
            return self._own(replica).write(verb, operation, value)
        if replica is not None:
            return self._policy.write_in_replica(self, replica, verb, operation, value)
        self._policy.write_outside(self, verb, operation, value)
        return self

    def _replica(self, writing: str | None = None) -> ReplicaContext | None:
        """The replica of this variable's strategy that the code is in."""
        frame = HERE.get().frame
        if frame is None or frame.strategy is self._strategy:
            return frame.replica if frame is not None else None
        if writing is not None and has_strategy():
            raise RuntimeError(
                f"{writing}() of {self.name!r}, a variable of {self._strategy!r}, was called under {frame.strategy!r}; expected "
                f"one strategy at a time. Leave that scope first, or make the variable in it."
            )
        return None

    def _own(self, replica: ReplicaContext | None) -> Variable:
        frame = HERE.get().frame
        index = replica.local_index if replica is not None else frame.updating if frame is not None else None
        return self._components[index if index is not None and index < len(self._components) else 0]

    def __repr__(self) -> str:
        return repr(self._components[0])


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

    central = True


class Policy(Protocol):
    """What a distributed variable does where its copies could diverge."""

    @staticmethod
    def read_outside(variable: DistributedVariable) -> Any:
        """The value that cross-replica code sees."""
        ...

    @staticmethod
    def write_in_replica(
        variable: DistributedVariable, replica: ReplicaContext, verb: str, operation: Operation, value: Any
    ) -> Any:
        """Write from inside a replica; the answer is the new value on that replica."""
        ...

    @staticmethod
    def write_outside(variable: DistributedVariable, verb: str, operation: Operation, value: Any) -> None:
        """Write from cross-replica code."""
        ...


class OnWrite:
    """All copies are equal at all times: replicas meet to write, and what they bring is aggregated."""

    @staticmethod
    def read_outside(variable: DistributedVariable) -> Any:
        return variable.copies[0].read_value()

    @staticmethod
    def write_in_replica(
        variable: DistributedVariable, replica: ReplicaContext, verb: str, operation: Operation, value: Any
    ) -> Any:
        single = variable.central and replica.num_replicas_in_sync > 1
        if single and variable.aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"{verb}() of {variable.name!r} in a replica has aggregation NONE; expected SUM, MEAN or ONLY_FIRST_REPLICA, "
                f"because the variable has one copy for all replicas. Pass aggregation=... when you make it."
            )
        place = 0 if single else replica.local_index
        if variable.fits(verb, value, variable.storage.homes[place]) and not (loaded() and tracing()):
            payload = value  # as most often
        elif isinstance(value, NUMBERS) and replica.num_replicas_in_sync > 1:
            # A Python number stays a number until the meeting: the same number everywhere is not a contribution to a sum.
            replica.require_current(verb)
            payload = value
        else:
            payload = variable.copies[place].operand(verb, value)
        known = variable.known_write
        if known is None or known[0] is not operation or known[1] != verb:
            # By a weak reference, because the variable has this, and would else be kept until the next collection of garbage.
            write = functools.partial(_write_together, weakref.ref(variable), verb, operation)
            variable.known_write = known = operation, verb, write
        return replica.meet(verb, variable.as_target, known[2], payload, depth=4)

    @staticmethod
    def write_outside(variable: DistributedVariable, verb: str, operation: Operation, value: Any) -> None:
        plan = variable.strategy.extended.plan  # first, so that a draft knows which strategy it is about
        if isinstance(value, DistributedValues):
            copies = variable.copies if len(variable.copies) > 1 else variable.copies * value.count
            require_equal(variable, verb, [copy.operand(verb, select(value, i)) for i, copy in enumerate(copies)])
            given, value = None, select(value, 0)
        else:
            given = current_value(value)
        if plan.workers > 1 and HERE.get().draft is None:
            variable.strategy.extended.own_writes.note(variable)
        with in_unison(plan, variable.storage.homes, given):
            OnWrite.write_all(variable, verb, operation, value)

    @staticmethod
    def write_all(variable: DistributedVariable, verb: str, operation: Operation, value: Any) -> Sequence[Any]:
        """Write the same value to all copies, and return the new value of each."""
        first, plan = variable.copies[0], variable.strategy.extended.plan
        operand = first.operand(verb, value)
        with WRITING:
            # One computation for all copies, so that they are equal bit for bit, and nothing is stored before it succeeds.
            new = first.computed(operation, operand)
            homes = variable.storage.homes[: len(variable.copies)]
            values = (
                [plan.backend.copy(new, home) for home in homes]
                if plan.spreads is None
                else plan.spreads.spread(new, homes)
            )
            variable.store_all(values, verb)
        return values


def _write_together(
    reference: "Callable[[], DistributedVariable | None]",
    verb: str,
    operation: Operation,
    strategy: "StrategyBase",
    payloads: Sequence[Any],
) -> Sequence[Any]:
    """Write what replicas bring, aggregated, to all copies of a variable, and return what each replica continues with."""
    variable, extended = reference(), strategy.extended
    assert variable is not None, "who meets to write a variable has it"
    # Values are combined for all copies at once; what the first replica alone brings is copied to the others.
    alone = payloads[0] if variable.aggregation is VariableAggregation.ONLY_FIRST_REPLICA else None
    with NOWHERE if (timed := extended.plan.timed) is None else timed.in_unison(variable.storage.homes, alone):
        value = extended.aggregate(strategy, variable, verb, payloads)
        values = OnWrite.write_all(variable, verb, operation, value)
    if (
        variable.central and strategy.num_replicas_in_sync > 1
    ):  # each replica continues with the value on its own device
        return [extended.tensor(values[0], device) for device in extended.plan.devices]
    return values


class OnRead:
    """Each replica writes its own copy; reading from outside aggregates them."""

    @staticmethod
    def read_outside(variable: DistributedVariable) -> Any:
        aggregation = variable.aggregation
        if variable.strategy.num_replicas_in_sync == 1:
            return variable.copies[0].read_value()
        if aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            extended = variable.strategy.extended
            first = extended.from_all_workers("read", [copy.stored for copy in variable.copies])[0]
            return first if extended.plan.workers == 1 else extended.backend.copy(first, extended.current_device())
        if aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"The variable {variable.name!r} was read outside its replicas, with synchronization ON_READ and aggregation "
                f"NONE; expected an aggregation that says how copies become one value. Make it with aggregation=..., or read "
                f"the copies with experimental_local_results()."
            )
        return _read_together(variable, REDUCTIONS[aggregation])

    @staticmethod
    def write_in_replica(
        variable: DistributedVariable, replica: ReplicaContext, verb: str, operation: Operation, value: Any
    ) -> Any:
        copy = variable.copies[replica.local_index]
        return copy.write(verb, operation, value).read_value()

    @staticmethod
    def write_outside(variable: DistributedVariable, verb: str, operation: Operation, value: Any) -> None:
        count = variable.strategy.num_replicas_in_sync
        shared = variable.aggregation is VariableAggregation.SUM and count > 1
        if shared and operation is not replace:
            raise ValueError(
                f"{verb}() of {variable.name!r} was called outside its replicas; expected assign() there, because the variable "
                f"is the sum of {count} copies. Call {verb}() in a replica, or assign the new sum."
            )
        operands = [copy.operand(verb, select(value, index)) for index, copy in enumerate(variable.copies)]
        if shared:
            # Each copy takes its share, so that reading the sum returns what was assigned.
            operands = shares_of_sum(variable, operands, count)
        backend, homes = variable.strategy.extended.backend, variable.storage.homes[: len(variable.copies)]
        with WRITING:
            news = [copy.computed(operation, operand) for copy, operand in zip(variable.copies, operands, strict=True)]
            variable.store_all([backend.copy(new, home) for new, home in zip(news, homes, strict=True)], verb)


@contained
def _read_together(variable: DistributedVariable, op: ReduceOp) -> Any:
    with crossed(variable.strategy):
        return variable.strategy.extended.reduce(op, PerReplica([copy.stored for copy in variable.copies]))


def aggregated(
    strategy: "StrategyBase", variable: DistributedVariable, verb: str, payloads: Sequence[Any], own: Any
) -> Any:
    """Combine what all replicas bring to a write into one value; one of this worker's own stands for equal ones."""
    aggregation, first = variable.aggregation, payloads[0]
    if aggregation is VariableAggregation.ONLY_FIRST_REPLICA or len(payloads) == 1:
        return first if first is own else _brought_here(variable, first)
    if isinstance(first, IndexedSlices) and aggregation is not VariableAggregation.NONE:
        require_combinable(variable, verb)
        return IndexedSlices.joined(payloads, len(payloads) if aggregation is VariableAggregation.MEAN else 1)
    # Of thousands of payloads, which hundreds of workers have in common, only one worker goes through the types.
    common = type(payloads) is CommonValues
    kinds = once(payloads, "kinds", lambda: set(map(type, payloads))) if common else set(map(type, payloads))
    if any([issubclass(kind, NUMBERS) for kind in kinds]):
        require_meant([variable.as_target], payloads, verb)
        if _same_number(payloads):
            return first
        payloads = [variable.copies[0].operand(verb, one) if isinstance(one, NUMBERS) else one for one in payloads]
    if aggregation is VariableAggregation.NONE:
        once(payloads, "equal", lambda: require_equal(variable, verb, payloads))
        return own
    plan, home = strategy.extended.plan, variable.storage.homes[0]
    whole = PerReplica(payloads)
    if kinds == {Tensor} and plan.workers == 1:
        whole.known_kind = len(payloads), (variable.shape, variable.dtype)  # each fits the variable
    return plan.collectives.reduce(REDUCTIONS[aggregation], whole, home, plan.communication)


def _brought_here(variable: DistributedVariable, value: Any) -> Any:
    """What another worker has brought, on a device of this one."""
    backend, home = variable.strategy.extended.backend, variable.storage.homes[0]

    def copied(part: Any) -> Any:
        return backend.copy(part, home) if isinstance(part, backend.tensor_type) else part

    return value.mapped(copied) if isinstance(value, IndexedSlices) else copied(value)


def require_combinable(variable: DistributedVariable, verb: str) -> None:
    """Raise where replicas write slices that replace each other."""
    if verb in UNCOMBINABLE:
        raise NotImplementedError(
            f"{verb}() of {variable.name!r} was called in replicas, with aggregation {variable.aggregation.name}; expected "
            f"ONLY_FIRST_REPLICA or NONE, because slices that replace each other cannot be combined. Use scatter_add()."
        )


def require_meant(targets: Sequence[Any], payloads: Sequence[Any], verb: str) -> None:
    """Raise if all replicas bring the same Python number to a variable that sums: it is not clear what is meant."""
    variable = targets[0].variable if isinstance(targets[0], Target) else None
    if variable is not None and variable.aggregation is VariableAggregation.SUM and _same_number(payloads):
        first = payloads[0]
        raise ValueError(
            f"{verb}() of {variable.name!r} got the number {first!r} from every replica; expected tensors to sum, because it is "
            f"not clear whether the number is meant once or {len(payloads)} times. Pass tf.constant({first!r}), or use "
            f"aggregation MEAN."
        )


def _same_number(payloads: Sequence[Any]) -> bool:
    first = payloads[0]
    return isinstance(first, NUMBERS) and all(type(one) is type(first) and one == first for one in payloads)

"""How the copies of a variable agree: on every write, or only when they are read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from refdist._core.base.enums import ReduceOp, VariableAggregation
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.devices.device import Device
from refdist._core.replicas.context import ReplicaContext, contained, crossed
from refdist._core.replicas.values import DistributedValues, PerReplica, select
from refdist._core.seam.capabilities import in_unison
from refdist._core.variables.distributed_variable import DistributedVariable
from refdist._core.variables.placement import Placement
from refdist._core.variables.variable import WRITING, Operation, current_value, replace

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase

REDUCTIONS = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}


class Policy(Protocol):
    """What a distributed variable does where its copies could come apart."""

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
        single = variable.strategy.extended.plan.placement is Placement.CENTRAL and replica.num_replicas_in_sync > 1
        if single and variable.aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"{verb}() of {variable.name!r} in a replica has aggregation NONE; expected SUM, MEAN or ONLY_FIRST_REPLICA, "
                f"because the variable has one copy for all replicas. Pass aggregation=... when you make it."
            )
        replica.require_current(verb)
        index = 0 if single else replica.local_index
        # A Python number stays one until the meeting: the same number everywhere is no contribution to a sum.
        number = isinstance(value, (bool, int, float)) and replica.num_replicas_in_sync > 1
        payload = value if number else variable.copies[index].operand(verb, value)

        def merge(strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
            # What is added up is added up for all copies, and what one replica alone says is brought to the others.
            alone = payloads[0] if variable.aggregation is VariableAggregation.ONLY_FIRST_REPLICA else None
            homes = _homes(variable)
            with in_unison(strategy.extended.plan, homes, alone):
                value = strategy.extended.aggregate(strategy, variable, verb, payloads)
                OnWrite.write_alike(variable, homes, verb, operation, value)
            extended, values = strategy.extended, [copy.stored for copy in variable.copies]
            # Each replica goes on with the value on its own device.
            return [extended.tensor(values[0], device) for device in extended.plan.devices] if single else values

        return replica.meet(verb, Target(variable), merge, payload)

    @staticmethod
    def write_outside(variable: DistributedVariable, verb: str, operation: Operation, value: Any) -> None:
        _ = variable.strategy.extended  # first, so that a draft knows which strategy it is about
        if isinstance(value, DistributedValues):
            copies = variable.copies if len(variable.copies) > 1 else variable.copies * value.count
            require_equal(variable, verb, [copy.operand(verb, select(value, i)) for i, copy in enumerate(copies)])
            given, value = None, select(value, 0)
        else:
            given = current_value(value)
        homes = _homes(variable)
        with in_unison(variable.strategy.extended.plan, homes, given):
            OnWrite.write_alike(variable, homes, verb, operation, value)

    @staticmethod
    def write_alike(
        variable: DistributedVariable, homes: Sequence[Device], verb: str, operation: Operation, value: Any
    ) -> None:
        """Write what all devices of the copies have."""
        first, backend = variable.copies[0], variable.strategy.extended.backend
        operand = first.operand(verb, value)
        with WRITING:
            # One computation for all copies, so that they are equal bit for bit, and nothing is stored before it succeeds.
            new = first.computed(operation, operand)
            variable.store_all([backend.copy(new, home) for home in homes])


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
            operands = _shares(variable, operands, count)
        backend, homes = variable.strategy.extended.backend, _homes(variable)
        with WRITING:
            news = [copy.computed(operation, operand) for copy, operand in zip(variable.copies, operands, strict=True)]
            variable.store_all([backend.copy(new, home) for new, home in zip(news, homes, strict=True)])


class Target:
    """The variable that a meeting writes to: equal when it is the same one."""

    def __init__(self, variable: DistributedVariable) -> None:
        self.variable = variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.variable is other.variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __str__(self) -> str:
        return repr(self.variable.name)


@contained
def _read_together(variable: DistributedVariable, op: ReduceOp) -> Any:
    with crossed(variable.strategy):
        return variable.strategy.extended.reduce(op, PerReplica([copy.stored for copy in variable.copies]))


def _homes(variable: DistributedVariable) -> tuple[Device, ...]:
    return tuple(Device(copy.device) for copy in variable.copies)


def _shares(variable: DistributedVariable, operands: Sequence[Any], count: int) -> list[Any]:
    """Divide a sum among the copies; what does not divide is cut off towards zero, as TensorFlow does."""
    kind = operands[0].dtype.kind
    if kind in "bO":
        raise TypeError(
            f"assign() of {variable.name!r} got a value of dtype {operands[0].dtype}; expected a number, because the variable is "
            f"the sum of {count} copies. Use another aggregation."
        )
    if kind in "iu":
        return [((operand > 0) * 2 - 1).astype(operand.dtype) * (abs(operand) // count) for operand in operands]
    return [operand / count for operand in operands]


def aggregated(strategy: "StrategyBase", variable: DistributedVariable, verb: str, payloads: Sequence[Any]) -> Any:
    """Make one value of what all replicas bring to a write."""
    aggregation, first = variable.aggregation, payloads[0]
    if aggregation is VariableAggregation.ONLY_FIRST_REPLICA or len(payloads) == 1:
        extended = strategy.extended
        # That of the first worker, which the others bring to a device of their own.
        elsewhere = extended.plan.workers > 1 and isinstance(first, extended.backend.tensor_type)
        return extended.backend.copy(first, Device(variable.copies[0].device)) if elsewhere else first
    if isinstance(first, IndexedSlices) and aggregation is not VariableAggregation.NONE:
        require_combinable(variable, verb)
        return IndexedSlices.joined(payloads, len(payloads) if aggregation is VariableAggregation.MEAN else 1)
    require_meant([Target(variable)], payloads, verb)
    if _same_number(payloads):
        return first
    tensors = [variable.copies[0].operand(verb, payload) if _number(payload) else payload for payload in payloads]
    if aggregation is VariableAggregation.NONE:
        require_equal(variable, verb, tensors)
        return tensors[0]
    home = variable.copies[0].device
    return strategy.extended.plan.collectives.reduce(REDUCTIONS[aggregation], PerReplica(tensors), home)


def require_combinable(variable: DistributedVariable, verb: str) -> None:
    """Raise where replicas write slices that replace each other."""
    if verb == "scatter_update":
        raise ValueError(
            f"scatter_update() of {variable.name!r} was called in replicas, with aggregation {variable.aggregation.name}; "
            f"expected ONLY_FIRST_REPLICA, because slices that replace each other cannot be combined. Use scatter_add()."
        )


def require_meant(targets: Sequence[Any], payloads: Sequence[Any], verb: str) -> None:
    """Raise where all replicas bring one Python number to a variable that sums: it is not clear what is meant."""
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
    return _number(first) and all(type(payload) is type(first) and payload == first for payload in payloads)


def _number(payload: Any) -> bool:
    return isinstance(payload, (bool, int, float))


def require_equal(variable: DistributedVariable, verb: str, operands: Sequence[Any]) -> None:
    """Raise where the copies of a mirrored variable would come apart."""
    first = operands[0]
    for index, operand in enumerate(operands):
        if operand is first:
            continue
        equal = first == operand if isinstance(first, IndexedSlices) else _bits(first) == _bits(operand)
        if not equal:
            raise ValueError(
                f"{verb}() of {variable.name!r} got different values from replica 0 and replica {index}, with aggregation "
                f"{variable.aggregation.name}; expected equal ones, because its copies must stay equal. Combine them first with "
                f"all_reduce(), or pass aggregation=... when you make the variable."
            )


def _bits(tensor: Any) -> Any:
    array = np.asarray(tensor)
    return array.tolist() if array.dtype.kind == "O" else array.tobytes()

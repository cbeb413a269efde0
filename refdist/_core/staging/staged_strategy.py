"""Strategies as a draft sees them: one replica stands for all, and what they exchange becomes steps of its program."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from refdist._core.base import nest
from refdist._core.base.call_sites import call_site
from refdist._core.base.callables import require_arguments, require_callable
from refdist._core.base.enums import ReduceOp, VariableAggregation
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.options import CommunicationOptions
from refdist._core.base.where import HERE, Frame, entered
from refdist._core.devices.tensor import mean_dtype
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues, PerReplica, regroup, select
from refdist._core.seam.inspection import inspection_of
from refdist._core.staging.host_draws import HostDraws
from refdist._core.staging.replica_draft import ReplicaDraft, UnevenReplicas
from refdist._core.staging.replica_programs import ReplicaPrograms
from refdist._core.staging.staged_context import StagedContext
from refdist._core.staging.stand_ins import (
    OpenSlices,
    PassedThroughValues,
    SymbolicMirrored,
    SymbolicPerReplica,
    closed_slices,
    is_text,
    of_all_replicas,
)
from refdist._core.strategies.arguments import pairs_of
from refdist._core.strategies.cross_device_ops import devices_of, divided, require_joinable, require_numbers
from refdist._core.strategies.numerics import Judge, allow_nonfinite
from refdist._core.strategies.packing import exchanged_together, packs_of
from refdist._core.strategies.rebinding import watched as watched_names
from refdist._core.strategies.verbs import StrategyExtended
from refdist._core.variables.distributed_variable import (
    REDUCTIONS,
    DistributedVariable,
    require_combinable,
    require_meant,
)
from refdist._core.variables.tensors import current_value
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase


class StagedExtended(StrategyExtended):
    """The verbs of a strategy in a draft: what a replica has stands for what all have."""

    def __init__(self, draft: ReplicaDraft, real: StrategyExtended, count: int) -> None:
        plan = real.plan
        super().__init__(
            dataclasses.replace(plan, backend=draft.backend, devices=plan.devices[:1], homes=plan.homes[:1], workers=1)
        )
        self._real, self.draft, self._count = real, draft, count
        self._local = min(count, len(plan.devices))  # how many of the replicas are in this process
        self.real_devices = plan.devices * (count // self._local)  # those of other processes are called alike
        self._from_outside: dict[
            int, tuple[Any, Any]
        ] = {}  # tensors that are not of this program, with what they are in it

    def run(self, strategy: "StrategyBase", fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        draft = self.draft
        draft.require_outside("strategy.run()")
        require_callable(fn)
        require_arguments(args, kwargs)
        draft.runs += 1
        once = draft.once or self._count == 1

        def localised(leaf: Any) -> Any:
            return self._localised(leaf, once)

        def outside(leaf: Any) -> Any:
            return leaf if draft.one_for_all(leaf) else self._seen_outside(leaf)

        local = nest.map_structure(localised, (tuple(args), dict(kwargs or {})))
        tapes = draft.body_tapes() if self._count > 1 else HERE.get().tapes
        with entered(creations={}, tapes=tapes), draft.numbering(own=hasattr(fn, "run_in_replicas")):
            if once:
                draft.number = None if self._count == 1 else draft.compiler.replica_number()
                number = 0 if self._count == 1 else draft.number
                draws = HostDraws() if self._count > 1 else None
                result = closed_slices(nest.map_structure(outside, self._body(strategy, fn, local, number)))
                if draws is not None and not draft.created:  # all replicas get the same variable, however it begins
                    draws.tell(fn, self._count)
            else:
                result = ReplicaPrograms(self, strategy, fn, local, self._count).merged()
        draft.hide(result)
        return result

    def body(self, strategy: "StrategyBase", fn: Callable[..., Any], given: Any, number: int) -> Any:
        """Call the function of one replica."""
        return self._body(strategy, fn, select(given, number), number)

    def _body(self, strategy: "StrategyBase", fn: Callable[..., Any], given: Any, number: Any) -> Any:
        frame = Frame(strategy, StagedContext(self.draft, strategy, number), context.creators())
        device = self.real_devices[number if isinstance(number, int) else 0]
        with entered(frame=frame, device=device):
            positional, named = given
            rebinding = watched_names(fn) if self._count > 1 else None
            self.draft.refused = None
            result = self.draft.converted(fn)(*positional, **named)
            if self._count > 1 and self.draft.refused is not None:
                raise _caught(self.draft.refused)
            if rebinding is not None:
                rebinding.look()
            return nest.map_structure(self._owned_leaf, result)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return self._real.plan.devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return self._real.plan.homes

    def create_variable(self, following: Callable[..., Any], **kwargs: Any) -> Any:
        return self._real.create_variable(following, **kwargs)  # which may cut it into shards

    def _owned_leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, IndexedSlices):
            return OpenSlices.of(leaf, lambda part: self.tensor(part, None))
        leaf = leaf if isinstance(leaf, Variable) else current_value(leaf)  # that of a variable of Keras
        if not hasattr(leaf, "__array__") or isinstance(leaf, (self.backend.tensor_type, Variable)):
            return leaf
        if not isinstance(leaf, self._real.backend.tensor_type):
            return self.backend.put(leaf, None)
        # A tensor from outside that all replicas return is one tensor, as it is outside of functions.
        if id(leaf) not in self._from_outside:
            self._from_outside[id(leaf)] = leaf, self.backend.put(leaf, None)
        return self._from_outside[id(leaf)][1]

    def _localised(self, leaf: Any, once: bool) -> Any:
        """What stands for each replica's component of a value."""
        if isinstance(leaf, SymbolicPerReplica):
            return leaf.own
        if not isinstance(leaf, DistributedValues) or isinstance(leaf, Variable):
            return leaf
        components = leaf.components if isinstance(leaf, PassedThroughValues) else len(leaf.values)
        if components != self._local:
            raise ValueError(
                f"A value with {components} components met a strategy of {self._local} replicas; expected one component for "
                f"each replica. Make the value with the strategy that uses it."
            )
        if isinstance(leaf, PassedThroughValues):
            return leaf.alone() if self._local == 1 else leaf
        values = self._of_all_processes(leaf.values)
        if not any(hasattr(value, "shape") for value in values):
            same = regroup([[value] for value in values])[0]
            if not once or (same is not leaf and not isinstance(same, DistributedValues)):
                return same  # plain Python values: each replica's part gets its own
        return self.own_of_all(values)

    def _of_all_processes(self, values: Sequence[Any]) -> Sequence[Any]:
        """What becomes part of the program, which is one for all processes, and known to each for its own replicas only."""
        if self._local == self._count:
            return values
        with entered(draft=None), self.draft.compiler.at_once():
            return self._real.from_all_workers("a per-replica value that becomes part of a program", values)

    def own_of(self, value: DistributedValues) -> Any:
        """The replica's own component of a value that has one for each."""
        return self._localised(value, True)

    def own_of_all(self, values: Sequence[Any]) -> Any:
        """The replica's own value, given those of all replicas."""
        kinds = set(map(type, values))
        if kinds == {IndexedSlices}:
            columns = zip(*map(OpenSlices.of, values), strict=True)
            return IndexedSlices(*(None if column[0] is None else self.own_of_all(column) for column in columns))
        if IndexedSlices in kinds:
            raise UnevenReplicas
        parts = [self.tensor(value, None) for value in values]
        if len({(part.shape, part.dtype) for part in parts}) > 1:
            raise UnevenReplicas
        return parts[0] if all(part is parts[0] for part in parts) else self.draft.compiler.own_of(parts)

    def _seen_outside(self, leaf: Any) -> Any:
        """What a replica has, as code outside of the replicas sees it."""
        if is_text(leaf) and self._count > 1:
            return PerReplica([leaf] * self._local)
        tensor = isinstance(leaf, (self.backend.tensor_type, IndexedSlices)) and self._local > 1
        return SymbolicPerReplica(self.draft, leaf) if tensor else leaf

    def _reducible(self, op: ReduceOp, value: Any) -> Any:
        if isinstance(value, DistributedVariable):
            return PerReplica([value.copies[0].stored])
        if isinstance(value, DistributedValues):
            one = isinstance(value, SymbolicPerReplica) or len(value.values) == 1
            own = value.component(0) if one else self._localised(value, True)
            return PerReplica([self.combinable(own, None)])
        if self._local == 1 < self._count:
            return PerReplica([self.combinable(value, None)])
        if self._count > 1 and op is not ReduceOp.MEAN:
            raise ValueError(
                f"A plain value ({value!r}) was to be combined over {self._count} replicas; expected a per-replica value. "
                f"Return it from run, or make it with experimental_distribute_values_from_function."
            )
        return self.combinable(value, None)

    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None) -> Any:
        op, options = ReduceOp.of(reduce_op), self.communication(options, "reduce_to()")
        with self._entered("reduce_to()"):
            prepared = self._reducible(op, value)
            distributed = isinstance(prepared, DistributedValues)
            result = self._combined(op, prepared.values[0], options) if distributed else prepared
            return self._spread(result) if _several(destinations) else result

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, options: Any = None) -> list[Any]:
        op, options = ReduceOp.of(reduce_op), self.communication(options, "batch_reduce_to()")
        given = pairs_of(value_destination_pairs)
        if not self._batches(options):
            return [self.reduce_to(op, value, to, options) for value, to in given]
        with self._entered("batch_reduce_to()"):
            prepared = [self._reducible(op, value) for value, _ in given]
            if not all(isinstance(value, DistributedValues) for value in prepared):
                return [self.reduce_to(op, value, to, options) for value, to in given]
            results = self._combined_together(op, [value.values[0] for value in prepared], options)
            pairs = zip(results, given, strict=True)
            return [self._spread(result) if _several(to) else result for result, (_, to) in pairs]

    def _spread(self, result: Any) -> Any:
        """What lies on several devices after a reduction."""
        return SymbolicMirrored(self.draft, result) if self._local > 1 else result

    def _batches(self, options: CommunicationOptions) -> bool:
        """Say whether tensors that are combined together are more than each of them alone."""
        return self._count > 1 and (bool(options.bytes_per_pack) or self.plan.collectives.custom())

    def _combined_together(self, op: ReduceOp, tensors: Sequence[Any], options: CommunicationOptions) -> list[Any]:
        """Combine several tensors, in packs or with the user's own implementation for batches."""
        if self.plan.collectives.custom():
            return self._combined_by_user(op, tensors, options)
        slices = [number for number, tensor in enumerate(tensors) if isinstance(tensor, IndexedSlices)]
        results = {number: self._combined(op, tensors[number], options) for number in slices}
        dense = [number for number in range(len(tensors)) if number not in results]
        every = [tensors[number] for number in dense]
        for pack in packs_of(every, options.bytes_per_pack, [None] * len(dense)):
            made = exchanged_together([every[place] for place in pack], lambda row: self._combined(op, row, options))
            results |= zip([dense[place] for place in pack], made, strict=True)
        return [results[number] for number in range(len(tensors))]

    def _combined_by_user(self, op: ReduceOp, tensors: Sequence[Any], options: Any) -> list[Any]:
        """Combine several tensors with the user's own implementation for batches."""
        every = [PerReplica(of_all_replicas(self.draft, tensor)) for tensor in tensors]
        pairs = [(values, self._real.plan.devices) for values in every]
        answers = self.plan.collectives.batch_reduce(op, pairs, options)
        return [answer.values[0] if isinstance(answer, DistributedValues) else answer for answer in answers]

    def _combined(self, op: ReduceOp, tensor: Any, options: Any = None) -> Any:
        if not self.plan.collectives.custom() or self._count == 1:
            require_numbers(tensor.values.dtype if isinstance(tensor, IndexedSlices) else tensor.dtype)
            if self._count == 1:
                return tensor  # its own sum, and its own mean
            if isinstance(tensor, IndexedSlices):
                return self._joined_slices(op, tensor)
            if op is ReduceOp.MEAN and tensor.dtype.kind in "iu":
                self.draft.require_wide(mean_dtype(tensor.dtype))
            inspection = inspection_of(self._real.backend)
            if inspection is not None and inspection.numerics:
                self.draft.judge(tensor, Judge(op, call_site(), allow_nonfinite.blocks == 0))
            return self.draft.compiler.combine(op, tensor)
        every = PerReplica(of_all_replicas(self.draft, tensor))
        answer = self.plan.collectives.reduce(op, every, self._real.plan.devices, options)
        return answer.values[0] if isinstance(answer, DistributedValues) else answer

    def all_reduce(
        self, op: ReduceOp, payloads: Sequence[Any], options: Any = None, name: str | None = None
    ) -> Sequence[Any]:
        (payload,) = payloads
        options = self.communication(options, "all_reduce()")
        if nest.is_container(payload) and self._batches(options):
            combined = self._combined_together(op, nest.flatten(payload), options)
            return [nest.pack_sequence_as(payload, combined)]

        def combine(tensor: Any) -> Any:
            return self._combined(op, tensor, options)

        return [nest.map_structure(combine, payload)]

    def permute(self, payloads: Sequence[Any], sources: Sequence[int], name: str | None = None) -> Sequence[Any]:
        def moved(tensor: Any) -> Any:
            return self.draft.compiler.permute(tensor, sources)

        return [nest.map_structure(moved, payloads[0])]

    def all_gather(
        self, payloads: Sequence[Any], axis: int, options: Any = None, name: str | None = None
    ) -> Sequence[Any]:
        def joined(tensor: Any) -> Any:
            return self._joined(tensor, axis)

        return [nest.map_structure(joined, payloads[0])]

    def gather(self, value: Any, axis: int) -> Any:
        return self._joined(self.components(value)[0], axis)

    def _joined(self, tensor: Any, axis: int) -> Any:
        require_joinable([tensor], axis)
        return self.draft.compiler.join(tensor, axis)

    def _joined_slices(self, op: ReduceOp, slices: IndexedSlices) -> IndexedSlices:
        """The slices of all replicas; the tensor that they are parts of has a shape that all say alike."""
        values = slices.values
        if op is ReduceOp.MEAN:
            self.draft.require_wide(mean_dtype(values.dtype))
            values = divided(values, self._count)
        return IndexedSlices(self._joined(values, 0), self._joined(slices.indices, 0), slices.dense_shape)

    def from_all_workers(
        self, kind: str, payloads: Sequence[Any], options: CommunicationOptions | None = None
    ) -> Sequence[Any]:
        (payload,) = payloads
        if isinstance(payload, self.backend.tensor_type):
            return self.draft.compiler.of_all_replicas(payload)
        return [payload] * self._count

    def _results_of_update(self, results: list[Any], group: bool) -> Any:
        def outside(leaf: Any) -> Any:
            return self._seen_outside(current_value(leaf))

        return nest.map_structure(outside, regroup(results) if group else tuple(results))

    def aggregate(
        self, strategy: "StrategyBase", variable: DistributedVariable, verb: str, payloads: Sequence[Any]
    ) -> Any:
        payload, aggregation = payloads[0], variable.aggregation
        if self._count == 1:
            return payload
        if isinstance(payload, IndexedSlices):
            return self._aggregated_slices(variable, verb, payload)
        if self.draft.once:
            require_meant([variable.as_target], [payload], verb)
        tensor = variable.copies[0].operand(verb, payload)
        if aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return self.from_all_workers(verb, [tensor])[0]
        if aggregation is VariableAggregation.NONE:
            self.draft.compare(variable, verb, tensor)
            return tensor
        return self._combined(REDUCTIONS[aggregation], tensor)

    def _aggregated_slices(self, variable: DistributedVariable, verb: str, slices: IndexedSlices) -> Any:
        aggregation = variable.aggregation
        if aggregation is VariableAggregation.NONE:
            return slices
        if aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return IndexedSlices(*(self.from_all_workers(verb, [part])[0] for part in (slices.values, slices.indices)))
        require_combinable(variable, verb)
        values = slices.values / self._count if aggregation is VariableAggregation.MEAN else slices.values
        return IndexedSlices(self._joined(values, 0), self._joined(slices.indices, 0))


def _caught(error: Exception) -> Exception:
    """An error that the program has caught in a replica, as it is raised again."""
    error.add_note(
        "The function of a replica caught this while it was traced. It is raised again, because what the function does after it "
        "would become the program of all replicas. Take what raises it out of the `try`."
    )
    return error


def _several(destinations: Any) -> bool:
    """Say whether a result goes to several devices; what is no destination is refused as outside of functions."""
    if isinstance(destinations, DistributedValues):
        return True  # not by where its components are: those of a program are not made for that
    if isinstance(destinations, (list, tuple)) and destinations:
        several = [_several(one) for one in cast("Sequence[Any]", destinations)]
        return len(several) > 1 or several[0]
    return len(devices_of(destinations)) > 1

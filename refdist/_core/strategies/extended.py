"""The verbs of a strategy whose replicas run eagerly, written once and steered by its plan."""

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import Context, copy_context
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from refdist._core.base import nest
from refdist._core.base.callables import NOT_RUN_WHEN_CALLED, require_callable
from refdist._core.base.common_values import once
from refdist._core.base.enums import ReduceOp
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import flax_loaded, loaded
from refdist._core.base.options import CommunicationOptions
from refdist._core.base.where import HERE, Where, entered, where_of
from refdist._core.base.writes_of_one_worker import OwnWrites
from refdist._core.clusters.workers import exchange, outline_of_leaves, require_own_worker
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor, likeness
from refdist._core.input import hungry_replicas
from refdist._core.input.hungry_replicas import Served, remark_on, run_with
from refdist._core.replicas import context
from refdist._core.replicas.drift import SUSPECTS, require_no_drift
from refdist._core.replicas.garbage import MANY, fewer_collections
from refdist._core.replicas.lockstep import play
from refdist._core.replicas.values import DistributedValues, Mirrored, PerReplica, regroup
from refdist._core.seam.backend import NOWHERE
from refdist._core.strategies import arguments
from refdist._core.strategies.packing import columns_of
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.rebinding import QUIET
from refdist._core.strategies.rebinding import watched as watched_names
from refdist._core.strategies.verbs import StrategyExtended, components_of
from refdist._core.variables.creation import EARLIER, create_variable
from refdist._core.variables.distributed_variable import (
    DistributedVariable,
    aggregated,
)
from refdist._core.variables.tensors import current_value
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase


class EagerExtended(StrategyExtended):
    """The verbs of a strategy whose replicas run eagerly: in lockstep, each on its own device."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._known_frames: list[context.Frame] = []
        self._free_surroundings: _Surroundings | None = None  # of the last run, if none uses them
        # Of this worker, outside of its replicas.
        self.own_writes = OwnWrites() if plan.peers is None else plan.peers.own_writes
        # Functions that have made variables in replicas, by identity, with the places where they have.
        self._creators: dict[tuple[int, int], tuple[Any, set[Any]]] = {}

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices on which replicas run, by replica."""
        return self.plan.devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices on which variables live."""
        return self.plan.homes

    def run(self, strategy: "StrategyBase", fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do the work of `call_for_each_replica`, in the scope of a strategy."""
        if type(fn) is not FunctionType or fn.__code__.co_flags & NOT_RUN_WHEN_CALLED:
            require_callable(fn)
        if loaded():
            context.require_no_trace("run()")
        plan = self.plan
        backend, devices, count = plan.backend, plan.devices, len(plan.devices)
        if plan.resolver is not None:
            require_own_worker(devices[0])
        if SUSPECTS:
            require_no_drift(strategy)
        if Served.unfed is not None:
            run_with((args, kwargs))
        if (journal := HERE.get().journal) is not None:
            journal.ran(strategy, fn)
        given = arguments.Arguments(self, args, kwargs)
        frames = self._frames(strategy)
        step = NOWHERE if plan.timed is None else plan.timed.step(devices)
        if count == 1:
            with step, entered(frame=frames[0], device=devices[0]), backend.on(devices[0]):
                positional, named = given.of(0)
                return self._owned(fn(*positional, **named), devices[0])
        surroundings = self._surroundings(frames)
        creations, tensor_type = surroundings.creations, backend.tensor_type
        if self._creators:
            creations.update(self._earlier_creations(fn))
        rebinding = None if id(getattr(fn, "__code__", None)) in QUIET else watched_names(fn)
        single = given.single

        def body(index: int) -> Any:
            # Called without a star in the common cases: Python then does not use the C stack, which a greenlet has to save.
            if single is not None:
                result = fn(single[index])
            else:
                positional, named = given.of(index)
                result = fn(*positional, **named) if positional or named else fn()
            if rebinding is not None:
                rebinding.look()
            if result is None or isinstance(result, tensor_type):
                return result
            return self._owned(result, devices[index])

        # Greenlets do not carry along where the backend computes, so that is entered around each stretch of a body.
        ambient = backend.on(devices[0]) is not NOWHERE
        # It is restored once more at the end, because a Ctrl-C can keep a replica from leaving what it has entered.
        around = backend.on(None) if ambient else NOWHERE
        watch = _captured_state().watched(fn, args, kwargs) if flax_loaded() else None
        scope = self._resumed if ambient else None
        inspection = getattr(backend, "inspection", None)  # as inspection_of(), which would be one more call
        python = None
        if inspection is not None and inspection.python:
            python = python_watch(fn, args, kwargs)
            scope = python.scope(scope)
        with step, around, fewer_collections(count) if count >= MANY else NOWHERE:
            try:
                results = play(
                    count,
                    body,
                    name=lambda index: f"replica {index} of {count}, on {devices[index].short}{remark_on(index)}",
                    scope=scope if watch is None else watch.scope(scope),
                    contexts=surroundings.contexts(),
                )
            except Exception as error:
                if watch is not None:
                    watch.explain(error)
                raise
        if creations:
            self._remember_creations(fn, creations)
        else:
            self._free_surroundings = surroundings
        if python is not None:
            python.tell()
        if Served.running is not None:
            hungry_replicas.look(results, "returned")
        return regroup(results)

    @context.contained
    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None) -> Any:
        """Combine a per-replica value, and leave the result on the devices of the destinations."""
        op, options = ReduceOp.of(reduce_op), self.communication(options, "reduce_to()")
        with self._entered("reduce_to()"):
            prepared = self._reducible(op, value)
            if not isinstance(prepared, DistributedValues):
                return _told(op, prepared, self.plan.collectives.broadcast(prepared, destinations))
            if Served.running is not None:
                hungry_replicas.look_at_pairs(op, [(prepared, None)])
            if self.plan.workers > 1:
                prepared = PerReplica(self.from_all_workers(f"reduce({op.name})", prepared.values, options))
            return _told(op, prepared, self.plan.collectives.reduce(op, prepared, destinations, options))

    @context.contained
    def batch_reduce_to(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]], options: Any = None
    ) -> list[Any]:
        """Combine several per-replica values, each to its own destinations."""
        op, options = ReduceOp.of(reduce_op), self.communication(options, "batch_reduce_to()")
        with self._entered("batch_reduce_to()"):
            pairs = [(self._reducible(op, value), to) for value, to in arguments.pairs_of(value_destination_pairs)]
            if Served.running is not None:
                hungry_replicas.look_at_pairs(op, pairs)
            if not all(isinstance(value, DistributedValues) for value, _ in pairs):
                return [self.reduce_to(op, value, to, options) for value, to in pairs]
            if self.plan.workers > 1 and pairs:
                # One exchange for all values: what takes time is that the workers wait for each other.
                mine = list(zip(*[value.values for value, _ in pairs], strict=True))
                what = f"reduce({op.name})" if len(pairs) == 1 else f"reduce({op.name}) of {len(pairs)} values"
                columns = zip(*self.from_all_workers(what, mine, options), strict=True)
                pairs = [(PerReplica(column), to) for column, (_, to) in zip(columns, pairs, strict=True)]
            results = self.plan.collectives.batch_reduce(op, pairs, options)
            if HERE.get().journal is not None:
                for (value, _), result in zip(pairs, results, strict=True):
                    _told(op, value, result)
            return results

    def all_reduce(
        self, op: ReduceOp, payloads: Sequence[Any], options: Any = None, name: str | None = None
    ) -> Sequence[Any]:
        """Combine one nest of tensors from each replica; each replica gets the result on its device."""
        mine = len(payloads)
        if Served.running is not None:
            hungry_replicas.look(payloads, f"brought to all_reduce({op.name})", infinite=True)
        options = self.plan.communication if options is None else self.communication(options, "all_reduce()")
        if self.plan.workers > 1:
            details = outline_of_leaves(payloads[0])
            kind = f"all_reduce({op.name})" if name is None else f"all_reduce({op.name}, name={name!r})"
            payloads = exchange(kind, payloads, self.plan.peers, details, options.timeout_seconds, self.own_writes)
        if isinstance(payloads[0], self.plan.backend.tensor_type) or not nest.is_container(payloads[0]):
            value = PerReplica(payloads)
            if self.plan.workers == 1 and mine > 1 and type(payloads[0]) is Tensor:
                value.known_kind = mine, likeness(payloads[0])  # compared when they met
            return self._answers(self.plan.collectives.reduce(op, value, self.plan.devices, options))
        pairs = [
            (PerReplica(column), self.plan.devices)
            for column in once(payloads, "columns", lambda: columns_of(payloads))
        ]
        columns = [self._answers(value) for value in self.plan.collectives.batch_reduce(op, pairs, options)]
        if len(columns) != len(pairs):
            raise ValueError(
                f"The cross_device_ops returned {len(columns)} values of batch_reduce(); expected {len(pairs)}, one for each pair. "
                f"Correct {type(self.plan.collectives).__name__}.batch_reduce_implementation()."
            )
        return [nest.pack_sequence_as(p, [c[i] for c in columns]) for i, p in enumerate(payloads[:mine])]

    def all_gather(
        self, payloads: Sequence[Any], axis: int, options: Any = None, name: str | None = None
    ) -> Sequence[Any]:
        """Join one nest of tensors from each replica; each replica gets the result on its device."""
        mine, options = len(payloads), self.communication(options, "all_gather()")
        kind = f"all_gather(axis={axis})" if name is None else f"all_gather(axis={axis}, name={name!r})"
        payloads = self.from_all_workers(kind, payloads, options)
        columns = once(payloads, "columns", lambda: columns_of(payloads))
        joined = [components_of(self.plan.collectives.gather(PerReplica(c), self.plan.devices, axis)) for c in columns]
        return [nest.pack_sequence_as(p, [c[i] for c in joined]) for i, p in enumerate(payloads[:mine])]

    def permute(self, payloads: Sequence[Any], sources: Sequence[int], name: str | None = None) -> Sequence[Any]:
        """Give each replica the nest of tensors of another one, on its own device."""
        kind = f"permute({', '.join(map(str, sources))})" if name is None else f"permute(name={name!r})"
        mine, every = len(payloads), self.from_all_workers(kind, payloads)
        first, devices = self.plan.first_replica, self.plan.devices
        return [
            nest.map_structure(lambda tensor, to=device: self.backend.copy(tensor, to), every[sources[first + index]])
            for index, device in zip(range(mine), devices, strict=True)
        ]

    def gather(self, value: Any, axis: int) -> Any:
        """Join the components of a per-replica value on the current device."""
        whole = PerReplica(self.from_all_workers(f"gather(axis={axis})", self.components(value)))
        return _told(f"gather(axis={axis})", whole, self.plan.collectives.gather(whole, self.current_device(), axis))

    def from_all_workers(
        self, kind: str, payloads: Sequence[Any], options: CommunicationOptions | None = None
    ) -> Sequence[Any]:
        """What the replicas of all workers bring, given what those of this worker bring."""
        if self.plan.workers == 1:
            return payloads
        limit = (options or self.plan.communication).timeout_seconds
        return exchange(kind, payloads, self.plan.peers, timeout_seconds=limit, writes=self.own_writes)

    def aggregate(
        self, strategy: "StrategyBase", variable: DistributedVariable, verb: str, payloads: Sequence[Any]
    ) -> Any:
        """Combine what the replicas bring to a write into one value."""
        if Served.running is not None:
            hungry_replicas.look(payloads, f"brought to {verb}() of {variable.name!r}", infinite=True)
        return aggregated(strategy, variable, verb, self.from_all_workers(verb, payloads), payloads[0])

    @context.contained
    def create_variable(self, following: Callable[..., Any], **kwargs: Any) -> Any:
        """Make a new variable in the form that this strategy gives it."""
        return create_variable(context.get_strategy(), following, kwargs)

    def _reducible(self, op: ReduceOp, value: Any) -> Any:
        """Convert what is to be reduced to per-replica tensors; a plain value stays plain where that makes sense."""
        if isinstance(value, DistributedVariable):
            value = PerReplica([copy.stored for copy in value.copies])
        if isinstance(value, DistributedValues):
            arguments.require_count(value, self.num_replicas)
            place, kind = self.plan.backend.device_of, self.plan.backend.tensor_type
            # Usually each is a tensor on its own replica's device already.
            return PerReplica(
                [
                    part if isinstance(part, kind) and place(part) == device else self.combinable(part, device)
                    for part, device in zip(value.values, self.plan.devices, strict=True)
                ]
            )
        if self.plan.workers > 1 and self.num_replicas == 1:
            return PerReplica([self.combinable(value, self.plan.devices[0])])
        if self.num_replicas > 1 and op is not ReduceOp.MEAN:
            raise ValueError(
                f"A plain value ({value!r}) was to be combined over {self.num_replicas} replicas; expected a per-replica value. "
                f"Return it from run, or make it with experimental_distribute_values_from_function."
            )
        return self.combinable(value, None)

    def _earlier_creations(self, fn: Callable[..., Any]) -> dict[Any, Any]:
        """What the variables of a new run are noted in, with the places where the same function has made some before."""
        known = self._creators.get(_identity(fn))
        return {} if known is None else {EARLIER: known[1]}

    def _remember_creations(self, fn: Callable[..., Any], creations: dict[Any, Any]) -> None:
        places = {place for place, made in creations.items() if isinstance(made, list)}
        if places and len(self._creators) < _MOST_CREATORS:
            self._creators.setdefault(_identity(fn), (fn, set()))[1].update(places)

    def _results_of_update(self, results: list[Any], group: bool) -> Any:
        if not group:
            return tuple(results)
        return regroup([nest.map_structure(current_value, result) for result in results], Mirrored)

    def _frames(self, strategy: "StrategyBase") -> list[context.Frame]:
        """The frames of the replicas, made anew only when the scope around them has changed."""
        known, frame = self._known_frames, HERE.get().frame
        assert frame is not None
        if not known or known[0].strategy is not strategy or known[0].creators != frame.creators:
            known = self._known_frames = context.replica_frames(strategy)
        return known

    def _surroundings(self, frames: list[context.Frame]) -> "_Surroundings":
        """Where each replica of a run is: as in the last run, if nothing around has changed, and no other run goes on there."""
        outside, free = HERE.get()[2:], self._free_surroundings
        self._free_surroundings = None  # a run of another thread makes its own
        if free is not None and free.frames is frames and free.outside == outside:
            return free
        creations: dict[Any, Any] = {}
        inside = HERE.get()._replace(creations=creations, tapes=None)[2:]
        places = [where_of((*pair, *inside)) for pair in zip(frames, self.plan.devices, strict=True)]
        return _Surroundings(frames, outside, creations, places, [])

    def _answers(self, value: Any) -> Sequence[Any]:
        """What each replica gets from a reduction, which a user's own class may have carried out."""
        parts = value.values if isinstance(value, DistributedValues) else [value]
        kinds, (tensor_type, count) = set(map(type, parts)), (self.plan.backend.tensor_type, len(self.plan.devices))
        if len(parts) != count or (
            kinds != {tensor_type} and not all([issubclass(kind, (tensor_type, IndexedSlices)) for kind in kinds])
        ):
            raise ValueError(
                f"The cross_device_ops returned {value!r} of a reduction to {self.num_replicas} devices; expected a tensor on each "
                f"of them. Correct {type(self.plan.collectives).__name__}.reduce_implementation()."
            )
        return parts

    def _resumed(self, index: int, paused: Context | None) -> AbstractContextManager[Any]:
        """Let the backend compute where a replica does: on its own device, or where it was when it paused."""
        device = self.plan.devices[index] if paused is None else paused[HERE].device
        return self.backend.on(device)

    def _owned(self, result: Any, device: Device) -> Any:
        """Convert arrays of other libraries in a replica's result to tensors on the replica's device."""
        if isinstance(result, self.plan.backend.tensor_type):
            return result
        if not nest.is_container(result):
            return self.backend.put(result, device) if _foreign(result, self.backend.tensor_type) else result
        foreign = [_foreign(leaf, self.backend.tensor_type) for leaf in nest.flatten(result)]
        if not any(foreign):
            return result
        return nest.map_structure(
            lambda leaf: self.backend.put(leaf, device) if _foreign(leaf, self.backend.tensor_type) else leaf, result
        )


class _Surroundings(NamedTuple):
    """Where the replicas of a run are, which hundreds of runs have in common."""

    frames: list[context.Frame]
    outside: tuple[Any, ...]  # what is around the run
    creations: dict[Any, Any]  # the variables made in the run
    places: list[Where]  # by replica
    known_contexts: list[Context]  # the same as contexts, once known, without what anybody else has set

    def contexts(self) -> list[Context]:
        """The contexts in which replicas begin, which have what is set around the run, too."""
        around = copy_context()
        alone = len(around) == 1  # where the code is, and nothing else
        if alone and self.known_contexts:
            return self.known_contexts
        contexts = [around.copy() for _ in self.places]
        for one, place in zip(contexts, self.places, strict=True):
            one.run(HERE.set, place)
        if alone:
            self.known_contexts.extend(contexts)
        return contexts


_MOST_CREATORS = 64  # functions are kept alive, so that no other gets the identity of one


def _identity(fn: Callable[..., Any]) -> tuple[int, int]:
    """What tells functions apart: of a method, which is made anew whenever it is asked for, its function and its object."""
    return id(getattr(fn, "__func__", fn)), id(getattr(fn, "__self__", None))


def _told(kind: ReduceOp | str, value: Any, result: Any) -> Any:
    """Return the result of combining a value outside of the replicas, after telling a journal of it."""
    if (journal := HERE.get().journal) is not None:
        journal.combined(kind if isinstance(kind, str) else f"reduce({kind.name})", value, result)
    return result


def _foreign(leaf: Any, tensor_type: type) -> bool:
    return hasattr(leaf, "__array__") and not isinstance(leaf, (tensor_type, Tensor, Variable))


def python_watch(fn: Any, args: Any, kwargs: Any) -> Any:
    """What watches Python objects, where the user has asked for it."""
    return importlib.import_module("refdist._core.strategies.python_state").PythonWatch(fn, args, kwargs)


def _captured_state() -> Any:
    """What watches objects of flax, which most programs do not have."""
    return importlib.import_module("refdist._core.strategies.captured_state")

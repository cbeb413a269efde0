"""The cross-replica verbs of every strategy, written once and steered by its plan."""

import contextlib
import sys
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import Context
from types import FunctionType
from typing import TYPE_CHECKING, Any

from refdist._core.base import nest
from refdist._core.base.callables import NOT_RUN_WHEN_CALLED, require_callable
from refdist._core.base.enums import ReduceOp
from refdist._core.base.where import HERE, Where, entered
from refdist._core.clusters.workers import exchange, require_own_worker
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor
from refdist._core.replicas import context
from refdist._core.replicas.context import ReplicaContext
from refdist._core.replicas.garbage import MANY, fewer_collections
from refdist._core.replicas.lockstep import play
from refdist._core.replicas.values import DistributedValues, Mirrored, PerReplica, Storage, regroup, select
from refdist._core.seam.backend import NOWHERE, Backend, host_device
from refdist._core.seam.capabilities import Compiles, required
from refdist._core.seam.compiler import Compiler
from refdist._core.strategies import arguments
from refdist._core.strategies.plan import Plan
from refdist._core.variables.creation import HomeRotation, create_variable
from refdist._core.variables.distributed_variable import (
    DistributedVariable,
    MirroredVariable,
    aggregated,
    require_equal,
)
from refdist._core.variables.tensors import as_tensor, current_value
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase


class StrategyExtended:
    """Further methods of a strategy, for library authors.

    A *replica* is one copy of the computation, on its own device. Code in the function given to `run` is in
    *replica context*; code in `strategy.scope()` but in no replica is in *cross-replica context*, which the methods
    of this class need. A *per-replica* value has one component for each replica; to *reduce* it is to combine its
    components into one value. A *mirrored* value has equal components.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.turns = plan, HomeRotation()
        self._container: Callable[[], StrategyBase | None] = lambda: None
        self._known_frames: list[context.Frame] = []
        self._compiler: Compiler | None = None

    def bind(self, strategy: "StrategyBase") -> None:
        """Remember the first strategy that is made of this object."""
        if self._container() is None:
            self._container = weakref.ref(strategy)
            self.first_replica = ReplicaContext(strategy, self.plan.first_replica)  # for code that is in no scope

    @property
    def backend(self) -> Backend:
        """What the strategy computes with; it was captured when the strategy was made."""
        return self.plan.backend

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices on which replicas run, by replica."""
        return self.plan.devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices on which variables live."""
        return self.plan.homes

    @property
    def num_replicas(self) -> int:
        """How many replicas run in step."""
        return len(self.plan.devices)

    @context.contained
    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Run a function on each replica, in lockstep, and merge what they return."""
        with self._entered("call_for_each_replica()") as strategy:
            return self.run(strategy, fn, args, kwargs)

    def run(self, strategy: "StrategyBase", fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do the work of `call_for_each_replica`, in the scope of a strategy."""
        if type(fn) is not FunctionType or fn.__code__.co_flags & NOT_RUN_WHEN_CALLED:
            require_callable(fn)
        if "jax" in sys.modules:
            context.require_no_trace("run()")
        plan = self.plan
        backend, devices, count = plan.backend, plan.devices, len(plan.devices)
        if plan.resolver is not None:
            require_own_worker(devices[0])
        given = arguments.Arguments(self, args, kwargs)
        frames = self._frames(strategy)
        step = NOWHERE if plan.timed is None else plan.timed.step(devices)
        if count == 1:
            with step, entered(frame=frames[0], device=devices[0]), backend.on(devices[0]):
                positional, named = given.of(0)
                return self._owned(fn(*positional, **named), devices[0])
        tensor_type, surroundings = backend.tensor_type, HERE.get()._replace(creations={})[2:]

        def body(index: int) -> Any:
            # As Where(...), but without the Python function that a named tuple puts in front of it.
            HERE.set(tuple.__new__(Where, (frames[index], devices[index], *surroundings)))
            positional, named = given.of(index)
            # Called without a star in the common cases: Python then does not use the C stack, which a greenlet has to save.
            if named or len(positional) > 1:
                result = fn(*positional, **named)
            else:
                result = fn(positional[0]) if positional else fn()
            return result if isinstance(result, tensor_type) else self._owned(result, devices[index])

        # Where a backend computes is not known to greenlets: each stretch of a body is run inside of it.
        ambient = backend.on(devices[0]) is not NOWHERE
        # What replicas have entered there is left once more at the end: a Ctrl-C can keep one of them from leaving it.
        around = backend.on(None) if ambient else NOWHERE
        with step, around, fewer_collections(count) if count >= MANY else NOWHERE:
            results = play(
                count,
                body,
                name=lambda index: f"replica {index} of {count}, on {devices[index].short}",
                scope=self._resumed if ambient else None,
            )
        return regroup(results)

    @context.contained
    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None) -> Any:
        """Combine a per-replica value, and leave the result on the devices of the destinations."""
        op = ReduceOp.of(reduce_op)
        with self._entered("reduce_to()"):
            prepared = self._reducible(op, value)
            if not isinstance(prepared, DistributedValues):
                return self.plan.collectives.broadcast(prepared, destinations)
            everybodys = PerReplica(self.from_all_workers(f"reduce({op.name})", prepared.values))
            return self.plan.collectives.reduce(op, everybodys, destinations, options)

    @context.contained
    def batch_reduce_to(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]], options: Any = None
    ) -> list[Any]:
        """Combine several per-replica values, each to its own destinations."""
        op = ReduceOp.of(reduce_op)
        with self._entered("batch_reduce_to()"):
            pairs = [(self._reducible(op, value), to) for value, to in value_destination_pairs]
            if not all(isinstance(value, DistributedValues) for value, _ in pairs):
                return [self.reduce_to(op, value, to, options) for value, to in value_destination_pairs]
            everybodys = [
                (PerReplica(self.from_all_workers(f"reduce({op.name})", value.values)), to) for value, to in pairs
            ]
            return self.plan.collectives.batch_reduce(op, everybodys, options)

    def reduce(self, op: ReduceOp, value: Any) -> Any:
        """Combine a per-replica value, and bring the result to the current device."""
        return self.reduce_to(op, value, self.current_device())

    def all_reduce(self, op: ReduceOp, payloads: Sequence[Any], options: Any = None) -> Sequence[Any]:
        """Combine one nest of tensors from each replica; each replica gets the result on its device."""
        payloads, mine = self.from_all_workers(f"all_reduce({op.name})", payloads), len(payloads)
        if not isinstance(payloads[0], nest.CONTAINERS):
            return self._answers(self.plan.collectives.reduce(op, PerReplica(payloads), self.plan.devices, options))
        flat = zip(*[nest.flatten(payload) for payload in payloads], strict=True)
        pairs = [(PerReplica(column), self.plan.devices) for column in flat]
        columns = [self._answers(value) for value in self.plan.collectives.batch_reduce(op, pairs, options)]
        if len(columns) != len(pairs):
            raise ValueError(
                f"The cross_device_ops returned {len(columns)} values of batch_reduce(); expected {len(pairs)}, one for each pair. "
                f"Correct {type(self.plan.collectives).__name__}.batch_reduce_implementation()."
            )
        return [nest.pack_sequence_as(p, [c[i] for c in columns]) for i, p in enumerate(payloads[:mine])]

    def all_gather(self, payloads: Sequence[Any], axis: int) -> Sequence[Any]:
        """Join one nest of tensors from each replica; each replica gets the result on its device."""
        payloads, mine = self.from_all_workers(f"all_gather(axis={axis})", payloads), len(payloads)
        columns = zip(*[nest.flatten(payload) for payload in payloads], strict=True)
        joined = [_components(self.plan.collectives.gather(PerReplica(c), self.plan.devices, axis)) for c in columns]
        return [nest.pack_sequence_as(p, [c[i] for c in joined]) for i, p in enumerate(payloads[:mine])]

    def gather(self, value: Any, axis: int) -> Any:
        """Join the components of a per-replica value on the current device."""
        prepared = self._reducible(ReduceOp.SUM, value)
        whole = PerReplica(self.from_all_workers(f"gather(axis={axis})", _components(prepared)))
        return self.plan.collectives.gather(whole, self.current_device(), axis)

    def from_all_workers(self, kind: str, payloads: Sequence[Any]) -> Sequence[Any]:
        """What the replicas of all workers bring, given what those of this one do."""
        return payloads if self.plan.workers == 1 else exchange(kind, payloads)

    def aggregate(
        self, strategy: "StrategyBase", variable: DistributedVariable, verb: str, payloads: Sequence[Any]
    ) -> Any:
        """Make one value of what the replicas bring to a write."""
        return aggregated(strategy, variable, verb, self.from_all_workers(verb, payloads))

    @context.contained
    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Mirror one tensor on the devices of the destinations."""
        with self._entered("broadcast_to()"):
            return self.plan.collectives.broadcast(self.tensor(tensor, None), destinations)

    @context.contained
    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Call `fn(copy, *args, **kwargs)` for each copy of a variable, on that copy's device."""
        if not isinstance(var, Variable):
            raise TypeError(
                f"update() got a {type(var).__name__}; expected a variable. Pass the variable that fn is to change."
            )
        with self._entered("update()") as strategy:
            if isinstance(var, DistributedVariable) and var.strategy is not strategy:
                raise ValueError(
                    f"update() got {var.name!r}, a variable of another strategy; expected one made in this strategy's scope. "
                    f"Call update() of the strategy that made it."
                )

            def write() -> list[Any]:
                copies = var.copies
                results = [self._update_one(i, copy, fn, args, kwargs or {}) for i, copy in enumerate(copies)]
                if isinstance(var, MirroredVariable):
                    require_equal(var, "update", [copy.stored for copy in copies])
                return results

            results = Storage.all_or_nothing([shard.storage for shard in var.shards], write)
            return (
                regroup([nest.map_structure(current_value, r) for r in results], Mirrored) if group else tuple(results)
            )

    @context.contained
    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call `fn(*args, **kwargs)` once, on the first device that shared state lives on."""
        with (
            self._entered("update_non_slot()"),
            entered(device=self.plan.homes[0]),
            self.backend.on(self.plan.homes[0]),
        ):
            return fn(*select(tuple(args), 0), **select(dict(kwargs or {}), 0))

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """The devices for state that belongs to several variables."""
        return self.plan.homes

    def read_var(self, v: Variable) -> Any:
        """The value of a variable, as cross-replica code sees it."""
        return v.read_value()

    def value_container(self, value: Any) -> Any:
        """The distributed variable that a copy belongs to, or the value itself."""
        return getattr(value, "container", None) or value

    def variable_created_in_scope(self, v: Any) -> bool:
        """Say whether a variable was made in this strategy's scope."""
        return isinstance(v, Variable) and v.distribute_strategy is not None and v.distribute_strategy is self.strategy

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Variable) -> Generator[None]:
        """Make variables inside where another one of this strategy lives."""
        if not self.variable_created_in_scope(colocate_with_variable):
            raise ValueError(
                f"colocate_vars_with() got {colocate_with_variable!r}; expected a variable made in this strategy's scope. "
                f"Make it inside `with strategy.scope():`."
            )
        with entered(colocated=Device(colocate_with_variable.device)):
            yield

    @property
    def strategy(self) -> "StrategyBase":
        """The strategy that was made of this object."""
        strategy = self._container()
        if strategy is None:
            raise RuntimeError(
                "The strategy of this object is gone; expected one that is kept. Keep the strategy itself."
            )
        return strategy

    def compiler(self) -> Compiler:
        """What writes programs for the replicas of this strategy."""
        if self._compiler is None:
            self._compiler = required(self.backend, Compiles, "tf.function").compiler(self.plan)
        return self._compiler

    @context.contained
    def create_variable(self, following: Callable[..., Any], **kwargs: Any) -> Any:
        """Make what this strategy makes of a new variable."""
        return create_variable(context.get_strategy(), following, kwargs)

    def current_device(self) -> Device:
        """Where results go: the device of the surrounding device scope, or else the host."""
        return HERE.get().device or host_device(self.backend)

    def tensor(self, value: Any, device: Device | None) -> Any:
        """Make a tensor of a value on a device; what is one already is only moved."""
        backend = self.plan.backend
        if isinstance(value, backend.tensor_type) and (device is None or backend.device_of(value) == device):
            return value  # mostly; asked here, too, because every tensor that a replica brings comes by
        return as_tensor(backend, value, device)

    def components(self, value: Any) -> Sequence[Any]:
        """The tensors of a per-replica value; a plain value is one where there is one replica."""
        return _components(self._reducible(ReduceOp.SUM, value))

    @contextlib.contextmanager
    def _entered(self, what: str) -> Generator["StrategyBase"]:
        """Require cross-replica context, and enter it for the caller where no scope is active."""
        strategy = context.get_strategy()
        if context.in_cross_replica_context() and strategy.extended is self:
            yield strategy
            return
        context.require_cross_replica(self.strategy, what)
        with self.strategy.scope():
            yield self.strategy

    def _reducible(self, op: ReduceOp, value: Any) -> Any:
        """Make per-replica tensors of what is to be reduced; a plain value stays plain where that has a meaning."""
        if isinstance(value, DistributedVariable):
            value = PerReplica([copy.stored for copy in value.copies])
        if isinstance(value, DistributedValues):
            arguments.require_count(value, self.num_replicas)
            return PerReplica(
                [self.tensor(part, device) for part, device in zip(value.values, self.plan.devices, strict=True)]
            )
        if self.plan.workers > 1 and self.num_replicas == 1:
            return PerReplica([self.tensor(value, self.plan.devices[0])])
        if self.num_replicas > 1 and op is not ReduceOp.MEAN:
            raise ValueError(
                f"A plain value ({value!r}) was to be combined over {self.num_replicas} replicas; expected a per-replica value. "
                f"Return it from run, or make it with experimental_distribute_values_from_function."
            )
        return self.tensor(value, None)

    def _update_one(self, index: int, copy: Variable, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        device = Device(copy.device)
        with context.crossed(context.get_strategy(), update=index), entered(device=device), self.backend.on(device):
            return fn(copy, *select(tuple(args), index), **select(dict(kwargs), index))

    def _frames(self, strategy: "StrategyBase") -> list[context.Frame]:
        """The frames of the replicas, made anew only when the scope around them has changed."""
        known, frame = self._known_frames, HERE.get().frame
        assert frame is not None
        if not known or known[0].strategy is not strategy or known[0].creators != frame.creators:
            known = self._known_frames = context.replica_frames(strategy)
        return known

    def _answers(self, value: Any) -> Sequence[Any]:
        """What each replica gets of a reduction, which a user's own class may have done."""
        parts = value.values if isinstance(value, DistributedValues) else [value]
        kinds, (tensor_type, count) = set(map(type, parts)), (self.plan.backend.tensor_type, len(self.plan.devices))
        if len(parts) != count or (
            kinds != {tensor_type} and not all([issubclass(kind, tensor_type) for kind in kinds])
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
        """Bring arrays of other libraries in a replica's result to the backend and the replica's device."""
        if isinstance(result, self.plan.backend.tensor_type):
            return result
        foreign = [_foreign(leaf, self.backend.tensor_type) for leaf in nest.flatten(result)]
        if not any(foreign):
            return result
        return nest.map_structure(
            lambda leaf: self.backend.put(leaf, device) if _foreign(leaf, self.backend.tensor_type) else leaf, result
        )


def _foreign(leaf: Any, tensor_type: type) -> bool:
    return hasattr(leaf, "__array__") and not isinstance(leaf, (tensor_type, Tensor, Variable))


def _components(value: Any) -> Sequence[Any]:
    return value.values if isinstance(value, DistributedValues) else [value]

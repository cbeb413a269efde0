"""The verbs of a strategy: what contexts, variables and library authors ask of it, whether replicas run or a draft is written."""

import abc
import contextlib
import dataclasses
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from refdist._core.base import nest
from refdist._core.base.callables import require_arguments, require_callable
from refdist._core.base.enums import ReduceOp
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.options import CommunicationOptions, require_communication
from refdist._core.base.where import HERE, entered
from refdist._core.clusters.workers import workers_run_together
from refdist._core.devices.device import Device
from refdist._core.replicas import context
from refdist._core.replicas.context import ReplicaContext
from refdist._core.replicas.values import DistributedValues, Storage, select
from refdist._core.seam.backend import Backend, host_device
from refdist._core.seam.capabilities import Compiles, required
from refdist._core.seam.compiler import Compiler
from refdist._core.strategies.plan import Plan
from refdist._core.variables.creation import HomeRotation
from refdist._core.variables.distributed_variable import (
    DistributedVariable,
    MirroredVariable,
)
from refdist._core.variables.equal_copies import require_equal, require_one_value
from refdist._core.variables.tensors import as_tensor
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase


class StrategyExtended(abc.ABC):
    """Further methods of a strategy, for library authors.

    A *replica* is one copy of the computation, on its own device. Code in the function given to `run` is in
    *replica context*; code in `strategy.scope()` but in no replica is in *cross-replica context*, which the methods
    of this class need. A *per-replica* value has one component for each replica; to *reduce* it is to combine its
    components into one value. A *mirrored* value has equal components.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.turns = plan, HomeRotation()
        self._container: Callable[[], StrategyBase | None] = lambda: None
        self._compiler: Compiler | None = None

    def bind(self, strategy: "StrategyBase") -> None:
        """Remember the first strategy that is made from this object."""
        if self._container() is None:
            self._container = weakref.ref(strategy)
            self.first_replica = ReplicaContext(strategy, self.plan.first_replica)  # for code that is in no scope

    @property
    def backend(self) -> Backend:
        """The backend of the strategy, captured when the strategy was made."""
        return self.plan.backend

    @property
    @abc.abstractmethod
    def worker_devices(self) -> tuple[str, ...]:
        """The devices on which replicas run, by replica."""

    @property
    @abc.abstractmethod
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices on which variables live."""

    @property
    def num_replicas(self) -> int:
        """How many replicas run in step."""
        return len(self.plan.devices)

    @context.contained
    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Run a function on each replica, in lockstep, and merge what they return."""
        with self._entered("call_for_each_replica()") as strategy:
            return self.run(strategy, fn, args, kwargs)

    @abc.abstractmethod
    def run(self, strategy: "StrategyBase", fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do the work of `call_for_each_replica`, in the scope of a strategy."""

    @abc.abstractmethod
    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None) -> Any:
        """Combine a per-replica value, and leave the result on the devices of the destinations."""

    @abc.abstractmethod
    def batch_reduce_to(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]], options: Any = None
    ) -> list[Any]:
        """Combine several per-replica values, each to its own destinations."""

    def communication(self, options: Any, what: str) -> CommunicationOptions:
        """The options of an exchange: those of the call, and those of the strategy where the call says nothing."""
        own = self.plan.communication
        if options is None:
            return own
        require_communication(options, what)
        merged = own.merge(options)
        # As the page has it, the packs of TPUs are not the user's choice.
        return dataclasses.replace(merged, bytes_per_pack=0) if self.plan.name == "tpu" else merged

    def reduce(self, op: ReduceOp, value: Any) -> Any:
        """Combine a per-replica value, and bring the result to the current device."""
        return self.reduce_to(op, value, self.current_device())

    @abc.abstractmethod
    def all_reduce(
        self, op: ReduceOp, payloads: Sequence[Any], options: Any = None, name: str | None = None
    ) -> Sequence[Any]:
        """Combine one nest of tensors from each replica; each replica gets the result on its device."""

    @abc.abstractmethod
    def all_gather(
        self, payloads: Sequence[Any], axis: int, options: Any = None, name: str | None = None
    ) -> Sequence[Any]:
        """Join one nest of tensors from each replica; each replica gets the result on its device."""

    @abc.abstractmethod
    def permute(self, payloads: Sequence[Any], sources: Sequence[int], name: str | None = None) -> Sequence[Any]:
        """Give each replica the nest of tensors of another one, on its own device."""

    @abc.abstractmethod
    def gather(self, value: Any, axis: int) -> Any:
        """Join the components of a per-replica value on the current device."""

    @abc.abstractmethod
    def from_all_workers(
        self, kind: str, payloads: Sequence[Any], options: CommunicationOptions | None = None
    ) -> Sequence[Any]:
        """What the replicas of all workers bring, given what those of this worker bring.

        Args:
            options: how long to wait for the others, where that is not what the strategy says; virtual workers never wait.
        """

    def of_each_worker(self, kind: str, payload: Any) -> Sequence[Any]:
        """What each worker says, in their order; one that runs alone has nobody to ask, and hears itself only."""
        alone = self.plan.in_lockstep and not workers_run_together()
        return [payload] if alone else self.from_all_workers(kind, [payload])

    @abc.abstractmethod
    def aggregate(
        self, strategy: "StrategyBase", variable: DistributedVariable, verb: str, payloads: Sequence[Any]
    ) -> Any:
        """Combine what the replicas bring to a write into one value."""

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
        require_callable(fn, "update()")
        require_arguments(args, kwargs, "update()")
        with self._entered("update()") as strategy:
            if isinstance(var, DistributedVariable) and var.strategy is not strategy:
                raise ValueError(
                    f"update() got {var.name!r}, a variable of another strategy; expected one made in this strategy's scope. "
                    f"Call update() of the strategy that made it."
                )

            if len(var.all_copies) == 1 and HERE.get().draft is None:  # a program finds that out when it runs
                for leaf in nest.flatten((tuple(args), dict(kwargs or {}))):
                    require_one_value(var, leaf)

            def write() -> list[Any]:
                copies = var.copies
                results = [self._update_one(i, copy, fn, args, kwargs or {}) for i, copy in enumerate(copies)]
                if isinstance(var, MirroredVariable):
                    require_equal(var, "update", [copy.stored for copy in copies])
                return results

            results = Storage.all_or_nothing([shard.storage for shard in var.shards], write)
            return self._results_of_update(results, group)

    @abc.abstractmethod
    def _results_of_update(self, results: list[Any], group: bool) -> Any:
        """What `update` returns, given the result for each local copy of the variable."""

    @context.contained
    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call `fn(*args, **kwargs)` once, on the first device that shared state lives on."""
        require_callable(fn, "update_non_slot()")
        require_arguments(args, kwargs, "update_non_slot()")
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
        """Place the variables made inside where another one of this strategy lives."""
        if not self.variable_created_in_scope(colocate_with_variable):
            raise ValueError(
                f"colocate_vars_with() got {colocate_with_variable!r}; expected a variable made in this strategy's scope. "
                f"Make it inside `with strategy.scope():`."
            )
        with entered(colocated=Device(colocate_with_variable.device)):
            yield

    @property
    def strategy(self) -> "StrategyBase":
        """The strategy that was made from this object."""
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

    @abc.abstractmethod
    def create_variable(self, following: Callable[..., Any], **kwargs: Any) -> Any:
        """Make a new variable in the form that this strategy gives it."""

    def current_device(self) -> Device:
        """Where results go: the device of the surrounding device scope, or else the host."""
        return HERE.get().device or host_device(self.backend)

    def tensor(self, value: Any, device: Device | None) -> Any:
        """Make a tensor from a value on a device; an existing tensor is only moved."""
        return as_tensor(self.plan.backend, value, device)

    def combinable(self, value: Any, device: Device | None) -> Any:
        """Do the same, but let slices stay slices, of tensors on that device."""
        return (
            value.mapped(lambda part: self.tensor(part, device))
            if isinstance(value, IndexedSlices)
            else self.tensor(value, device)
        )

    def components(self, value: Any) -> Sequence[Any]:
        """The tensors of a per-replica value; a plain value is one where there is one replica, and slices are made whole."""
        return [self.tensor(part, None) for part in components_of(self._reducible(ReduceOp.SUM, value))]

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

    @abc.abstractmethod
    def _reducible(self, op: ReduceOp, value: Any) -> Any:
        """Convert what is to be reduced to per-replica tensors; a plain value stays plain where that makes sense."""

    def _update_one(self, index: int, copy: Variable, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        device = Device(copy.device)
        with context.crossed(context.get_strategy(), update=index), entered(device=device), self.backend.on(device):
            return fn(copy, *select(tuple(args), index), **select(dict(kwargs), index))


def components_of(value: Any) -> Sequence[Any]:
    """The components of a distributed value; a plain value is its own only component."""
    return value.values if isinstance(value, DistributedValues) else [value]

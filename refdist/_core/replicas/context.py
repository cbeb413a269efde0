"""Where the code is: in whose scope, in which replica, or in between."""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from refdist._core.base import nest
from refdist._core.base.call_sites import call_site
from refdist._core.base.enums import ReduceOp
from refdist._core.devices.device import PLACEMENT, Device
from refdist._core.replicas.lockstep import Meeting, pause, require_no_body_around
from refdist._core.replicas.values import DistributedValues, regroup, select
from refdist._core.seam.backend import Backend, current
from refdist._core.seam.draft import STAGE

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase

Creator = Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class Frame(NamedTuple):
    """What the surrounding code has entered."""

    strategy: "StrategyBase"
    replica: "ReplicaContext | None"  # None in cross-replica context
    creators: tuple[Creator, ...]  # innermost last
    updating: int | None = None  # the copy that extended.update is working on
    set_by_hand: bool = False  # by experimental_set_strategy


# The variables made during a run, and how many each replica has made at each place; one dict for all its replicas.
CREATIONS: contextvars.ContextVar[dict[Any, Any]] = contextvars.ContextVar("creations")
_FRAME: contextvars.ContextVar[Frame | None] = contextvars.ContextVar("frame", default=None)
_default_strategy: "Callable[[], StrategyBase] | None" = None


class ReplicaContext:
    """What one replica knows of itself, and how it meets the others."""

    __slots__ = ("_extended", "_replica_id", "_strategy", "local_index")

    def __init__(self, strategy: "StrategyBase", replica_id_in_sync_group: Any) -> None:
        self._strategy = strategy
        self._extended = strategy.extended
        self._replica_id = replica_id_in_sync_group
        self.local_index = replica_id_in_sync_group - self._extended.plan.first_replica  # among those of this worker

    @property
    def strategy(self) -> "StrategyBase":
        """The strategy that runs this replica."""
        return self._strategy

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of this replica, from 0."""
        if self._extended.plan.backend.staging():
            require_not_staged("replica_id_in_sync_group")
        return self._replica_id

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas run in step."""
        return self._strategy.num_replicas_in_sync

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of this replica: one."""
        return (self._strategy.extended.plan.devices[self.local_index],)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Wait for all replicas, then call a function once, in cross-replica context, with everybody's arguments.

        It is called as `merge_fn(strategy, *args, **kwargs)`, each argument a per-replica value; each replica gets
        its own component of what it returns.
        """
        self.require_current("merge_call")
        if not callable(merge_fn) or not isinstance(args, (tuple, list)):
            raise TypeError(
                f"merge_call() got merge_fn={merge_fn!r} and args={args!r}; expected a function, and a tuple of arguments. Write "
                f"merge_call(function, args=(value,))."
            )
        named = dict(kwargs or {})
        details = _Named(merge_fn, len(args), tuple(sorted(named)))
        return self.meet("merge_call", details, self._merge, (merge_fn, tuple(args), named))

    @staticmethod
    def _merge(strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
        return _merge(strategy, payloads)

    def all_reduce(self, reduce_op: ReduceOp | str, value: Any, options: Any = None) -> Any:
        """Combine the values of all replicas, and leave the result with each of them."""
        op = ReduceOp.of(reduce_op)
        self.require_current("all_reduce")
        tensors = self._tensors(value)
        details = _signature(tensors) if nest.is_container(value) else (tensors.shape, tensors.dtype)
        kind = "all_reduce(SUM)" if op is _SUM else "all_reduce(MEAN)"
        return self.meet(kind, details, _all_reduce, (op, options, tensors))

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """Join the values of all replicas along an axis, and leave the result with each of them."""
        self.require_current("all_gather")
        tensors = self._tensors(value)
        # Sizes may differ along the axis; the gathering itself checks the others.
        return self.meet(f"all_gather(axis={axis})", nest.shape_of(tensors), _all_gather, (axis, tensors))

    def meet(
        self, kind: str, details: Any, hold: "Callable[[StrategyBase, Sequence[Any]], Sequence[Any]]", payload: Any
    ) -> Any:
        """Come to a meeting of all replicas: the one way in which they exchange anything.

        Args:
            kind: what the replica does; all must do the same.
            details: what must agree beside it, comparable and printable.
            hold: gets the strategy and everybody's payloads, once, in cross-replica context; returns all answers.
            payload: what this replica brings.
        """
        if len(self._extended.plan.devices) == 1:
            with crossed(self._strategy):
                return hold(self._strategy, [payload])[0]
        # As Meeting(...), but without the Python function that a named tuple puts in front of it.
        site = call_site(3, pausing=True)
        return pause(tuple.__new__(Meeting, (kind, details, hold, self._strategy, payload, site)))

    def require_current(self, kind: str) -> None:
        """Raise unless the code is in this replica, and not inside a trace."""
        frame = _FRAME.get()
        if (frame.replica if frame is not None else get_replica_context()) is not self:
            raise RuntimeError(
                f"{kind} was called on the context of replica {self._replica_id} from outside that replica; expected a "
                f"call in the function that strategy.run runs. Take tf.distribute.get_replica_context() there."
            )
        if self._extended.plan.backend.tracing():
            require_no_trace(self._extended.plan.backend, kind)

    def _tensors(self, value: Any) -> Any:
        extended, device = self._extended, self._extended.plan.devices[self.local_index]
        if not nest.is_container(value):
            return extended.tensor(value, device)
        return nest.map_structure(lambda leaf: extended.tensor(leaf, device), value)


_SUM = ReduceOp.SUM  # looking it up in the enum costs as much as the rest of a comparison


class _Named:
    """A function in a meeting, and how it is called: equal when its code is, printed by name."""

    def __init__(self, function: Any, *called: Any) -> None:
        while isinstance(function, functools.partial):
            function = function.func
        function = getattr(function, "__func__", function)
        self._code = getattr(function, "__code__", None) or type(function)
        self._called = called

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and self._code is other._code and self._called == other._called

    def __hash__(self) -> int:
        return hash(self._code)

    def __str__(self) -> str:
        name = getattr(self._code, "co_name", None) or self._code.__name__
        count, keywords = self._called
        return f"{name} with {', '.join([f'{count} arguments', *keywords])}"


def _merge(strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
    functions, args, kwargs = zip(*payloads, strict=True)
    merged = [regroup(column) for column in zip(*args, strict=True)]
    result = functions[0](strategy, *merged, **regroup(kwargs))
    for leaf in nest.flatten(result):
        if isinstance(leaf, DistributedValues) and not hasattr(leaf, "assign") and len(leaf.values) != len(payloads):
            raise ValueError(
                f"The function given to merge_call returned a value with {len(leaf.values)} components; expected one for each of "
                f"the {len(payloads)} replicas. Return a value of this strategy, or a plain one."
            )
    loosened = getattr(strategy.extended.backend, "loosened", None)
    if loosened is not None and len(payloads) > 1:
        result = nest.map_structure(loosened, result)  # one tensor for all replicas, which each uses on its own device
    return [select(result, index) for index in range(len(payloads))]


def _all_reduce(strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
    op, options, _ = payloads[0]
    return strategy.extended.all_reduce(op, [tensors for _, _, tensors in payloads], options)


def _all_gather(strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
    axis, _ = payloads[0]
    return strategy.extended.all_gather([tensors for _, tensors in payloads], axis)


def _signature(tensors: Any) -> Any:
    """What must agree between the nests that replicas bring: containers, shapes and dtypes."""
    return (nest.shape_of(tensors), *((leaf.shape, leaf.dtype) for leaf in nest.flatten(tensors)))


def get_strategy() -> "StrategyBase":
    """The strategy whose scope the code is in, or else the default one."""
    frame = _FRAME.get()
    return frame.strategy if frame is not None else default_strategy()


def has_strategy() -> bool:
    """Say whether the code is in the scope of a strategy other than the default."""
    frame = _FRAME.get()
    return frame is not None and not _is_default(frame.strategy)


def in_cross_replica_context() -> bool:
    """Say whether the code is in a scope, but in no replica."""
    frame = _FRAME.get()
    return frame is not None and frame.replica is None


def get_replica_context() -> ReplicaContext | None:
    """The context of the replica that the code is in; None in cross-replica context."""
    frame = _FRAME.get()
    if frame is not None:
        return frame.replica
    require_no_body_around()
    return default_strategy().extended.first_replica


def updating() -> int | None:
    """The index of the copy that `extended.update` is working on, if it is."""
    frame = _FRAME.get()
    return frame.updating if frame is not None else None


def creators() -> tuple[Creator, ...]:
    """The functions that a new variable passes through, the innermost last."""
    frame = _FRAME.get()
    return frame.creators if frame is not None else ()


def backend() -> Backend:
    """The backend of the current strategy, or else the one in use."""
    stage = STAGE.get()
    if stage is not None:
        return stage.backend
    frame = _FRAME.get()
    return frame.strategy.extended.backend if frame is not None else current()


def default_strategy() -> "StrategyBase":
    """The strategy that does nothing special."""
    assert _default_strategy is not None
    return _default_strategy()


def _is_default(strategy: "StrategyBase") -> bool:
    # There is one default strategy for each backend, and any of them is none in particular.
    return strategy.extended.plan.name == "default"


def install_default(make: "Callable[[], StrategyBase]") -> None:
    """Say where the default strategy comes from; it is defined further up than this module."""
    global _default_strategy
    _default_strategy = make


def contained(function: Function) -> Function:
    """Let a function leave nothing entered, whatever ends it.

    It runs in a copy of the context, which Python leaves in C: a Ctrl-C can come in the middle of entering or leaving a `with`
    block, but not there.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return contextvars.copy_context().run(function, *args, **kwargs)

    return call  # pyright: ignore[reportReturnType]


def current_frame() -> Frame | None:
    """The frame itself, for whoever enters and leaves scopes."""
    return _FRAME.get()


def replica_frames(strategy: "StrategyBase") -> list[Frame]:
    """The frames of all replicas of a strategy, entered from here."""
    chain, plan = creators(), strategy.extended.plan
    numbers = range(plan.first_replica, plan.first_replica + len(plan.devices))
    return [Frame(strategy, ReplicaContext(strategy, number), chain) for number in numbers]


def enter_replica(frame: Frame, device: Device) -> None:
    """Make the rest of this context run in a replica; nothing takes it back."""
    _FRAME.set(frame)
    PLACEMENT.set(device)


class Entered:
    """A block of code in a frame and on a device; no generator, for the reason that `Placed` is none."""

    __slots__ = ("_device", "_frame", "_tokens")

    def __init__(self, frame: Frame, device: Device | None) -> None:
        self._frame, self._device = frame, device

    def __enter__(self) -> None:
        self._tokens = _FRAME.set(self._frame), PLACEMENT.set(self._device)

    def __exit__(self, *exception: object) -> None:
        frame, placement = self._tokens
        PLACEMENT.reset(placement)
        _FRAME.reset(frame)


def entered_replica(frame: Frame, device: Device) -> Entered:
    """Run a block in a replica."""
    return Entered(frame, device)


def set_frame(frame: Frame | None) -> None:
    """Replace the frame without a `with`."""
    _FRAME.set(frame)


def crossed(strategy: "StrategyBase", update: int | None = None) -> Entered:
    """Enter the cross-replica context of a strategy, whatever was entered before."""
    return Entered(Frame(strategy, None, creators(), update), None if update is None else PLACEMENT.get())


def require_cross_replica(strategy: "StrategyBase", what: str) -> None:
    """Raise unless the code is in the cross-replica context of this strategy, or in no scope at all."""
    frame = _FRAME.get()
    if frame is None:
        return
    if frame.strategy is not strategy and not _is_default(frame.strategy):
        raise RuntimeError(
            f"{what} of {strategy!r} was called inside the scope of {frame.strategy!r}; expected one strategy at a time. "
            f"Leave the other scope first, or use the strategy that is current."
        )
    if frame.replica is not None and frame.strategy is strategy:
        raise RuntimeError(
            f"{what} was called in replica {frame.replica.replica_id_in_sync_group}; expected cross-replica context. "
            f"Call it outside the function given to run, or through get_replica_context().merge_call()."
        )


def require_known(strategy: "StrategyBase") -> None:
    """Tell the trace that the code is in, if it is in one, which strategy it is about."""
    stage = STAGE.get()
    if stage is not None:
        stage.extended(strategy)


def require_no_trace(backend: Backend, what: str) -> None:
    """Raise where JAX is tracing: what is traced there could leak out, and eager replicas cannot pause."""
    if backend.tracing():
        raise RuntimeError(
            f"{what} was called while JAX is tracing (inside jit, grad, vmap or scan); expected an eager call. Move it out of "
            f"the traced function: return what it needs, and call it afterwards."
        )


def require_not_staged(what: str) -> None:
    """Raise for what would be frozen into a compiled program, and be out of date when that runs."""
    raise RuntimeError(
        f"{what} was read inside jax.jit or a like transformation; expected a value from outside, because what is read there is "
        f"frozen into the compiled program. Read it before, and pass it as an argument."
    )


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Creator) -> Generator[None]:
    """Let a function see and change every variable creation: `creator(next_creator, **kwargs)`."""
    frame = _FRAME.get() or Frame(default_strategy(), default_strategy().extended.first_replica, ())
    token = _FRAME.set(frame._replace(creators=(*frame.creators, variable_creator)))
    try:
        yield
    finally:
        _FRAME.reset(token)


def placement_of(context: contextvars.Context) -> Device | None:
    """The device that a paused body was computing on."""
    return context.get(PLACEMENT)

"""What a replica knows about itself, how it meets the others, and how to ask where the code is."""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from refdist._core.backends.choosing import current
from refdist._core.base import nest
from refdist._core.base.call_sites import call_site
from refdist._core.base.enums import REDUCTIONS, ReduceOp
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import loaded, staging, tracing
from refdist._core.base.later_rooms import ask
from refdist._core.base.options import CommunicationOptions, require_communication
from refdist._core.base.where import HERE, Creator, Entered, Frame, entered
from refdist._core.devices.tensor import Tensor, likeness
from refdist._core.replicas.lockstep import held_and_told, pause, require_no_body_around
from refdist._core.replicas.meeting import Meeting, meeting_of
from refdist._core.replicas.merge_call import merge_together
from refdist._core.replicas.named_function import NamedFunction, UpdateOf
from refdist._core.replicas.permutations import sources_of
from refdist._core.seam.backend import Backend

if TYPE_CHECKING:
    from refdist._core.seam.tapes import Tapes
    from refdist._core.strategies.strategy import Strategy, StrategyBase

P = ParamSpec("P")
R = TypeVar("R")


class ReplicaContext:
    """What a replica knows about itself, and how it meets the others."""

    __slots__ = ("_alone", "_device", "_extended", "_of_numpy", "_replica_id", "_strategy", "local_index")

    staged = False  # whether its code is only written down, for a program

    def __init__(self, strategy: "StrategyBase", replica_id_in_sync_group: Any) -> None:
        self._strategy: Any = strategy
        self._extended = strategy.extended
        self._replica_id = replica_id_in_sync_group
        plan = self._extended.plan
        self.local_index: int = replica_id_in_sync_group - plan.first_replica  # among those of this worker
        self._alone, self._device = len(plan.devices) == 1, plan.devices[self.local_index]
        self._of_numpy = plan.backend.tensor_type is Tensor

    @property
    def strategy(self) -> "Strategy":
        """The strategy that runs this replica."""
        return self._strategy

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of this replica, from 0."""
        if HERE.get().draft is None and staging():
            require_not_staged("replica_id_in_sync_group")
        return self._replica_id

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas run in step."""
        return self._strategy.num_replicas_in_sync

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of this replica: one."""
        return (self._device,)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Wait for all replicas, then call a function once, in cross-replica context, with the arguments of all of them.

        It is called as `merge_fn(strategy, *args, **kwargs)`, where each argument is a per-replica value; each replica
        gets its own component of the result.
        """
        self.require_current("merge_call")
        if (
            not callable(merge_fn)
            or not isinstance(args, (tuple, list))
            or not (kwargs is None or isinstance(kwargs, Mapping))
        ):
            raise TypeError(
                f"merge_call() got merge_fn={merge_fn!r}, args={args!r} and kwargs={kwargs!r}; expected a function, a tuple of "
                f"arguments, and a dict of named ones. Write merge_call(function, args=(value,))."
            )
        named = dict(kwargs or {})
        details = NamedFunction(merge_fn, len(args), tuple(sorted(named)))
        return self.meet("merge_call", details, self._merge, (merge_fn, tuple(args), named))

    def update_together(self, details: UpdateOf, merge_fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Call a function of an optimizer as `merge_call` does, if all replicas update the same variables with it."""
        self.meet("merge_call", details, self._merge, (merge_fn, args, {}))

    @staticmethod
    def _merge(strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
        return merge_together(strategy, payloads)

    def all_reduce(
        self,
        reduce_op: ReduceOp | str,
        value: Any,
        options: CommunicationOptions | None = None,
        *,
        name: str | None = None,
    ) -> Any:
        """Combine the values of all replicas, and leave the result with each of them.

        A name, which is ours and not documented, must be the same on all replicas: what tells apart two values of one shape.
        """
        op = REDUCTIONS.get(reduce_op) if type(reduce_op) is str else reduce_op
        if type(op) is not ReduceOp:
            op = ReduceOp.of(reduce_op)
        here = HERE.get()
        frame = here.frame
        if frame is None or frame.replica is not self or (loaded() and tracing()):  # else there is nothing to refuse
            self.require_current("all_reduce")
        if options is not None:
            require_communication(options, "all_reduce()")
        if here.tapes is not None:
            return self._recorded_all_reduce(here.tapes, op, value, options, name)
        if type(value) is Tensor and value.lies_on is self._device and self._of_numpy:
            details = likeness(value)  # most often it is a tensor on the replica's device already
        elif not isinstance(value, self._extended.plan.backend.tensor_type) and nest.is_container(value):
            leaves, shape = nest.taken_apart(value)
            leaves = [self._combinable(leaf) for leaf in leaves]
            value, details = nest.put_together(shape, leaves), (shape, *map(_likeness, leaves))
        else:
            details = _likeness(value := self._combinable(value))
        kind, hold = _SUMS if op is _SUM else _MEANS
        if name is not None or options is not None:
            kind = kind if name is None else f"all_reduce({op.name}, name={name!r})"
            hold = functools.partial(_all_reduce, op, options, name)
        return self.meet(kind, details, hold, value)

    def _recorded_all_reduce(self, tapes: "Tapes", op: ReduceOp, value: Any, options: Any, name: str | None) -> Any:
        """The same under tapes: the gradient of a sum over the replicas is the sum of their gradients, and likewise of a mean."""

        def combine(given: Any) -> Any:
            return self.all_reduce(op, given, options, name=name)

        return tapes.carried_out(combine, value, combine)

    def all_gather(
        self, value: Any, axis: int, options: CommunicationOptions | None = None, *, name: str | None = None
    ) -> Any:
        """Join the values of all replicas along an axis, and leave the result with each of them; a name is as in all_reduce."""
        self.require_current("all_gather")
        require_communication(options, "all_gather()")
        if any(isinstance(leaf, IndexedSlices) for leaf in nest.flatten(value)):
            raise NotImplementedError(
                "all_gather() got IndexedSlices; expected tensors. Gather their values and their indices, or make tensors of them "
                "with tf.convert_to_tensor()."
            )
        if (tapes := HERE.get().tapes) is not None:
            return tapes.carried_out(
                lambda given: self.all_gather(given, axis, options, name=name),
                value,
                lambda given: nest.map_structure(lambda whole, own: self._own_part(whole, own, axis), given, value),
            )
        tensors = nest.map_structure(self._tensor, value)
        # Sizes may differ along the axis; the gathering itself checks the others.
        kind = f"all_gather(axis={axis})" if name is None else f"all_gather(axis={axis}, name={name!r})"
        return self.meet(kind, nest.shape_of(tensors), _all_gather, (axis, tensors, options, name))

    def permute(self, value: Any, pairs: Sequence[tuple[int, int]], *, name: str | None = None) -> Any:
        """Send the value of each replica to another one: `pairs` has a source and a target for each. Ours, not documented."""
        self.require_current("permute")
        sources = sources_of(pairs, self.num_replicas_in_sync)
        if (tapes := HERE.get().tapes) is not None:
            back = [(target, source) for source, target in pairs]
            return tapes.carried_out(
                lambda given: self.permute(given, pairs, name=name), value, lambda given: self.permute(given, back)
            )
        tensors = nest.map_structure(self._tensor, value)
        details = (nest.shape_of(tensors), *map(_likeness, nest.flatten(tensors)))
        kind = f"permute({', '.join(f'{a}->{b}' for b, a in enumerate(sources))}{'' if name is None else f', name={name!r}'})"
        return self.meet(kind, details, _permute, (sources, tensors, name))

    def _own_part(self, whole: Any, own: Any, axis: int) -> Any:
        """The part of a gathered gradient that belongs to what this replica brought, summed over the replicas."""
        total = self.all_reduce(_SUM, whole)
        sizes = self.all_gather(np.array([own.shape[axis]]), 0)
        before = np.arange(self.num_replicas_in_sync) < self._replica_id
        places = (sizes * before).sum() + np.arange(own.shape[axis])
        return total.__array_namespace__().take(total, places, axis=axis)

    def meet(
        self,
        kind: str,
        details: Any,
        hold: "Callable[[StrategyBase, Sequence[Any]], Sequence[Any]]",
        payload: Any,
        depth: int = 2,
    ) -> Any:
        """Meet all other replicas: the only way in which replicas exchange anything.

        Args:
            kind: what the replica does; all must do the same.
            details: what else must agree, comparable and printable.
            hold: called once, in cross-replica context, with the strategy and all payloads; returns all answers.
            payload: what this replica brings.
            depth: how many functions of this package there certainly are up to the user's code, this one included.
        """
        if self._alone:
            with crossed(self._strategy), self._extended.plan.backend.on(None):
                if (journal := HERE.get().journal) is None:
                    return hold(self._strategy, [payload])[0]
                alone = Meeting(kind, details, hold, self._strategy, payload, call_site(1 + depth))
                return held_and_told(journal, alone, [payload])[0]
        return pause(meeting_of((kind, details, hold, self._strategy, payload, call_site(1 + depth, pausing=True), ())))

    def require_current(self, kind: str) -> None:
        """Raise unless the code is in this replica and outside of JAX's traces."""
        here = HERE.get()
        if (here.frame.replica if here.frame is not None else get_replica_context()) is not self:
            raise RuntimeError(
                f"{kind} was called on the context of replica {self._replica_id} from outside that replica; expected a "
                f"call in the function that strategy.run runs. Take tf.distribute.get_replica_context() there."
            )
        if loaded():  # looked up here, because every call of a replica comes through here
            require_no_trace(kind)

    def _tensor(self, value: Any) -> Any:
        return self._extended.tensor(value, self._device)

    def _combinable(self, value: Any) -> Any:
        return self._extended.combinable(value, self._device)


_SUM = ReduceOp.SUM  # looking it up in the enum costs as much as the rest of a comparison


def _likeness(value: Any) -> Any:
    """What the values of all replicas must have in common to be reduced."""
    return value.likeness if isinstance(value, IndexedSlices) else (tuple(value.shape), value.dtype)


def _all_reduce(
    op: ReduceOp, options: Any, name: str | None, strategy: "StrategyBase", payloads: Sequence[Any]
) -> Sequence[Any]:
    return strategy.extended.all_reduce(op, payloads, options, name)


# What most meetings are for, and how they are held: made once, because each replica brings it to each of them.
_SUMS = "all_reduce(SUM)", functools.partial(_all_reduce, _SUM, None, None)
_MEANS = "all_reduce(MEAN)", functools.partial(_all_reduce, ReduceOp.MEAN, None, None)


def _all_gather(strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
    axis, _, options, name = payloads[0]
    return strategy.extended.all_gather([payload[1] for payload in payloads], axis, options, name)


def _permute(strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
    sources, _, name = payloads[0]
    return strategy.extended.permute([payload[1] for payload in payloads], sources, name)


def get_strategy() -> "Strategy":
    """The strategy whose scope the code is in, or else the default one."""
    frame: Any = HERE.get().frame
    return frame.strategy if frame is not None else default_strategy()


def has_strategy() -> bool:
    """Say whether the code is in the scope of a strategy other than the default."""
    frame = HERE.get().frame
    return frame is not None and not _is_default(frame.strategy)


def in_cross_replica_context() -> bool:
    """Say whether the code is in a scope, but in no replica."""
    frame = HERE.get().frame
    return frame is not None and frame.replica is None


def get_replica_context() -> ReplicaContext | Any:
    """The context of the replica that the code is in; None, which need not be asked for, in cross-replica context."""
    frame = HERE.get().frame
    if frame is not None:
        return frame.replica
    require_no_body_around()
    return default_strategy().extended.first_replica


def creators() -> tuple[Creator, ...]:
    """The functions that a new variable passes through, the innermost last."""
    frame = HERE.get().frame
    return frame.creators if frame is not None else ()


def backend() -> Backend:
    """The backend of the current strategy, or else the one in use."""
    here = HERE.get()
    if here.draft is not None:
        return here.draft.backend
    return here.frame.strategy.extended.plan.backend if here.frame is not None else current()


def default_strategy() -> "Strategy":
    """The strategy that does nothing special."""
    return _default_of()()


@functools.cache
def _default_of() -> "Callable[[], Strategy]":
    return ask("default_strategy")


def _is_default(strategy: "StrategyBase") -> bool:
    # There is one default strategy for each backend, and each of them counts as no strategy.
    return strategy.extended.plan.name == "default"


def contained(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function leave every context that it has entered, whatever ends it.

    It runs in a copy of the context, which Python leaves in C code: a Ctrl-C can interrupt entering or leaving a `with` block,
    but not that.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return contextvars.copy_context().run(function, *args, **kwargs)

    return call


def replica_frames(strategy: "StrategyBase") -> list[Frame]:
    """The frames of all replicas of a strategy, entered from here."""
    chain, plan = creators(), strategy.extended.plan
    numbers = range(plan.first_replica, plan.first_replica + len(plan.devices))
    return [Frame(strategy, ReplicaContext(strategy, number), chain) for number in numbers]


def crossed(strategy: "StrategyBase", update: int | None = None) -> Entered:
    """Enter the cross-replica context of a strategy, whatever was entered before."""
    frame = Frame(strategy, None, creators(), update)
    return entered(frame=frame) if update is not None else entered(frame=frame, device=None)


def require_cross_replica(strategy: "StrategyBase", what: str) -> None:
    """Raise unless the code is in the cross-replica context of this strategy, or in no scope at all."""
    frame = HERE.get().frame
    if frame is None:
        return
    if frame.strategy is not strategy and not _is_default(frame.strategy):
        raise RuntimeError(
            f"{what} of {strategy!r} was called inside the scope of {frame.strategy!r}; expected one strategy at a time. "
            f"Leave the other scope first, or use the strategy that is current."
        )
    if frame.strategy is strategy and frame.replica is not None and in_a_run(frame):
        raise RuntimeError(
            f"{what} was called in replica {frame.replica.replica_id_in_sync_group}; expected cross-replica context. "
            f"Call it outside the function given to run, or through get_replica_context().merge_call()."
        )


def in_a_run(frame: Frame | None) -> bool:
    """Say whether the code is in a replica that a run has started: a name scope outside of all strategies is in none."""
    replica = None if frame is None else frame.replica
    return replica is not None and replica is not default_strategy().extended.first_replica


def require_known(strategy: "StrategyBase") -> None:
    """Tell the current trace, if there is one, which strategy it is about."""
    draft = HERE.get().draft
    if draft is not None:
        draft.extended(strategy)


def require_no_trace(what: str) -> None:
    """Raise while JAX traces a function of the user's: tracers could leak out of it, and eager replicas cannot pause in it."""
    if HERE.get().draft is None and tracing():
        raise RuntimeError(
            f"{what} was called while JAX is tracing (inside jit, grad, vmap or scan); expected an eager call. Move it out of "
            f"the traced function: return what it needs, and call it afterwards."
        )


def require_not_staged(what: str) -> None:
    """Raise for a value that would be frozen into a compiled program, and be out of date when the program runs."""
    raise RuntimeError(
        f"{what} was read inside jax.jit or a like transformation; expected a value from outside, because what is read there is "
        f"frozen into the compiled program. Read it before, and pass it as an argument."
    )


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Creator) -> Generator[None]:
    """Let a function see and change every variable creation: `creator(next_creator, **kwargs)`."""
    frame = HERE.get().frame or Frame(default_strategy(), default_strategy().extended.first_replica, ())
    with entered(frame=frame._replace(creators=(*frame.creators, variable_creator))):
        yield

"""A replica as the code in a draft sees it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from refdist._core.base import nest
from refdist._core.base.call_sites import call_site
from refdist._core.base.where import HERE, entered
from refdist._core.replicas.context import ReplicaContext, crossed
from refdist._core.replicas.meeting import Meeting
from refdist._core.replicas.merge_call import require_fitting
from refdist._core.replicas.values import DistributedValues
from refdist._core.staging.replica_draft import MOST_TRACES, ReplicaDraft, UnevenReplicas
from refdist._core.staging.stand_ins import closed_slices, opened_slices
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase


class StagedContext(ReplicaContext):
    """A replica in a draft: it meets the others in the program, not in Python."""

    __slots__ = ("_draft",)

    staged = True

    def __init__(self, draft: ReplicaDraft, strategy: "StrategyBase", number: Any) -> None:
        self._draft, self._strategy, self._replica_id = draft, strategy, number
        self._extended = draft.extended(strategy)
        self.local_index, self._alone, self._device = 0, True, self._extended.plan.devices[0]

    @property
    def devices(self) -> tuple[str, ...]:
        if isinstance(self._replica_id, int):
            return (self._extended.worker_devices[self._replica_id],)
        error = RuntimeError(
            f"The devices of a replica were asked for while its function was traced once for all {self._draft.count} replicas; "
            f"expected nothing to depend on them, because the trace stands for every replica. Compute with the tensor "
            f"replica_id_in_sync_group, or trace each of at most {MOST_TRACES} replicas by itself."
        )
        self._draft.refuse(error)
        raise error

    def meet(self, kind: str, details: Any, hold: Callable[..., Sequence[Any]], payload: Any, depth: int = 2) -> Any:
        self._draft.meetings.append(Meeting(kind, details, hold, self._strategy, payload, call_site(1 + depth)))
        # As in eager code, a tape sees what a single replica does here, and nothing of what is done for several.
        tapes = HERE.get().tapes if self.num_replicas_in_sync == 1 else None
        with crossed(self._strategy), entered(tapes=tapes):
            try:
                return hold(self._strategy, [payload])[0]
            except Exception as error:
                self._draft.refuse(error)  # a replica that catches it cannot go on by itself, as outside of functions
                raise

    def _merge(self, strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        function, args, kwargs = payloads[0]
        function = self._draft.converted(function)

        def seen(leaf: Any) -> Any:
            own = isinstance(leaf, self._draft.backend.tensor_type) and self._draft.one_for_all(leaf) is None
            return self._draft.per_replica(leaf) if own else leaf

        given = opened_slices((list(args), kwargs))
        positional, named = closed_slices(nest.map_structure(seen, given))
        try:
            result = function(strategy, *positional, **named)
        except Exception as error:
            if isinstance(error, TypeError):
                require_fitting(payloads[0][0], strategy, positional, named)
            shared = any(self._draft.one_for_all(leaf) for leaf in nest.flatten(given))
            if shared and not self._draft.once and self._draft.count > 1:
                raise UnevenReplicas from error  # others may have values of their own here, which only Python sees together
            raise
        for place, leaf in enumerate(nest.flatten(opened_slices(result))):
            if isinstance(leaf, self._draft.backend.tensor_type):
                self._draft.remember_one_for_all(leaf, place)
        own = nest.map_structure(self._mine, result)
        self._draft.hide(own)
        return [own]

    def _mine(self, leaf: Any) -> Any:
        if not isinstance(leaf, DistributedValues) or isinstance(leaf, Variable):
            return leaf
        return self._draft.extended(self._strategy).own_of(leaf)

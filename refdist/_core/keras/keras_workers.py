"""Models on several workers: each worker reads its part of every global batch, and all of them have one result.

Every worker calls the same method of the same model. What they exchange goes through the verbs of the strategy: the gradients
and the sums of the metrics in each step, the predictions, and, before the first step, what kind of model each of them has.
"""

import contextlib
import importlib
import types
from collections.abc import Generator
from typing import Any

import numpy as np

from refdist._core.base.enums import VariableAggregation
from refdist._core.keras.keras_batches import DistributedAdapter, OwnPieces, own_pieces
from refdist._core.keras.keras_variables import held, tensor
from refdist._core.replicas import context
from refdist._core.replicas.values import PerReplica

_arrays: Any = importlib.import_module("keras.src.trainers.data_adapters.array_data_adapter")
_stateless: Any = importlib.import_module("keras.src.backend.common.stateless_scope")
_trainer: Any = importlib.import_module("keras.src.backend.jax.trainer")


def install() -> None:
    """Let the loops of Keras read a worker's part of the data, in an order on which all workers agree."""
    _trainer.JAXEpochIterator = EpochIterator
    _arrays.np = types.SimpleNamespace(random=types.SimpleNamespace(permutation=_agreed_order))


class EpochIterator(_trainer.JAXEpochIterator):
    """Delivers the batches of an epoch; on several workers, a part of each, and pieces where they are cut already."""

    def _get_iterator(self) -> Any:
        strategy = context.get_strategy()
        if strategy.extended.plan.workers == 1 and not isinstance(self.data_adapter, DistributedAdapter):
            return super()._get_iterator()
        batches = self.data_adapter.get_jax_iterator()
        if isinstance(batches, OwnPieces):
            return batches
        return OwnPieces(own_pieces(strategy, batch) for batch in batches)


def _agreed_order(count: int) -> Any:
    """A permutation of so many rows: that of the first worker, because otherwise the parts of the workers would overlap."""
    extended = context.get_strategy().extended
    if extended.plan.workers == 1:
        return np.random.permutation(count)  # with the state that users of Keras seed
    seed = extended.from_all_workers("the order of the rows", [int(np.random.randint(2**31))])[0]
    return np.random.RandomState(seed).permutation(count)


def require_same_model(model: Any, doing: str) -> None:
    """Raise unless all workers are about to do the same thing, with models of the same weights."""
    extended = model.distribute_strategy.extended
    if extended.plan.workers > 1:
        shapes = [f"{one.dtype}[{','.join(map(str, one.shape))}]" for one in model.weights]
        shown = ", ".join(shapes if len(shapes) < 7 else [*shapes[:3], f"... ({len(shapes)})", *shapes[-3:]])
        extended.from_all_workers(f"{doing} a model with the weights {shown}", [model.count_params()])


@contextlib.contextmanager
def totals(model: Any) -> Generator[None]:
    """Let the metrics of a model be computed from the sums over all workers, which take one exchange for all of them."""
    extended = model.distribute_strategy.extended
    summed = [
        one
        for one in model.metrics_variables
        if held(one).own_copies and held(one).aggregation is VariableAggregation.SUM
    ]
    device = extended.current_device()
    parts = [(PerReplica([copy.stored for copy in held(one).all_copies]), device) for one in summed]
    values = map(tensor, extended.batch_reduce_to("SUM", parts)) if parts else ()
    with _stateless.StatelessScope(state_mapping=list(zip(summed, values, strict=True))):
        yield

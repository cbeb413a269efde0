"""The global batches of a trainer, cut into one piece for each replica."""

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.devices.device import Device
from refdist._core.input.dataset import Dataset
from refdist._core.input.dataset_options import AutoShardPolicy, Options
from refdist._core.input.distributed_dataset import DistributedDataset
from refdist._core.input.sharding import cut_batch
from refdist._core.input.transforms import CutEqually
from refdist._core.replicas import context
from refdist._core.replicas.values import PerReplica, select
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import StrategyBase

_adapter: Any = importlib.import_module("keras.src.trainers.data_adapters.data_adapter")
_core: Any = importlib.import_module("keras.src.backend.jax.core")


_READ_BY_ALL = Options()
_READ_BY_ALL.experimental_distribute.auto_shard_policy = AutoShardPolicy.DATA


class OwnPieces:
    """Delivers what the replicas of this worker get in each step; to the loops of Keras, what the first of them gets."""

    def __init__(self, steps: Iterator[Sequence[Any]]) -> None:
        self.steps = steps

    def __iter__(self) -> "OwnPieces":
        return self

    def __next__(self) -> Any:
        return next(self.steps)[0]


class DatasetAdapter(_adapter.DataAdapter):
    """Delivers the batches of a `tf.data.Dataset` to Keras."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._distributed: DistributedDataset | None = None  # made when it is needed, in the scope of the strategy

    def get_jax_iterator(self) -> Iterator[Any]:
        """Deliver the batches as tuples of inputs, targets and weights, in numpy arrays; on several workers, a part of each."""
        if context.get_strategy().extended.plan.workers > 1:
            return OwnPieces(self._own_pieces())
        return map(_as_tuple, self._dataset.as_numpy_iterator())

    @property
    def num_batches(self) -> int | None:
        """How many batches there are, if that is known; an epoch has so many steps, whatever the workers read of them."""
        number = int(self._dataset.cardinality())
        return number if number >= 0 else None

    batch_size = has_partial_batch = partial_batch_size = None

    def _own_pieces(self) -> Iterator[Sequence[Any]]:
        strategy = context.get_strategy()
        if self._distributed is None:
            dataset = Dataset.of(CutEqually(self._dataset.stage))
            self._distributed = strategy.experimental_distribute_dataset(dataset)
        for step in self._distributed:
            yield [_as_tuple(select(step, index)) for index in range(len(strategy.extended.plan.devices))]


class DistributedAdapter(DatasetAdapter):
    """Delivers to Keras what a distributed dataset has for the replicas; how many steps that are, nobody knows."""

    num_batches: Any = None

    def __init__(self, distributed: DistributedDataset) -> None:
        self._distributed = distributed

    def get_jax_iterator(self) -> Iterator[Any]:
        """Deliver the pieces of the replicas as they are."""
        return OwnPieces(self._own_pieces())


def _as_tuple(batch: Any) -> tuple[Any, ...]:
    return batch if isinstance(batch, tuple) else (batch,)


def adapt(given: dict[str, Any], *, in_order: bool = False) -> None:
    """Replace each dataset among the arguments of a trainer's method by an adapter that Keras accepts.

    Args:
        in_order: whether the rows have to stay in order, so that workers must not read different files.
    """
    for name in ("x", "validation_data"):
        data = given.get(name)
        if not isinstance(data, (Dataset, DistributedDataset)):
            continue
        others = [other for other in ("y", "sample_weight", "class_weight") if given.get(other) is not None]
        if name == "x" and others:
            raise ValueError(
                f"A model got x=a dataset, and {', '.join(others)} too; expected the dataset alone. Let it deliver tuples of "
                f"inputs, targets and weights."
            )
        if isinstance(data, DistributedDataset):
            given[name] = DistributedAdapter(data)
        else:
            given[name] = DatasetAdapter(data.with_options(_READ_BY_ALL) if in_order else data)


def cut(strategy: StrategyBase, data: Any) -> tuple[Any, Any]:
    """Cut a global batch into pieces, put these on the replicas, and return them with each replica's share."""
    return placed(strategy, own_pieces(strategy, data))


def own_pieces(strategy: StrategyBase, data: Any) -> list[Any]:
    """The pieces of a global batch, a nest of arrays, that this worker's replicas get."""
    plan = strategy.extended.plan
    size, count = _size(data), plan.replicas
    if plan.workers == 1:
        stops = [-(-size * (index + 1) // count) for index in range(count)]
        cuts = list(zip([0, *stops[:-1]], stops, strict=True))
    else:
        (cuts,) = cut_batch(size, size, count, count)  # as TensorFlow does, since all rows do not count for the same
    return [_rows(data, *cuts[plan.first_replica + index]) for index in range(len(plan.devices))]


def _rows(data: Any, start: int, stop: int) -> Any:
    return nest.map_structure(lambda leaf: None if leaf is None else np.asarray(leaf)[start:stop], data)


def placed(strategy: StrategyBase, pieces: Sequence[Any]) -> tuple[Any, Any]:
    """Put the pieces of a batch on the replicas, and return them with each replica's share; equal shares become one number.

    A replica without rows gets one of zeros and a share of 0, so that it can take part in the step.
    """
    plan = strategy.extended.plan

    def on_replicas(*leaves: Any) -> Any:
        if leaves[0] is None:
            return None
        parts = [_placed(plan, leaf, device) for leaf, device in zip(leaves, plan.devices, strict=True)]
        return parts[0] if len(parts) == 1 else PerReplica(parts)

    counts = [_count(piece) for piece in pieces]
    shares = [_share(plan, count, sum(counts)) for count in counts]
    return nest.map_structure(on_replicas, *pieces), shares[0] if len(set(shares)) == 1 else PerReplica(shares)


def _share(plan: Plan, count: int, total: int) -> float:
    """How much the mean of a replica's rows counts for.

    On one machine that depends on how many they are, so that any number of replicas gives the numbers of one. On several
    workers, of which none knows what the others have read, it is the same for all, as in TensorFlow.
    """
    return count / total if plan.workers == 1 else (count > 0) / plan.replicas


def _placed(plan: Plan, leaf: Any, device: Device) -> Any:
    if isinstance(leaf, plan.backend.tensor_type) and len(leaf):
        return leaf  # a distributed dataset has put it there
    array = np.asarray(leaf)
    array = array.astype(_core.jax.dtypes.canonicalize_dtype(array.dtype), copy=False)
    return plan.backend.put(array if len(array) else np.zeros((1, *array.shape[1:]), array.dtype), device)


def joined(strategy: StrategyBase, outputs: Any, shares: Any) -> Any:
    """Join the rows of all replicas into one array for each output, without replicas that have a share of 0."""
    if strategy.num_replicas_in_sync == 1:
        return nest.map_structure(np.asarray, outputs)
    local = range(len(strategy.extended.plan.devices))
    # A replica says whether it has had rows: none of the other workers knows.
    mine = [(float(select(shares, index)) > 0, select(outputs, index)) for index in local]
    everybodys = strategy.extended.from_all_workers("the predictions of a step", mine)
    counted = [own for has_rows, own in everybodys if has_rows]
    return nest.transpose(counted, lambda parts: np.concatenate([np.asarray(part) for part in parts]), AssertionError)


def _count(piece: Any) -> int:
    return next(len(leaf) for leaf in nest.flatten(piece) if leaf is not None)


def _size(data: Any) -> int:
    shapes = [np.shape(leaf) for leaf in nest.flatten(data) if leaf is not None]
    sizes = {shape[0] if shape else 0 for shape in shapes}
    if len(sizes) != 1 or sizes == {0}:
        raise ValueError(
            f"A model got a batch with arrays of the shapes {', '.join(map(str, shapes))}; expected one or more rows, and the same "
            f"number in each. Batch the dataset, and inputs and targets together."
        )
    return sizes.pop()

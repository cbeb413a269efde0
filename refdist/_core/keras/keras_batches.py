"""The global batches of a trainer, cut into one piece for each replica."""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.input.dataset import Dataset
from refdist._core.input.distributed_dataset import DistributedDataset
from refdist._core.replicas.values import PerReplica
from refdist._core.strategies.strategy import StrategyBase

_adapter: Any = importlib.import_module("keras.src.trainers.data_adapters.data_adapter")
_core: Any = importlib.import_module("keras.src.backend.jax.core")


class DatasetAdapter(_adapter.DataAdapter):
    """Delivers the batches of a `tf.data.Dataset` to Keras."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def get_jax_iterator(self) -> Iterator[Any]:
        """Deliver the batches as tuples of inputs, targets and weights, in numpy arrays."""
        for batch in self._dataset.as_numpy_iterator():
            yield batch if isinstance(batch, tuple) else (batch,)

    @property
    def num_batches(self) -> int | None:
        """How many batches there are, if that is known."""
        number = int(self._dataset.cardinality())
        return number if number >= 0 else None

    batch_size = has_partial_batch = partial_batch_size = None


def adapt(given: dict[str, Any]) -> None:
    """Replace each dataset among the arguments of a trainer's method by an adapter that Keras accepts."""
    for name in ("x", "validation_data"):
        data = given.get(name)
        if isinstance(data, DistributedDataset):
            raise TypeError(
                f"A model got {name}=a DistributedDataset; expected a tf.data.Dataset, because the model distributes it by itself. "
                f"Pass the original dataset."
            )
        if not isinstance(data, Dataset):
            continue
        others = [other for other in ("y", "sample_weight", "class_weight") if given.get(other) is not None]
        if name == "x" and others:
            raise ValueError(
                f"A model got x=a dataset, and {', '.join(others)} too; expected the dataset alone. Let it deliver tuples of "
                f"inputs, targets and weights."
            )
        given[name] = DatasetAdapter(data)


def cut(strategy: StrategyBase, data: Any) -> tuple[Any, Any]:
    """Cut a nest of arrays into pieces, and return them with each replica's share of the rows; equal shares become one number.

    A replica for which no row is left gets the first row and a share of 0, so that it can take part in the step.
    """
    plan = strategy.extended.plan
    size, count = _size(data), plan.replicas
    stops = [-(-size * (index + 1) // count) for index in range(count)]
    rows = list(zip([0, *stops[:-1]], stops, strict=True))

    def placed(leaf: Any) -> Any:
        if leaf is None:
            return None
        array = np.asarray(leaf)
        array = array.astype(_core.jax.dtypes.canonicalize_dtype(array.dtype), copy=False)
        pieces = [array[start:stop] if start < stop else array[:1] for start, stop in rows]
        parts = [plan.backend.put(piece, device) for piece, device in zip(pieces, plan.devices, strict=True)]
        return parts[0] if count == 1 else PerReplica(parts)

    shares = [(stop - start) / size for start, stop in rows]
    return nest.map_structure(placed, data), shares[0] if len(set(shares)) == 1 else PerReplica(shares)


def joined(strategy: StrategyBase, outputs: Any, shares: Any) -> Any:
    """Join the rows of all replicas into one array for each output, without replicas that have a share of 0."""
    if strategy.num_replicas_in_sync == 1:
        return nest.map_structure(np.asarray, outputs)
    counted = [share > 0 for share in shares.values] if isinstance(shares, PerReplica) else None

    def join(leaf: Any) -> Any:
        parts = strategy.experimental_local_results(leaf)
        return np.concatenate([np.asarray(part) for i, part in enumerate(parts) if counted is None or counted[i]])

    return nest.map_structure(join, outputs)


def _size(data: Any) -> int:
    shapes = [np.shape(leaf) for leaf in nest.flatten(data) if leaf is not None]
    sizes = {shape[0] if shape else 0 for shape in shapes}
    if len(sizes) != 1 or sizes == {0}:
        raise ValueError(
            f"A model got a batch with arrays of the shapes {', '.join(map(str, shapes))}; expected one or more rows, and the same "
            f"number in each. Batch the dataset, and inputs and targets together."
        )
    return sizes.pop()

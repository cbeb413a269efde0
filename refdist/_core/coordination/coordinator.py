"""ClusterCoordinator: schedules functions on the workers of a parameter server strategy, and collects their results."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from refdist._core.base import nest
from refdist._core.base.call_sites import call_site
from refdist._core.base.callables import require_arguments
from refdist._core.base.errors import OutOfRangeError
from refdist._core.base.where import HERE
from refdist._core.input.dataset import Dataset, DatasetIterator, to_tensor
from refdist._core.input.distributed_dataset import DistributedDataset
from refdist._core.input.pieces import rows_of
from refdist._core.input.position import State
from refdist._core.input.sample_ledger import Feed, Ledger
from refdist._core.replicas import context
from refdist._core.seam.backend import host_device
from refdist._core.staging.function import Function
from refdist._core.strategies.parameter_server import ParameterServerStrategy, current_worker
from refdist._core.variables.tensors import current_value

if TYPE_CHECKING:
    from refdist._core.staging.decorator import StagedFunction


class RemoteValue:
    """The result of a scheduled function, or the error that it raised."""

    def __init__(self, strategy: ParameterServerStrategy) -> None:
        self._strategy = strategy
        self._result: Any = None
        self.error: Exception | None = None

    def run(self, fn: Callable[..., Any], args: Any, kwargs: Any, worker: int) -> None:
        """Call a function on a worker."""
        backend = self._strategy.extended.backend

        def there(leaf: Any) -> Any:
            own = leaf.component(worker) if isinstance(leaf, PerWorkerValues) else leaf
            return backend.copy(own, device) if isinstance(own, backend.tensor_type) else own

        with self._strategy.on_worker(worker) as device:
            try:
                self._result = fn(*nest.map_structure(there, tuple(args)), **nest.map_structure(there, dict(kwargs)))
            except Exception as raised:
                # A StopIteration raised by join() would end an unrelated loop of the user.
                error = (
                    OutOfRangeError("A worker's iterator is at its end.") if type(raised) is StopIteration else raised
                )
                error.add_note(f"raised in a function that was scheduled on worker {worker}, on {device}")
                self.error = error

    def get(self) -> Any:
        """The result, as tensors on the coordinator."""
        if self.error is not None:
            raise self.error
        backend = self._strategy.extended.backend
        here, tensor = host_device(backend), backend.tensor_type
        values = nest.map_structure(current_value, self._result)
        return nest.map_structure(lambda v: backend.copy(v, here) if isinstance(v, tensor) else v, values)

    def fetch(self) -> Any:
        """The result, as numpy values."""
        get, tensor = self._strategy.extended.backend.get, self._strategy.extended.backend.tensor_type
        return nest.map_structure(lambda v: get(v)[()] if isinstance(v, tensor) else v, self.get())


class PerWorkerValues:
    """One value for each worker: a scheduled function gets the value of its worker."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = tuple(values)

    def component(self, worker: int) -> Any:
        """The value of one worker."""
        return self._values[worker]

    def __next__(self) -> Any:
        raise NotImplementedError(
            "The next element of an iterator of all workers was asked for on the coordinator; expected a scheduled function to do "
            "so. Pass the iterator to it in args."
        )


class PerWorkerDataset:
    """A dataset for each worker; iter() makes one iterator for each, to pass to scheduled functions."""

    def __init__(self, strategy: ParameterServerStrategy, datasets: Sequence[Any], made_of: Any) -> None:
        self._strategy, self._datasets = strategy, tuple(datasets)
        self._made_of, self._made_at = made_of, call_site()

    @property
    def element_spec(self) -> Any:
        """The spec of an element."""
        return self._datasets[0].element_spec

    def __iter__(self) -> Any:
        return PerWorkerValues(_on_each_worker(self._strategy, self._iterator))

    def _iterator(self, worker: int) -> Any:
        dataset, here = self._datasets[worker], HERE.get()
        if here.ledger is None or not isinstance(dataset, Dataset):
            return iter(dataset)
        device = here.device
        assert device is not None
        name = getattr(self._made_of, "__code__", None) or self._made_of
        feed = Feed(name, dataset.stage, (device,), worker, worker, False, callable(self._made_of), self._made_at)
        return _RecordedIterator(dataset, here.ledger, feed)


class _RecordedIterator(DatasetIterator):
    """A loop of one worker, of which a ledger records the elements."""

    def __init__(self, dataset: Dataset, ledger: Ledger, feed: Feed) -> None:
        self._ledger, self._feed = ledger, feed
        super().__init__(dataset, to_tensor)

    def _start(self, state: State | None) -> None:
        super()._start(state)
        record, delivered = self._ledger.new_loop(self._feed, resumed=state is not None), 0

        def converted(element: Any) -> Any:
            nonlocal delivered
            first, delivered = delivered, delivered + rows_of(element)
            record(element, [range(first, delivered)])
            return nest.map_structure(to_tensor, element)

        self._convert = converted


class ClusterCoordinator:
    """Schedules functions on the workers in turn, and collects their results. A strategy has one coordinator.

    This process plays the workers: a function runs to its end when it is scheduled, and the next one runs on the next
    worker. That is one of the orders that asynchronous workers may take, and it is the same in every run; if another order
    would give another result, call `join()` before relying on it. An error is kept, and raised once, by the next call of
    `schedule` or `join`; the functions before it have run, and none after it.
    """

    _strategy: ParameterServerStrategy
    _scheduled_count: int
    _failed: RemoteValue | None

    def __new__(cls, strategy: ParameterServerStrategy) -> "ClusterCoordinator":
        if not isinstance(strategy, ParameterServerStrategy):
            raise TypeError(
                f"ClusterCoordinator() got {strategy!r}; expected a tf.distribute.ParameterServerStrategy, because others have no "
                f"workers to give functions to. Use strategy.run() with these."
            )
        if strategy.coordinator is None:
            made = strategy.coordinator = super().__new__(cls)
            made._strategy, made._scheduled_count, made._failed = strategy, 0, None
        return strategy.coordinator

    @property
    def strategy(self) -> ParameterServerStrategy:
        """The strategy whose workers these are."""
        return self._strategy

    def schedule(self, fn: "StagedFunction[..., Any]", args: Any = None, kwargs: Any = None) -> RemoteValue:
        """Call a tf.function on the next worker; its arguments are copied there, and per-worker values become that worker's."""
        if not isinstance(fn, Function):
            raise TypeError(
                f"schedule() got {fn!r}; expected a tf.function, because workers run programs. Decorate it with @tf.function."
            )
        self._require_coordinator("schedule()")
        require_arguments(args or (), kwargs, "schedule()")
        if any(isinstance(leaf, RemoteValue) for leaf in nest.flatten([*(args or ()), dict(kwargs or {})])):
            raise ValueError(
                "schedule() got a RemoteValue as an argument; expected what it stands for. Pass the result of its get()."
            )
        self.join()
        value = RemoteValue(self._strategy)
        value.run(fn, args or (), kwargs or {}, self._scheduled_count % self._strategy.worker_count)
        self._scheduled_count += 1
        self._failed = value if value.error is not None else None
        return value

    def join(self) -> None:
        """Wait for all scheduled functions; raise the error of one that failed."""
        self._require_coordinator("join()")
        failed, self._failed = self._failed, None
        if failed is not None and failed.error is not None:
            raise failed.error

    def done(self) -> bool:
        """Say whether all scheduled functions have ended; raise the error of one that failed."""
        self.join()
        return True

    def fetch(self, val: Any) -> Any:
        """Return a nest with the results of its remote values, as numpy values; other leaves stay as they are."""
        return nest.map_structure(lambda leaf: leaf.fetch() if isinstance(leaf, RemoteValue) else leaf, val)

    def create_per_worker_dataset(self, dataset_fn: Any) -> PerWorkerDataset:
        """Make a dataset on each worker, by calling a function there or from a given dataset; each worker gets all of it."""
        self._require_coordinator("create_per_worker_dataset()")
        make = dataset_fn if callable(dataset_fn) else lambda: dataset_fn
        return PerWorkerDataset(
            self._strategy, _on_each_worker(self._strategy, lambda worker: _require_dataset(make())), dataset_fn
        )

    def _require_coordinator(self, what: str) -> None:
        context.require_cross_replica(self._strategy, what)
        if current_worker() is not None:
            raise RuntimeError(
                f"{what} was called in a scheduled function, on worker {current_worker()}; expected the coordinator. Call it "
                f"outside, with what the function returns."
            )


def experimental_get_current_worker_index() -> int:
    """Return the number of the worker that runs the current scheduled function, or function of a per-worker dataset."""
    worker = current_worker()
    if worker is None:
        raise RuntimeError(
            "The worker index was asked for on the coordinator; expected a scheduled function, or the function of a per-worker "
            "dataset. Ask there."
        )
    return worker


def _on_each_worker(strategy: ParameterServerStrategy, make: Callable[[int], Any]) -> list[Any]:
    made: list[Any] = []
    for worker in range(strategy.worker_count):
        with strategy.on_worker(worker):
            made.append(make(worker))
    return made


def _require_dataset(dataset: Any) -> Any:
    if not isinstance(dataset, (Dataset, DistributedDataset)):
        raise ValueError(
            f"create_per_worker_dataset() got a {type(dataset).__name__}; expected a tf.data.Dataset, a distributed one, or a "
            f"function that returns one. Pass that."
        )
    return dataset

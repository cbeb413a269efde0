"""How the batches of a dataset reach the replicas: each global batch is split among them, or each gets whole batches."""

import abc
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.call_sites import Site
from refdist._core.base.enums import InputReplicationMode
from refdist._core.base.options import InputContext, InputOptions
from refdist._core.base.where import Where, entered
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import make
from refdist._core.input.dataset import Dataset
from refdist._core.input.dataset_options import Options
from refdist._core.input.input_worker import InputWorker
from refdist._core.input.pieces import empty_like, piece_of, require_batch, rows_of, size_of, zeros_of
from refdist._core.input.position import Pass
from refdist._core.input.sample_ledger import Feed, Record
from refdist._core.input.sharding import autosharded, cut_batch, global_batch_size
from refdist._core.input.stage import Iteration, Stage
from refdist._core.input.transforms import CutEqually, DividedBatches
from refdist._core.replicas.specs import PerReplicaSpec, batched, require_tensor, unbatched
from refdist._core.replicas.values import PerReplica, of_parts
from refdist._core.seam.backend import host_device
from refdist._core.seam.peers import mark_uneven

if TYPE_CHECKING:
    from refdist._core.strategies.plan import Plan

Step = tuple[Any, Sequence[range]]  # what the replicas get, and which samples that is


class Placer:
    """Puts the pieces of a step on the replicas' devices.

    Args:
        from_function: whether a function makes the dataset; only then can there be one for each replica.
    """

    def __init__(self, plan: "Plan", options: InputOptions | None, *, from_function: bool = False) -> None:
        self.plan = plan
        self.per_replica = False  # whether each replica has a pipeline of its own
        if options is not None and not isinstance(options, InputOptions):
            raise TypeError(
                f"The options are {options!r}; expected a tf.distribute.InputOptions. A dataset takes its own options with "
                f"with_options()."
            )
        fetch = options is None or options.experimental_fetch_to_device is not False
        if options is not None:
            self.per_replica = options.experimental_replication_mode is InputReplicationMode.PER_REPLICA
            if self.per_replica and not (from_function and plan.name == "mirrored"):
                raise NotImplementedError(
                    f"The options have {options.experimental_replication_mode}; expected InputReplicationMode.PER_WORKER, because "
                    f"only distribute_datasets_from_function() of a MirroredStrategy has one pipeline for each replica. Use it, or "
                    f"tell the replicas apart in the replica function."
                )
            if from_function and options.experimental_place_dataset_on_device:
                if not self.per_replica or fetch:
                    raise ValueError(
                        f"The options are {options}; expected experimental_place_dataset_on_device only together with "
                        f"InputReplicationMode.PER_REPLICA and experimental_fetch_to_device=False. Set these, or leave it out."
                    )
                fetch = True  # what is made on the device need not be fetched to it
        host = host_device(plan.backend)
        self._devices: tuple[Device, ...] = plan.devices if fetch else (host,) * len(plan.devices)

    def place(self, pieces: Sequence[Any]) -> Any:
        """Return the element of one step: bare for a single replica, otherwise a nest of per-replica values."""
        put = self.plan.backend.put
        if len(pieces) == 1:
            return nest.map_structure(lambda leaf: _tensor(put, leaf, self._devices[0]), pieces[0])
        if not nest.is_container(pieces[0]):
            return PerReplica([_tensor(put, piece, d) for piece, d in zip(pieces, self._devices, strict=True)])
        placed_pieces = [
            nest.map_structure(lambda leaf, d=device: _tensor(put, leaf, d), piece)
            for piece, device in zip(pieces, self._devices, strict=True)
        ]
        return nest.transpose(placed_pieces, PerReplica, AssertionError)

    def spec(self, replica_spec: Any) -> Any:
        """The spec of the element of one step, given what one replica gets."""
        count = len(self.plan.devices)
        if count == 1:
            return replica_spec
        return nest.map_structure(lambda leaf: PerReplicaSpec(*[leaf] * count), replica_spec)


class StepSource(abc.ABC):
    """Where a loop over a distributed dataset takes its steps from."""

    stage: Stage
    ahead: int  # how many steps are read before they are wanted
    worker: InputWorker = InputWorker(1, 0, 1)
    made_at: Site = ()  # where the program distributed the data
    _data: tuple[bool, Any]  # whether a function made the data, and what tells them apart from others
    shared: bool = True  # whether all workers read the same data, so that a position holds for any number of them
    _placer: Placer

    @property
    @abc.abstractmethod
    def element_spec(self) -> Any:
        """The spec of an element."""

    @abc.abstractmethod
    def stages(self) -> list[str]:
        """What is done to the dataset, for inspection."""

    @abc.abstractmethod
    def steps(self, elements: Pass) -> Iterator[Step]:
        """Make steps of the elements of one pass."""

    @abc.abstractmethod
    def any_worker_continues(self, step: Any) -> bool:
        """Say whether any worker has another step, given the element of this one's, or None."""

    def _ask_all(self, worker: InputWorker, element: Any) -> bool:
        """Ask all workers, and note whether their pieces are of different shapes."""
        continues, even = worker.any_continues(element)
        if not even and element is not None and self._placer.plan.peers is not None:
            mark_uneven(nest.flatten(element))
        return continues

    def recorder(self, here: Where, resumed: bool) -> Record | None:
        """Return what records the samples of each step of one loop, if anybody keeps a ledger."""
        devices = self._placer.plan.devices
        if here.ledger is None:
            return None
        # Workers of parameter servers may each read everything; those of other strategies share the data.
        index, shared = (self.worker.index, True) if here.worker is None else (here.worker[1], False)
        from_function, data = self._data
        given, first = self.stage if from_function else data, index * len(devices)
        return here.ledger.new_loop(
            Feed(data, given, devices, index, first, shared, from_function, self.made_at), resumed
        )

    def empty_step(self, last: Any) -> Step:
        """A step without samples, for a worker that has run out of data before others; shaped like the last step, if any."""
        local = len(self._placer.plan.devices)
        if last is None:
            last = self._placer.place([nest.map_structure(zeros_of, self.stage.spec())] * local)
        element = nest.map_structure(empty_like, last)
        if self._placer.plan.peers is not None:
            mark_uneven(nest.flatten(element))
        return element, [range(0)] * local


class GlobalBatches(StepSource):
    """Takes the elements of a dataset as global batches, and splits each among the replicas."""

    def __init__(
        self,
        stage: Stage,
        options: Options,
        placer: Placer,
        worker: InputWorker,
        even: bool = False,
        agree: Callable[[int], int] = lambda seed: seed,
    ) -> None:
        policy = options.experimental_distribute.auto_shard_policy
        self.stage = autosharded(stage, policy, worker.pipelines, worker.index, agree)
        self._placer, self.worker, self._even, self._data = placer, worker, even, (False, stage)
        self._batch_size, self.ahead = global_batch_size(stage), worker.replicas
        # Where every worker reads all batches and takes its part of each, they all have the same number of steps.
        self._divided = isinstance(self.stage, DividedBatches)
        self._cut_equally = even or (self._divided and isinstance(stage, CutEqually))
        self.shared = self._divided or worker.pipelines == 1

    @property
    def element_spec(self) -> Any:
        spec = self.stage.spec()
        if self.worker.replicas == 1:
            return spec
        for leaf in nest.flatten(spec):
            require_batch(len(leaf.shape))
        return self._placer.spec(batched(unbatched(spec), None))

    def stages(self) -> list[str]:
        worker = self.worker
        size = math.ceil(self._batch_size / worker.replicas) if self._batch_size else "?"
        shard = [f"shard({worker.pipelines}, {worker.index})"] if worker.pipelines > 1 else []
        return [f"rebatch({size})", *shard, f"prefetch({worker.replicas})"]

    def any_worker_continues(self, step: Any) -> bool:
        return step is not None if self._divided or self._even else self._ask_all(self.worker, step)

    def steps(self, elements: Pass) -> Iterator[Step]:
        progress, replicas = elements.progress, self.worker.replicas
        local, seen = len(self._placer.plan.devices), elements.consumed + elements.skip
        for batch in elements:
            size = size_of(batch) if replicas > 1 else elements.consumed - seen
            first, seen = seen, seen + size
            if replicas == 1:
                yield self._placer.place([batch]), [range(first, seen)]
                continue
            if self._even and size % replicas:
                raise ValueError(
                    f"A batch of {size} examples was to be divided evenly among {replicas} replicas; expected a multiple. Use "
                    f"drop_remainder=True, or make_input_fn_iterator(), which divides nothing."
                )
            if self._batch_size is None and elements.first_batch_size is None:
                elements.first_batch_size = size
            full_size = size if self._cut_equally else self._batch_size or elements.first_batch_size or size
            uneven = False
            if self._divided:
                first_replica = self.worker.index * local
                (everything,) = cut_batch(size, full_size, replicas, replicas)
                cuts = [everything[first_replica : first_replica + local]]
                uneven = self._placer.plan.peers is not None and len({end - start for start, end in everything}) > 1
            else:
                cuts = cut_batch(size, full_size, replicas, local)
            for number, step in enumerate(cuts, 1):
                progress.samples = step[-1][1] if number < len(cuts) else 0
                samples = [range(first + start, first + stop) for start, stop in step]
                element = self._placer.place([piece_of(batch, start, stop) for start, stop in step])
                if uneven:
                    mark_uneven(nest.flatten(element))
                yield element, samples
            if self.worker.pipelines > 1:
                progress.before = elements.mark()


class PerReplicaBatches(StepSource):
    """Calls a dataset function, and gives each replica a whole batch of its worker's dataset in each step."""

    def __init__(self, dataset_fn: Callable[[InputContext], Any], placer: Placer, worker: InputWorker) -> None:
        given = InputContext(worker.pipelines, worker.index, worker.replicas)
        self.stage, self._placer, self.worker = _made(dataset_fn, given, placer), placer, worker
        self.shared = worker.pipelines == 1
        self.ahead, self._data = len(placer.plan.devices), (True, _identity(dataset_fn))

    @property
    def element_spec(self) -> Any:
        spec = self.stage.spec()
        if len(self._placer.plan.devices) > 1:
            spec = nest.map_structure(lambda leaf: batched(unbatched(leaf), None) if leaf.shape else leaf, spec)
        return self._placer.spec(spec)

    def stages(self) -> list[str]:
        return [f"prefetch({len(self._placer.plan.devices)})"]

    def any_worker_continues(self, step: Any) -> bool:
        return self._ask_all(self.worker, step)

    def steps(self, elements: Pass) -> Iterator[Step]:
        local, before = len(self._placer.plan.devices), elements.consumed + elements.skip
        batches: list[Any] = []
        samples: list[range] = []
        for element in elements:
            batches.append(element)
            samples.append(range(before, elements.consumed))
            before = elements.consumed
            if len(batches) == local:
                yield self._placer.place(batches), samples
                batches, samples = [], []
        if batches:
            missing = local - len(batches)
            filled = [*batches, *[nest.map_structure(empty_like, batches[0])] * missing]
            yield self._placer.place(filled), [*samples, *[range(before, before)] * missing]


class OwnPipelines(StepSource):
    """Calls a dataset function once for each replica, and gives each replica the batches of its own dataset."""

    ahead = 1

    def __init__(self, dataset_fn: Callable[[InputContext], Any], placer: Placer) -> None:
        count = len(placer.plan.devices)
        contexts = [InputContext(count, index, count) for index in range(count)]
        self.stage, self._placer = Abreast(*[_made(dataset_fn, one, placer) for one in contexts]), placer
        self._data = True, _identity(dataset_fn)

    @property
    def element_spec(self) -> Any:
        specs = [stage.spec() for stage in self.stage.inputs]
        if len(specs) == 1:
            return specs[0]
        open_specs = [batched(unbatched(spec), None) for spec in specs]
        return nest.map_structure(lambda *leaves: PerReplicaSpec(*leaves), *open_specs)

    def stages(self) -> list[str]:
        return ["prefetch(1)"]

    def any_worker_continues(self, step: Any) -> bool:
        return step is not None  # there is one worker

    def steps(self, elements: Pass) -> Iterator[Step]:
        seen = 0
        for parts in elements:
            ends = list(itertools.accumulate((rows_of(part) for part in parts), initial=seen))
            seen = ends[-1]
            yield self._placer.place(parts), list(itertools.starmap(range, itertools.pairwise(ends)))


class Abreast(Stage):
    """Puts the elements of several datasets side by side, until all of them have ended; then those that have are empty."""

    name = "PerReplicaDataset"

    def spec(self) -> Any:
        return tuple(stage.spec() for stage in self.inputs)

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for parts in itertools.zip_longest(*(stage.elements(iteration) for stage in self.inputs), fillvalue=_ENDED):
            there = next(part for part in parts if part is not _ENDED)
            yield tuple(nest.map_structure(empty_like, there) if part is _ENDED else part for part in parts)

    def cardinality(self) -> int:
        totals = [stage.cardinality() for stage in self.inputs]
        return min(totals) if min(totals) < 0 else max(totals)


_ENDED = object()


def _made(dataset_fn: Callable[[InputContext], Any], given: InputContext, placer: Placer) -> Stage:
    """The pipeline that a dataset function makes."""
    with entered(device=host_device(placer.plan.backend)):
        made = dataset_fn(given)
    if not isinstance(made, Dataset):
        raise TypeError(
            f"dataset_fn returned a {type(made).__name__} for input pipeline {given.input_pipeline_id}; expected a "
            f"tf.data.Dataset. Return the dataset itself."
        )
    return made.stage


def _identity(dataset_fn: Callable[..., Any]) -> Any:
    """What a function and the same function made once more, in a later epoch, have in common: its code, and what it uses."""
    code = getattr(dataset_fn, "__code__", None)
    cells = getattr(dataset_fn, "__closure__", None) or ()
    return dataset_fn if code is None else (code, *(id(cell.cell_contents) for cell in cells))


def _tensor(put: Callable[[Any, Device], Any], leaf: Any, device: Device) -> Any:
    if of_parts(leaf):
        return leaf.tensor(lambda part: _tensor(put, part, device))
    array = leaf if type(leaf) is np.ndarray else np.asarray(require_tensor(leaf))
    return make(array, device) if array.dtype.kind == "O" else put(array, device)

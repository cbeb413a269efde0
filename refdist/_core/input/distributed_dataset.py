"""DistributedDataset: what a dataset becomes when each replica takes its part of it."""

import collections
import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.enums import InputReplicationMode
from refdist._core.base.errors import OutOfRangeError
from refdist._core.base.options import InputContext, InputOptions
from refdist._core.base.where import entered
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import make
from refdist._core.input.dataset import Dataset
from refdist._core.input.dataset_options import Options
from refdist._core.input.position import End, Loop, Pass, State
from refdist._core.input.sharding import autosharded, steps, whole_batch
from refdist._core.input.sources import Loader
from refdist._core.input.stage import Stage
from refdist._core.input.transforms import Divided
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec, batched, require_tensor, unbatched
from refdist._core.replicas.values import PerReplica
from refdist._core.seam.backend import host_device
from refdist._core.seam.capabilities import KeepsLedger, capability
from refdist._core.seam.draft import leave_draft_for_data

if TYPE_CHECKING:
    from refdist._core.strategies.plan import Plan

Step = tuple[Any, Sequence[range]]  # what the replicas get, and which samples that is


@dataclasses.dataclass(frozen=True)
class Share:
    """Which worker of how many this is, how many replicas there are in all, and whether any worker goes on."""

    pipelines: int
    index: int
    replicas: int
    anyone: Callable[[bool], bool] = lambda goes_on: goes_on  # given whether this one does


class DistributedDataset:
    """Delivers a per-replica value for each step; it can only be iterated over, and asked for its element_spec."""

    def __init__(self, source: "Splitting | Dealing") -> None:
        self._source = source

    def __iter__(self) -> "DistributedIterator":
        leave_draft_for_data()
        return DistributedIterator(self._source)

    @property
    def element_spec(self) -> Any:
        """The spec of an element: one for each replica, where there are several."""
        return self._source.element_spec


class DistributedIterator(Loop):
    """One loop over a distributed dataset; it can say where it is, and start there."""

    def __init__(self, source: "Splitting | Dealing") -> None:
        self._source = source
        super().__init__(source.steps, self._delivered)

    @property
    def element_spec(self) -> Any:
        """The spec of an element."""
        return self._source.element_spec

    def get_next(self) -> Any:
        """The next element, or an OutOfRangeError at the end."""
        mark = self._at[1]
        try:
            return next(self)
        except StopIteration as end:
            raise OutOfRangeError(
                "The iterator is at its end; expected a further element. Make a new one with iter()."
            ) from end
        except BaseException:
            self._settle(mark)
            raise

    def get_next_as_optional(self) -> "Optional":
        """The next element in a box, which is empty at the end."""
        mark = self._at[1]
        try:
            return Optional([next(self)])
        except StopIteration:
            return Optional([])
        except BaseException:
            self._settle(mark)
            raise

    def _start(self, state: State | None) -> None:
        self._record = self._source.recorder()
        super()._start(state)

    def _delivered(self, step: Step) -> Any:
        self._record(step[1])
        return step[0]


class Optional:
    """A value that may be missing."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def has_value(self) -> bool:
        """Say whether there is one."""
        return bool(self._values)

    def get_value(self) -> Any:
        """The value, or an OutOfRangeError."""
        if not self._values:
            raise OutOfRangeError("The box is empty; expected a value. Ask has_value() first.")
        return self._values[0]


class Placing:
    """Puts the pieces of a step on the replicas' devices."""

    def __init__(self, plan: "Plan", options: InputOptions | None) -> None:
        self.plan = plan
        if options is not None and not isinstance(options, InputOptions):
            raise TypeError(
                f"The options are {options!r}; expected a tf.distribute.InputOptions. A dataset takes its own options with "
                f"with_options()."
            )
        if options is not None and options.experimental_replication_mode is not InputReplicationMode.PER_WORKER:
            raise NotImplementedError(
                f"The options have {options.experimental_replication_mode}; expected InputReplicationMode.PER_WORKER, because "
                f"there is one input pipeline for each worker. Tell the replicas apart in the replica function."
            )
        fetch = options is None or options.experimental_fetch_to_device is not False
        host = host_device(plan.backend)
        self._devices: tuple[Device, ...] = plan.devices if fetch else (host,) * len(plan.devices)

    def recorder(self) -> Callable[[Sequence[range]], None]:
        """What notes the samples of each step of one loop, where the backend keeps a ledger."""
        keeping = capability(self.plan.backend, KeepsLedger)
        ledger = None if keeping is None else keeping.ledger_in_use()
        if ledger is None:
            return lambda samples: None
        loop, numbers = ledger.new_loop(), itertools.count()

        def record(samples: Sequence[range]) -> None:
            step = next(numbers)
            for replica, own in enumerate(samples):
                ledger.record(loop, step, replica, self.plan.devices[replica], own)

        return record

    def place(self, pieces: Sequence[Any]) -> Any:
        """One element of one step: bare for one replica, else a nest of per-replica values."""
        put = self.plan.backend.put
        if len(pieces) == 1:
            return nest.map_structure(lambda leaf: _tensor(put, leaf, self._devices[0]), pieces[0])
        if not isinstance(pieces[0], nest.CONTAINERS):
            return PerReplica([_tensor(put, piece, d) for piece, d in zip(pieces, self._devices, strict=True)])
        placed_pieces = [
            nest.map_structure(lambda leaf, d=device: _tensor(put, leaf, d), piece)
            for piece, device in zip(pieces, self._devices, strict=True)
        ]
        return nest.transpose(placed_pieces, PerReplica, AssertionError)

    def spec(self, one: Any) -> Any:
        """The spec of one element of one step."""
        count = len(self.plan.devices)
        return one if count == 1 else nest.map_structure(lambda leaf: PerReplicaSpec(*[leaf] * count), one)


class _Source:
    """What a loop over a distributed dataset takes its steps from."""

    _stage: Stage
    _placing: Placing
    ahead: int  # how many steps are read before they are wanted

    def recorder(self) -> Callable[[Sequence[range]], None]:
        """What notes the samples of each step of one loop."""
        return self._placing.recorder()

    def nothing(self, last: Any) -> Step:
        """A step without samples, for a worker that has no more while others go on: as the last one, if there was one."""
        local = len(self._placing.plan.devices)
        if last is None:
            last = self._placing.place([nest.map_structure(_zeros, self._stage.spec())] * local)
        return nest.map_structure(_emptied, last), [range(0)] * local


class Splitting(_Source):
    """Cuts each global batch into the pieces of the replicas."""

    def __init__(
        self,
        stage: Stage,
        policy: Options,
        placing: Placing,
        share: Share,
        even: bool = False,
        agree: Callable[[int], int] = lambda seed: seed,
    ) -> None:
        chosen = policy.experimental_distribute.auto_shard_policy
        self._stage = autosharded(stage, chosen, share.pipelines, share.index, agree)
        self._placing, self._share, self._even = placing, share, even
        self._whole, self.ahead = whole_batch(stage), share.replicas
        # Where every worker reads all batches and takes its part of each, all of them have the same steps.
        self._divided = isinstance(self._stage, Divided)

    @property
    def element_spec(self) -> Any:
        """The spec of an element."""
        spec = self._stage.spec()
        if self._share.replicas == 1:
            return spec
        for leaf in nest.flatten(spec):
            _require_batch(len(leaf.shape))
        return self._placing.spec(batched(unbatched(spec), None))

    def stages(self) -> list[str]:
        """What is done to the dataset, for inspection."""
        size = math.ceil(self._whole / self._share.replicas) if self._whole else "?"
        shard = [f"shard({self._share.pipelines}, {self._share.index})"] if self._share.pipelines > 1 else []
        return [f"rebatch({size})", *shard, f"prefetch({self._share.replicas})"]

    def steps(self, state: State | None) -> "_Steps":
        """The elements of one loop."""
        alone = self._divided or self._even
        anyone = (lambda goes_on: goes_on) if alone else self._share.anyone
        return _Steps(Pass(self._stage, state), self._cut, self, anyone)

    def _cut(self, elements: Pass) -> Iterator[Step]:
        progress = elements.progress
        local, seen = len(self._placing.plan.devices), elements.consumed + elements.skip
        for batch in elements:
            size = _size(batch) if self._share.replicas > 1 else elements.consumed - seen
            first, seen = seen, seen + size
            if self._share.replicas == 1:
                yield self._placing.place([batch]), [range(first, seen)]
                continue
            if self._even and size % self._share.replicas:
                raise ValueError(
                    f"A batch of {size} examples was to be divided evenly among {self._share.replicas} replicas; expected a "
                    f"multiple. Use drop_remainder=True, or make_input_fn_iterator(), which divides nothing."
                )
            if self._whole is None and elements.whole is None:
                elements.whole = size
            whole = size if self._even else self._whole or elements.whole or size
            if self._divided:
                first_replica, all_replicas = self._share.index * local, self._share.replicas
                (everything,) = steps(size, whole, all_replicas, all_replicas)
                pieces = [everything[first_replica : first_replica + local]]
            else:
                pieces = steps(size, whole, self._share.replicas, local)
            for number, step in enumerate(pieces, 1):
                progress.samples = step[-1][1] if number < len(pieces) else 0
                samples = [range(first + start, first + stop) for start, stop in step]
                yield self._placing.place([_piece(batch, start, stop) for start, stop in step]), samples
            if self._share.pipelines > 1:
                progress.before = elements.mark()


class Dealing(_Source):
    """Gives each replica a whole batch of its worker's dataset in each step."""

    def __init__(self, dataset_fn: Callable[[InputContext], Any], placing: Placing, share: Share) -> None:
        given = InputContext(share.pipelines, share.index, share.replicas)
        with entered(device=host_device(placing.plan.backend)):
            made = dataset_fn(given)
        if not isinstance(made, Dataset):
            raise TypeError(
                f"dataset_fn returned a {type(made).__name__} for input pipeline {share.index}; expected a tf.data.Dataset. "
                f"Return the dataset itself."
            )
        self._stage, self._placing, self._share = made.stage, placing, share
        self.ahead = len(placing.plan.devices)

    @property
    def element_spec(self) -> Any:
        """The spec of an element."""
        spec = self._stage.spec()
        if len(self._placing.plan.devices) > 1:
            spec = nest.map_structure(
                lambda leaf: TensorSpec((None, *leaf.shape[1:]) if leaf.shape else (), leaf.dtype), spec
            )
        return self._placing.spec(spec)

    def stages(self) -> list[str]:
        """What is done to the dataset, for inspection."""
        return [f"prefetch({len(self._placing.plan.devices)})"]

    def steps(self, state: State | None) -> "_Steps":
        """The elements of one loop."""
        return _Steps(Pass(self._stage, state), self._dealt, self, self._share.anyone)

    def _dealt(self, elements: Pass) -> Iterator[Step]:
        local, before = len(self._placing.plan.devices), elements.consumed + elements.skip
        hand: list[Any] = []
        samples: list[range] = []
        for element in elements:
            hand.append(element)
            samples.append(range(before, elements.consumed))
            before = elements.consumed
            if len(hand) == local:
                yield self._placing.place(hand), samples
                hand, samples = [], []
        if hand:
            missing = local - len(hand)
            filled = [*hand, *[nest.map_structure(_emptied, hand[0])] * missing]
            yield self._placing.place(filled), [*samples, *[range(before, before)] * missing]


class _Steps:
    """The steps of one loop, some of them read and placed ahead of the loop; it knows the position of the loop itself."""

    def __init__(
        self,
        elements: Pass,
        arrange: Callable[[Pass], Iterator[Step]],
        source: "_Source",
        anyone: Callable[[bool], bool],
    ) -> None:
        self._pass, self._source, self._anyone = elements, source, anyone
        self._mark = self._read_mark()
        self._arranged = arrange(elements)
        self._ready: collections.deque[tuple[Step, Callable[[], State]]] = collections.deque()
        self._last: Any = None
        self._coming: End | None = None  # after the steps that are ready
        self.end: End | None = None

    def __next__(self) -> Step:
        while self._coming is None and len(self._ready) <= self._source.ahead:
            self._pull()
        if self.end is None and not self._goes_on():
            self.end = self._coming
        if self.end is not None:
            raise self.end
        if not self._ready:
            return self._source.nothing(self._last)
        step, self._mark = self._ready.popleft()
        self._last = step[0]
        return step

    def mark(self) -> Callable[[], State]:
        """The position after the last step that was delivered."""
        return self._mark

    def live(self) -> bool:
        """Say whether data come from a function of the user, which may not deliver the same again."""
        return self._pass.live()

    def _goes_on(self) -> bool:
        """Say whether there is a step for this worker, or for another one: then this one takes part in it with nothing."""
        if self._ready or self._coming is StopIteration:
            return self._anyone(bool(self._ready))
        return False

    def _pull(self) -> None:
        try:
            self._ready.append((next(self._arranged), self._read_mark()))
        except StopIteration:
            self._coming = StopIteration
        except Exception as error:
            self._coming = error

    def _read_mark(self) -> Callable[[], State]:
        """The position after the last step that was read."""
        return self._pass.progress.mark() if self._pass.progress.samples else self._pass.mark()


def stage_of(dataset: Any) -> tuple[Stage, Options]:
    """The pipeline of a dataset, or of anything else that delivers batches again and again."""
    if isinstance(dataset, Dataset):
        return dataset.stage, dataset.options()
    if isinstance(dataset, DistributedDataset):
        raise TypeError(
            "A DistributedDataset was to be distributed again; expected a tf.data.Dataset. Distribute the original dataset."
        )
    return Loader(dataset), Options()


def stages_of(distributed: DistributedDataset) -> list[str]:
    """What was done to a dataset to distribute it: rebatch, shard, prefetch."""
    return distributed._source.stages()  # pyright: ignore[reportPrivateUsage]


def _tensor(put: Callable[[Any, Device], Any], leaf: Any, device: Device) -> Any:
    array = leaf if type(leaf) is np.ndarray else np.asarray(require_tensor(leaf))
    return make(array, device) if array.dtype.kind == "O" else put(array, device)


def _size(batch: Any) -> int:
    leaves = nest.flatten(batch)
    for leaf in leaves:
        _require_batch(np.ndim(require_tensor(leaf)))
    if any(len(leaf) != len(leaves[0]) for leaf in leaves):
        raise ValueError(
            f"A batch has parts with {', '.join(str(len(leaf)) for leaf in leaves)} examples; expected the same number in all "
            f"of them. Batch them together."
        )
    return len(leaves[0])


def _piece(batch: Any, start: int, stop: int) -> Any:
    if type(batch) is np.ndarray:
        return batch[start:stop]
    return nest.map_structure(lambda leaf: leaf[start:stop], batch)


def _emptied(leaf: Any) -> Any:
    if isinstance(leaf, PerReplica):
        return PerReplica([_emptied(part) for part in leaf.values])
    if np.ndim(leaf) == 0:
        raise ValueError(
            "The dataset ended in the middle of a step, and its elements have no batch dimension that could be empty for the "
            "replicas that are left over; expected batches, or a multiple of the replicas. Use batch(), or take() a multiple."
        )
    return leaf[:0]


def _zeros(leaf: TensorSpec) -> Any:
    return np.zeros([size or 0 for size in leaf.shape], leaf.dtype)


def _require_batch(rank: int) -> None:
    if rank == 0:
        raise ValueError(
            "A dataset of scalars was to be split over several replicas; expected batches of the global batch size. Call "
            "batch() on it, or use distribute_datasets_from_function, which splits nothing."
        )

"""Who got which sample: a record of what distributed data deliver, and what is wrong with it."""

import dataclasses
import itertools
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.call_sites import Site
from refdist._core.base.where import entered
from refdist._core.input.ledger_findings import Delivery, Finding, Pipeline, Question, findings_of
from refdist._core.input.ledger_views import drawn, printed
from refdist._core.input.stage import Stage
from refdist._core.replicas.values import DistributedValues

Key = Callable[[Any], Hashable]
Record = Callable[[Any, Sequence[range]], None]


_UNRECORDED = (
    "No sample was recorded, where each was to come once; expected some. An iterator that was made before the ledger was opened is "
    "not recorded: call iter(), or begin the loop, inside of the `with` block."
)


class LedgerError(AssertionError):
    """Samples that were lost, repeated or badly shared; `findings` has each as a value."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(["What the replicas got is not right:", *(f"- {one}" for one in findings)]))


@dataclasses.dataclass(frozen=True, eq=False)
class Feed:
    """Where the batches of one worker come from: what the ledger has to know about a loop."""

    data: Hashable  # what tells two datasets apart
    stage: Stage  # the pipeline as the program made it, before it was distributed
    devices: Sequence[str]
    worker: int
    first_replica: int  # of the worker, among the replicas of all workers
    shared: bool  # whether the workers share one dataset, so that no sample should reach two of them
    from_function: bool
    made_at: Site


class Ledger:
    """All deliveries since it was opened, in order.

    >>> import refdist as tf
    >>> with tf.using("simulator", gpus=2), tf.simulator.ledger(key=int) as ledger:
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(4)):
    ...         pass
    >>> list(ledger.replicas_of(5))
    [0]
    >>> ledger.check(each_once=True)
    >>> print(ledger.table())
    dataset 0, epoch 0: 6 samples in 2 steps
      step  replica 0  replica 1
         0  0 1        2 3
         1  4 5        -
    """

    def __init__(self, key: Key | None = None, *, batched: bool = True) -> None:
        if key is not None and not callable(key):
            raise TypeError(
                f"ledger() got key={key!r}; expected a function of one sample, which says which one it is. Write "
                f'key=lambda sample: sample["id"].'
            )
        self.deliveries: list[Delivery] = []
        self.pipelines: dict[int, Pipeline] = {}
        self._key, self._batched = key, batched
        self._loops: dict[int, int] = {}  # how many loops each worker has begun
        self._datasets: dict[
            int, dict[Hashable, int]
        ] = {}  # of each worker, in the order in which they were looped over
        self._epochs: dict[tuple[int, int], int] = {}  # the last one of each worker and dataset
        self._steps: dict[tuple[int, int, int], int] = {}  # how many each worker took of each dataset in each epoch

    def new_loop(self, feed: Feed, resumed: bool) -> Record:
        """Return what records the steps of a further loop; a loop that resumes another one goes on with its epoch."""
        worker = feed.worker
        names = self._datasets.setdefault(worker, {})
        seen: list[tuple[int, int, int]] = []  # loop, dataset and epoch, from the first step on

        def begin() -> tuple[int, int, int]:
            loop = self._loops.get(worker, 0)
            self._loops[worker] = loop + 1
            dataset = names.setdefault(feed.data, len(names))
            last = self._epochs.get((worker, dataset))
            epoch = 0 if last is None else last if resumed else last + 1
            self._epochs[worker, dataset] = epoch
            self.pipelines.setdefault(
                dataset, Pipeline(feed.stage, feed.shared, feed.from_function, feed.made_at, len(feed.devices))
            )
            return loop, dataset, epoch

        def record(element: Any, samples: Sequence[range]) -> None:
            if not seen:
                seen.append(begin())
            loop, dataset, epoch = seen[0]
            step = self._steps.get((worker, dataset, epoch), 0)
            self._steps[worker, dataset, epoch] = step + 1
            for number, (piece, numbers) in enumerate(zip(_pieces(element, len(samples)), samples, strict=True)):
                keys = None if self._key is None or not numbers else self._keys_of(piece)
                self.deliveries.append(
                    Delivery(
                        loop,
                        step,
                        feed.first_replica + number,
                        feed.devices[number],
                        numbers,
                        worker=worker,
                        dataset=dataset,
                        epoch=epoch,
                        keys=() if self._key is not None and keys is None else keys,
                        count=len(numbers) if keys is None else len(keys),
                    )
                )

        return record

    def replicas_of(self, sample: Hashable, loop: int = 0) -> Iterator[int]:
        """The replicas that got a sample, by its key, or else by its number: in a sound loop, exactly one."""
        mine = (one for one in self.deliveries if one.loop == loop)
        return (one.replica for one in mine if sample in (one.samples if one.keys is None else one.keys))

    def findings(
        self,
        *,
        each_once: bool = False,
        expected: Iterable[Hashable] | None = None,
        global_batch: int | None = None,
        even: bool = False,
        shuffled: bool | None = None,
    ) -> tuple[Finding, ...]:
        """What is wrong with the deliveries, as values.

        Args:
            each_once: each sample of a dataset must reach one replica, once in each epoch; needs a key.
            expected: the keys of all samples; without them, those of the dataset as it was before it was distributed.
            global_batch: how many samples all replicas together are to get in a step; only the last may have fewer.
            even: no piece may be empty, or smaller than that of another replica in the same step.
            shuffled: whether each epoch should have another order; without it, where the pipeline has a shuffle.
        """
        if self._key is None and (each_once or expected is not None):
            raise ValueError(
                "A ledger without a key was asked whether each sample came once; expected a key, because samples are only counted "
                'otherwise. Open it with ledger(key=lambda sample: sample["id"]), or any function that tells samples apart.'
            )
        universe = None if expected is None else tuple(dict.fromkeys(expected))
        asked = Question(each_once or expected is not None, universe, global_batch, even, shuffled)
        if asked.each_once and not self.pipelines and universe != ():
            return (Finding("unrecorded", _UNRECORDED),)
        with entered(ledger=None):
            return tuple(findings_of(self.deliveries, self.pipelines, asked, self._keys_of))

    def check(
        self,
        *,
        each_once: bool = False,
        expected: Iterable[Hashable] | None = None,
        global_batch: int | None = None,
        even: bool = False,
        shuffled: bool | None = None,
    ) -> None:
        """Raise a LedgerError that lists all findings, if there are any; the arguments are those of `findings`."""
        found = self.findings(
            each_once=each_once, expected=expected, global_batch=global_batch, even=even, shuffled=shuffled
        )
        if found:
            raise LedgerError(found)

    def table(self) -> str:
        """Who got what, as text of 80 columns."""
        return printed(self.deliveries)

    def _repr_html_(self) -> str:
        return drawn(self.deliveries)

    def _keys_of(self, piece: Any) -> tuple[Hashable, ...]:
        """The keys of the samples of a piece: of its rows, or its own where it has no dimension of samples."""
        assert self._key is not None
        key, arrays = self._key, nest.map_structure(np.asarray, piece)
        sizes = {len(leaf) if np.ndim(leaf) else None for leaf in nest.flatten(arrays)}
        if not self._batched or len(sizes) != 1 or None in sizes:
            return (_plain(key(arrays)),)
        (size,) = sizes
        assert size is not None
        return tuple(_plain(key(nest.map_structure(lambda leaf, i=i: leaf[i], arrays))) for i in range(size))


@contextmanager
def ledger(key: Key | None = None, *, batched: bool = True) -> Generator[Ledger]:
    """Record, in a block, which replica of which worker gets which sample in which step, on every backend.

    Args:
        key: what tells samples apart: a function of one sample. A sample is a row of every tensor in a batch, as numpy values; an
            element whose tensors have no common first dimension is a sample itself.
        batched: False where elements are single samples although their tensors have a common first dimension.
    """
    opened = Ledger(key, batched=batched)
    with entered(ledger=opened):
        yield opened


def _pieces(element: Any, count: int) -> Iterator[Any]:
    """What each replica gets of the element of a step."""
    if count == 1:
        return iter([element])
    return (nest.map_structure(lambda leaf, i=index: _part(leaf, i), element) for index in range(count))


def _part(leaf: Any, index: int) -> Any:
    return leaf.values[index] if isinstance(leaf, DistributedValues) else leaf


def _plain(key: Any) -> Hashable:
    """A key that can be compared and printed: numbers of numpy become those of Python."""
    if isinstance(key, np.ndarray) and key.ndim:
        return tuple(itertools.chain(key.ravel().tolist()))
    return key.item() if isinstance(key, (np.generic, np.ndarray)) else key

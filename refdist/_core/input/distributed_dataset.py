"""DistributedDataset, its iterator, and the steps that are read ahead of a loop."""

import collections
from collections.abc import Callable
from typing import Any

from refdist._core.base.call_sites import call_site
from refdist._core.base.where import HERE
from refdist._core.input.dataset import Dataset
from refdist._core.input.dataset_options import Options
from refdist._core.input.hungry_replicas import Rations
from refdist._core.input.optional import AskedForNext
from refdist._core.input.position import End, Pass, State
from refdist._core.input.replica_batches import Step, StepSource
from refdist._core.input.sources import Loader
from refdist._core.input.stage import Stage
from refdist._core.input.worker_positions import everybodys, own_part
from refdist._core.replicas.context import in_a_run
from refdist._core.seam.draft import leave_draft_for_data


class DistributedDataset:
    """Delivers a per-replica value for each step; all it offers is iteration, and its element_spec."""

    def __init__(self, source: StepSource) -> None:
        self._source = source
        source.made_at = call_site()

    def __iter__(self) -> "DistributedIterator":
        leave_draft_for_data()
        return DistributedIterator(self._source)

    @property
    def element_spec(self) -> Any:
        """The spec of an element, with one component for each replica if there are several."""
        return self._source.element_spec

    def __repr__(self) -> str:
        return f"<DistributedDataset of {self._source.stage.name}: {', '.join(self._source.stages()) or 'as it is'}>"

    def _repr_html_(self) -> str:
        from refdist._core.input.stage_tables import distributed_table  # for notebooks only

        return distributed_table(self.element_spec, self._source.stage, self._source.stages())


class DistributedIterator(AskedForNext):
    """One loop over a distributed dataset; its position can be saved and restored."""

    def __init__(self, source: StepSource) -> None:
        self._source = source
        self._made_in = HERE.get()  # whose ledger records the loop, wherever it is restored
        super().__init__(lambda state: _ReadAhead(source, state), self._delivered)

    @property
    def element_spec(self) -> Any:
        """The spec of an element."""
        return self._source.element_spec

    def _require_place(self) -> None:
        if in_a_run(HERE.get().frame):
            raise ValueError(
                "next() of a distributed iterator was called in a replica; expected it outside, because one call gives all "
                "replicas their parts. Write strategy.run(fn, args=(next(iterator),))."
            )

    def saved_state(self) -> State:
        """Return the position on all workers; where each has its own part of the data, all of them must ask for it."""
        return everybodys(self.state(), self._source)

    def restore_saved(self, saved: Any) -> None:
        """Continue where the loop was on this worker; where all read the same data, with any number of workers."""
        self._start(own_part(saved, self._source))

    def _start(self, state: State | None) -> None:
        self._record = self._source.recorder(self._made_in, resumed=state is not None)
        super()._start(state)

    def _delivered(self, step: Step) -> Any:
        if self._record is not None:
            self._record(*step)
        return step[0]


class _ReadAhead:
    """The steps of one loop, some of them read and placed before they are wanted; the position is that of the loop itself."""

    def __init__(self, source: StepSource, state: State | None) -> None:
        self._source, self._pass = source, Pass(source.stage, state)
        self._mark = self._read_mark()
        self._steps = source.steps(self._pass)
        self._ready: collections.deque[tuple[Step, Callable[[], State]]] = collections.deque()
        self._last: Any = None
        self._delivered = 0
        self._rations = Rations(source.made_at)
        self._end_after_ready: End | None = None
        self.end: End | None = None

    def __next__(self) -> Step:
        while self._end_after_ready is None and len(self._ready) <= self._source.ahead:
            self._read()
        if self.end is None and not self._continues():
            self.end = self._end_after_ready
        if self.end is StopIteration:
            self._rations.judge()
            raise StopIteration(
                f"The data of this worker ended after {self._delivered} steps; expected one for each next(). Take as many steps as "
                f"there are batches, the same number on every worker, or repeat() the dataset."
            )
        if self.end is not None:
            raise self.end
        self._delivered += 1
        if not self._ready:
            step = self._source.empty_step(self._last)
            self._rations.serve(*step)
            return step
        step, self._mark = self._ready.popleft()
        self._rations.serve(*step)
        self._last = step[0]
        return step

    def mark(self) -> Callable[[], State]:
        """The position after the last step that was delivered."""
        return self._mark

    def unrepeatable(self) -> bool:
        """Say whether data come from a user's function that may not deliver the same data again."""
        return self._pass.unrepeatable()

    def _continues(self) -> bool:
        """Say whether any worker has another step; if only others do, this one takes part with an empty step."""
        if self._ready or self._end_after_ready is StopIteration:
            return self._source.any_worker_continues(self._ready[0][0][0] if self._ready else None)
        return False

    def _read(self) -> None:
        try:
            self._ready.append((next(self._steps), self._read_mark()))
        except StopIteration:
            self._end_after_ready = StopIteration
        except Exception as error:
            self._end_after_ready = error

    def _read_mark(self) -> Callable[[], State]:
        """The position after the last step that was read."""
        return self._pass.progress.mark() if self._pass.progress.samples else self._pass.mark()


def stage_of(dataset: Any) -> tuple[Stage, Options]:
    """Return the pipeline of a dataset, or of anything else that delivers batches and can be iterated over repeatedly."""
    if isinstance(dataset, Dataset):
        return dataset.stage, dataset.options()
    if isinstance(dataset, DistributedDataset):
        raise TypeError(
            "A DistributedDataset was to be distributed again; expected a tf.data.Dataset. Distribute the original dataset."
        )
    return Loader(dataset), Options()


def stages_of(distributed: DistributedDataset) -> list[str]:
    """List what was done to a dataset to distribute it: rebatch, shard, prefetch."""
    return distributed._source.stages()  # pyright: ignore[reportPrivateUsage]

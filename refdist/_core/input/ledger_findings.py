"""What can be wrong with the deliveries of samples: each mistake is a value, with a sentence that says what to do."""

import collections
import dataclasses
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from refdist._core.base.call_sites import Site
from refdist._core.input.batching import Batch
from refdist._core.input.sources import Generated
from refdist._core.input.stage import INFINITE_CARDINALITY, Iteration, Stage
from refdist._core.input.transforms import Repeat, Shuffle


@dataclasses.dataclass(frozen=True, slots=True)
class Delivery:
    """The samples that one replica got in one step; a sample is numbered in the order of its pass over the data.

    Loops, datasets and epochs are numbered on each worker by itself, in the order in which it begins them.
    """

    loop: int
    step: int
    replica: int  # among those of all workers
    device: str
    samples: range
    worker: int = 0
    dataset: int = 0
    epoch: int = 0
    keys: tuple[Hashable, ...] | None = None  # None in a ledger without a key
    count: int = 0


@dataclasses.dataclass(frozen=True)
class Finding:
    """One mistake in how samples were delivered."""

    kind: str
    sentence: str
    samples: tuple[Hashable, ...] = ()
    replicas: tuple[int, ...] = ()
    workers: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.sentence


@dataclasses.dataclass(frozen=True, eq=False)
class Pipeline:
    """What a dataset was before it was distributed, as far as findings depend on it."""

    stage: Stage
    shared: bool  # whether workers share the samples, so that none should reach two of them
    from_function: bool
    made_at: Site
    local: int  # replicas of a worker

    @property
    def repetitions(self) -> int | None:
        """How often a pass delivers each sample; None where it has no end."""
        if self.stage.cardinality() == INFINITE_CARDINALITY:
            return None
        counts = [stage.count for stage in self.stage.walk() if isinstance(stage, Repeat)]
        return None if any(count < 0 for count in counts) else math.prod(counts)

    @property
    def shuffles(self) -> bool:
        """Whether the order is meant to be random."""
        return any(isinstance(stage, Shuffle) for stage in self.stage.walk())

    def at(self) -> str:
        """Where the program distributed it, for a sentence."""
        return f" ({self.made_at[0]})" if self.made_at else ""

    def keys(self, keys_of: Callable[[Any], tuple[Hashable, ...]]) -> tuple[Hashable, ...] | None:
        """The keys of all samples of the dataset, those of an incomplete last batch too; None where it cannot be read again."""
        unrepeatable = any(isinstance(stage, Generated) and not stage.repeatable for stage in self.stage.walk())
        if unrepeatable or self.repetitions is None:
            return None
        # A pass that only looks uses up no pass number of a shuffle.
        elements = _whole(self.stage).elements(Iteration(peeking=True))
        return tuple(dict.fromkeys(itertools.chain.from_iterable(keys_of(one) for one in elements)))


@dataclasses.dataclass(frozen=True)
class Question:
    """What a program promises about its data."""

    each_once: bool
    expected: tuple[Hashable, ...] | None
    global_batch: int | None
    even: bool
    shuffled: bool | None


def findings_of(
    deliveries: Sequence[Delivery],
    pipelines: Mapping[int, Pipeline],
    asked: Question,
    keys_of: Callable[[Any], tuple[Hashable, ...]],
) -> Iterator[Finding]:
    """Find all mistakes, dataset by dataset."""
    for dataset, pipeline in sorted(pipelines.items()):
        mine = [one for one in deliveries if one.dataset == dataset]
        idle = set[int]()
        for finding in _idle(mine, pipeline):
            idle.update(finding.replicas)
            yield finding
        if asked.even:
            yield from _uneven(mine, pipeline, idle)
        if asked.global_batch is not None:
            yield from _batch_size(mine, pipeline, asked.global_batch)
        if not any(one.keys for one in mine):
            continue
        by_epoch = _grouped(mine, lambda one: one.epoch)
        universe = asked.expected
        if universe is None and asked.each_once:
            universe = None if pipeline.from_function else pipeline.keys(keys_of)
            universe = universe or tuple(dict.fromkeys(itertools.chain.from_iterable(one.keys or () for one in mine)))
        for epoch, group in by_epoch.items():
            yield from _overlaps(group, pipeline, epoch)
            if asked.each_once:
                yield from _repeated(group, pipeline, epoch)
                yield from _never(group, pipeline, epoch, universe or ())
        if asked.shuffled or (asked.shuffled is None and pipeline.shuffles):
            yield from _same_order(by_epoch, pipeline)


def _idle(mine: Sequence[Delivery], pipeline: Pipeline) -> Iterator[Finding]:
    """Replicas that get nothing in any step, or in half of them, not only in the last one; one step alone says nothing."""
    steps = _grouped(mine, lambda one: (one.epoch, one.step))
    busy = [group for group in steps.values() if any(one.count for one in group)]
    if len(busy) < 2:
        return
    replicas = _grouped(itertools.chain.from_iterable(busy), lambda one: one.replica)
    without = {replica: [one for one in got if not one.count] for replica, got in replicas.items()}
    last = {epoch: max(step for of, step in steps if of == epoch) for epoch, _ in steps}
    early = {replica: [one for one in got if one.step < last[one.epoch]] for replica, got in without.items()}
    idle = [
        replica
        for replica, got in without.items()
        if len(got) == len(busy) or (early[replica] and 2 * len(got) >= len(busy))
    ]
    if not idle:
        return
    often = len(without[idle[0]])
    whole = {one.worker for one in mine} - {one.worker for one in mine if one.replica not in idle}
    example = next(group for group in busy if any(not one.count for one in group if one.replica in idle))
    sizes = [one.count for one in sorted(example, key=lambda one: one.replica)]
    if whole and len({one.worker for one in mine}) > 1:
        who = f"{_named('Worker', sorted(whole))} got no sample"
        remedy = (
            "Its part of the data is empty or too small: give it as many files as there are workers, shard by element "
            "(AutoShardPolicy.DATA), or shard by the pipeline's number in the dataset function."
        )
    else:
        who = f"{_named('Replica', idle)} got no sample"
        remedy = (
            f"A batch of {sum(sizes)} on {len(sizes)} replicas is cut into {sizes}: choose a global batch that is a multiple of "
            f"{len(sizes)}, or fewer replicas."
        )
    steps_shown = "any" if often == len(busy) else f"{often}"
    sentence = f"{who} in {steps_shown} of {len(busy)} steps{pipeline.at()}. {remedy}"
    numbers = tuple(sorted({one.step for replica in idle for one in without[replica]}))
    yield Finding("idle", sentence, (), tuple(idle), tuple(sorted(whole)), numbers)


def _uneven(mine: Sequence[Delivery], pipeline: Pipeline, idle: set[int]) -> Iterator[Finding]:
    """Pieces without samples, and steps whose pieces differ in size."""
    for (epoch, step), group in _grouped(mine, lambda one: (one.epoch, one.step)).items():
        ordered = sorted(group, key=lambda one: one.replica)
        sizes = [one.count for one in ordered]
        empty = [one for one in ordered if not one.count and one.replica not in idle]
        at = f"step {step} of epoch {epoch}{pipeline.at()}"
        if empty:
            who = _named("Replica", [one.replica for one in empty])
            sentence = (
                f"{who} got an empty piece in {at}: {sum(sizes)} samples are cut into {sizes}. Use drop_remainder=True, or a step "
                f"that takes no mean of nothing: reduce sums and counts."
            )
            workers = tuple(sorted({one.worker for one in empty}))
            yield Finding("empty", sentence, (), tuple(one.replica for one in empty), workers, (step,))
        elif len(set(sizes)) > 1 and not idle:
            sentence = (
                f"The pieces of {at} differ in size: {sum(sizes)} samples are cut into {sizes}, and a mean of means weighs them "
                f"wrongly. Use drop_remainder=True, or reduce sums and counts."
            )
            yield Finding("indivisible", sentence, (), tuple(one.replica for one in ordered), (), (step,))


def _batch_size(mine: Sequence[Delivery], pipeline: Pipeline, expected: int) -> Iterator[Finding]:
    """Steps with another number of samples than the program divides by; the last of an epoch may have fewer."""
    totals: dict[tuple[int, int], int] = collections.Counter()
    last: dict[int, int] = {}
    for one in mine:
        totals[one.epoch, one.step] += one.count
        last[one.epoch] = max(one.step, last.get(one.epoch, 0))
    wrong = {(e, s): n for (e, s), n in totals.items() if n != expected and not (s == last[e] and n < expected)}
    if not wrong:
        return
    total = next(iter(wrong.values()))
    replicas = sorted({one.replica for one in mine})
    sentence = (
        f"A step consumes {total} samples on {len(replicas)} replicas, where {expected} were expected{pipeline.at()}. "
    )
    if pipeline.from_function and total == expected * len(replicas):
        sentence += (
            f"The dataset function batches by the global size on each of them: batch by "
            f"context.get_per_replica_batch_size({expected})."
        )
    else:
        sentence += "Batch by the size that the loss is divided by."
    steps = tuple(sorted({step for _, step in wrong}))
    yield Finding("batch_size", sentence, (), tuple(replicas), (), steps)


def _overlaps(group: Sequence[Delivery], pipeline: Pipeline, epoch: int) -> Iterator[Finding]:
    """Samples that several workers, or several replicas in one step, got in one epoch."""
    if pipeline.repetitions != 1 or not pipeline.shared:
        return
    workers = _grouped(group, lambda one: one.worker)
    of_worker = {worker: _keys(got) for worker, got in workers.items()}
    holders: dict[Hashable, set[int]] = collections.defaultdict(set)
    for worker, keys in of_worker.items():
        for key in keys:
            holders[key].add(worker)
    common = [key for key, got in holders.items() if len(got) > 1]
    if common:
        whose = sorted({worker for key in common for worker in holders[key]})
        everything = len({frozenset(of_worker[worker]) for worker in whose}) == 1
        what = "the same samples" if everything else "some samples that others get, too"
        remedy = (
            "shard in the dataset function: .shard(context.num_input_pipelines, context.input_pipeline_id)"
            if pipeline.from_function and everything
            else "shuffle with one seed on all workers, and shard after it"
            if not everything
            else "shard it: AutoShardPolicy.DATA, or each worker's own part of the data"
        )
        sentence = (
            f"{_named('Worker', whose)} get {what} in epoch {epoch}: {shortened(common)}{pipeline.at()}. So that one of them "
            f"reads each, {remedy}."
        )
        kind = "same_shard" if everything else "overlap"
        replicas = sorted({one.replica for one in group if set(one.keys or ()) & set(common)})
        yield Finding(kind, sentence, tuple(common), tuple(replicas), tuple(whose), _steps_of(group, common))
        return
    for step, got in _grouped(group, lambda one: one.step).items():
        counts = collections.Counter(key for one in got for key in dict.fromkeys(one.keys or ()))
        twice = [key for key, count in counts.items() if count > 1]
        if twice:
            replicas = sorted({one.replica for one in got if set(one.keys or ()) & set(twice)})
            sentence = (
                f"{_named('Replica', replicas)} get the same samples in step {step} of epoch {epoch}: {shortened(twice)}"
                f"{pipeline.at()}. Give each replica its own: shard in the dataset function, or distribute global batches."
            )
            yield Finding("overlap", sentence, tuple(twice), tuple(replicas), (), (step,))
            return


def _repeated(group: Sequence[Delivery], pipeline: Pipeline, epoch: int) -> Iterator[Finding]:
    """Samples that came more often in one epoch than the pipeline repeats them."""
    times = pipeline.repetitions
    if times is None or (times == 1 and any(_overlaps(group, pipeline, epoch))):
        return  # it has been told who shares them
    counts = collections.Counter(key for one in group for key in one.keys or ())
    often = [key for key, count in counts.items() if count > times]
    if not often:
        return
    holding = [one for one in group if set(one.keys or ()) & set(often)]
    replicas = tuple(sorted({one.replica for one in holding}))
    steps, most = _steps_of(group, often), max(counts[key] for key in often)
    if len({(one.worker, one.loop) for one in holding}) > len({one.worker for one in holding}):
        sentence = (
            f"Samples {shortened(often)} came again in epoch {epoch} after a restart{pipeline.at()}: the loop was restored to a "
            f"position before them. Save the position with the weights, after the step, in one checkpoint."
        )
        yield Finding("repeated_over_restart", sentence, tuple(often), replicas, (), steps)
        return
    sentence = (
        f"Samples {shortened(often)} came up to {most} times in epoch {epoch}, to {_named('replica', replicas)} in steps "
        f"{shortened(steps)}{pipeline.at()}. Padding by repetition counts them twice: drop it by key, or keep the short last batch."
    )
    yield Finding("twice", sentence, tuple(often), replicas, (), steps)


def _never(
    group: Sequence[Delivery], pipeline: Pipeline, epoch: int, universe: Sequence[Hashable]
) -> Iterator[Finding]:
    """Samples of the dataset that no replica got in an epoch."""
    seen = _keys(group)
    missing = [key for key in universe if key not in seen]
    if not missing:
        return
    drops = any(isinstance(stage, Batch) and stage.drop_remainder for stage in pipeline.stage.walk())
    resumed = len({(one.worker, one.loop) for one in group}) > len({one.worker for one in group})
    remedy = (
        "Batches are made with drop_remainder=True: leave it out where every sample counts, as in an evaluation."
        if drops
        else "The loop was restored to a position after them: save the position that the weights have seen."
        if resumed
        else "The loop ended before them: go on to the end of the data, or restore iterator.state() after a restart."
    )
    sentence = (
        f"Epoch {epoch} covers {len(universe) - len(missing)} of {len(universe)} samples; nobody got {shortened(missing)}"
        f"{pipeline.at()}. {remedy}"
    )
    kind = "lost_over_restart" if resumed and not drops else "never"
    yield Finding(kind, sentence, tuple(missing))


def _same_order(by_epoch: Mapping[int, Sequence[Delivery]], pipeline: Pipeline) -> Iterator[Finding]:
    """Epochs whose samples come in one order, although they are shuffled."""
    orders: dict[tuple[Hashable, ...], list[int]] = {}
    for epoch, group in by_epoch.items():
        ordered = sorted(group, key=lambda one: (one.step, one.replica))
        orders.setdefault(tuple(key for one in ordered for key in one.keys or ()), []).append(epoch)
    for order, epochs in orders.items():
        # Three samples or fewer come in the same order by chance.
        if len(epochs) > 1 and len(set(order)) > 3:
            sentence = (
                f"{_named('Epoch', epochs)} have the same order, {shortened(order)}, although the data are shuffled"
                f"{pipeline.at()}. Use shuffle(..., reshuffle_each_iteration=True), or add the epoch to the seed."
            )
            yield Finding("same_order", sentence, order)


def shortened(things: Iterable[Any], most: int = 8) -> str:
    """Name the first of several things.

    >>> shortened(range(20), 3)
    '0 1 2 ... (20)'
    """
    everything = [str(one) for one in things]
    rest = f" ... ({len(everything)})" if len(everything) > most else ""
    return " ".join(everything[:most]) + rest


def _whole(stage: Stage) -> Stage:
    """The same pipeline, with the last batch even if it is not full."""
    if isinstance(stage, Batch):
        whole = stage.over(*stage.inputs)
        assert isinstance(whole, Batch)
        whole.drop_remainder = False
        return whole
    return stage.over(_whole(stage.inputs[0]), *stage.inputs[1:]) if stage.one_to_one and stage.inputs else stage


def _named(noun: str, numbers: Sequence[int]) -> str:
    return f"{noun} {numbers[0]}" if len(numbers) == 1 else f"{noun}s {', '.join(map(str, numbers))}"


def _keys(group: Iterable[Delivery]) -> set[Hashable]:
    return {key for one in group for key in one.keys or ()}


def _steps_of(group: Iterable[Delivery], keys: Sequence[Hashable]) -> tuple[int, ...]:
    wanted = set(keys)
    return tuple(sorted({one.step for one in group if not wanted.isdisjoint(one.keys or ())}))


def _grouped(mine: Iterable[Delivery], of: Callable[[Delivery], Any]) -> dict[Any, list[Delivery]]:
    groups: dict[Any, list[Delivery]] = {}
    for one in mine:
        groups.setdefault(of(one), []).append(one)
    return groups

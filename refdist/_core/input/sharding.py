"""Which worker reads what: arithmetic on batch sizes, and the division of files and batches among workers."""

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence

from refdist._core.input.batching import Batch, Rebatch, Unbatch
from refdist._core.input.dataset_options import SHARD_HINT, AutoShardPolicy
from refdist._core.input.mapping import Interleave
from refdist._core.input.readers import Reader
from refdist._core.input.sources import FileNames
from refdist._core.input.stage import Stage
from refdist._core.input.transforms import DividedBatches, Shard, Shuffle

Cut = tuple[int, int]


@functools.lru_cache(maxsize=256)
def cut_batch(size: int, full_size: int, replicas: int, local: int) -> list[list[Cut]]:
    """Cut one batch into the pieces of a worker's replicas, step by step, as (start, stop).

    A piece has the per-replica size of a full batch, so on two replicas a last batch of 6 out of 8 becomes 4 and 2; a
    replica for which nothing is left gets an empty piece.

    >>> cut_batch(size=6, full_size=8, replicas=2, local=2)
    [[(0, 4), (4, 6)]]
    >>> cut_batch(size=4, full_size=4, replicas=3, local=3)
    [[(0, 2), (2, 4), (4, 4)]]
    """
    piece = max(1, -(-max(size, full_size) // replicas))
    cuts = [(start, min(start + piece, size)) for start in range(0, size, piece)] or [(0, 0)]
    cuts += [(size, size)] * (-len(cuts) % local)
    return [cuts[index : index + local] for index in range(0, len(cuts), local)]


def global_batch_size(stage: Stage) -> int | None:
    """Return the global batch size that a pipeline was given, or None if it does not end in batches."""
    # Stages that select, repeat, shuffle or map batches do not change their size.
    while not isinstance(stage, (Batch, Rebatch)):
        if len(stage.inputs) != 1 or isinstance(stage, (Unbatch, Interleave)):
            return None
        stage = stage.inputs[0]
    return stage.size


def autosharded(
    stage: Stage, policy: AutoShardPolicy, count: int, index: int, agree: Callable[[int], int] = lambda seed: seed
) -> Stage:
    """Return what one worker reads: its part of the files, or else everything, to take its part of each batch.

    Args:
        agree: chooses one seed for all workers, given this worker's own, for a shuffle without a seed.
    """
    if policy is AutoShardPolicy.HINT:
        if count > 1 and not any(isinstance(one, Shard) and one.shards == SHARD_HINT for one in stage.walk()):
            raise ValueError(
                "The auto_shard_policy is HINT, but no stage has a hint; expected shard(SHARD_HINT, SHARD_HINT) where the data are "
                "to be shared out. Add it, or use the policy DATA."
            )
        return replaced(stage, lambda one: _hinted(one, count, index))
    if count == 1 or policy is AutoShardPolicy.OFF:
        return stage
    sources = [one for one in stage.walk() if not one.inputs]
    files = [one for one in sources if isinstance(one, (Reader, FileNames))]
    if policy is AutoShardPolicy.FILE or (policy is AutoShardPolicy.AUTO and len(files) == len(sources)):
        _require_files(list(_file_stages(stage)), sources, count)
        return _by_file(stage, list(_file_stages(stage)), lambda one: _files_of(one, count, index, agree))
    if policy is AutoShardPolicy.AUTO:
        warnings.warn(
            f"The dataset does not come from files alone, so each of the {count} workers reads all of it and keeps its part of "
            f"each batch. Set auto_shard_policy to DATA to say that this is meant, or to OFF to give all data to all workers.",
            UserWarning,
            stacklevel=4,
        )
    # All workers must shuffle in the same order, or their parts would overlap.
    return DividedBatches(replaced(stage, lambda one: _with_agreed_seed(one, agree)))


def _with_agreed_seed(stage: Stage, agree: Callable[[int], int]) -> Stage:
    if not isinstance(stage, Shuffle):
        return stage
    return stage.reseeded(stage.seed if stage.seeded else agree(stage.seed))


def replaced(stage: Stage, change: Callable[[Stage], Stage]) -> Stage:
    """Return the same pipeline with some of its stages changed."""
    inputs = [replaced(one, change) for one in stage.inputs]
    same = all(new is old for new, old in zip(inputs, stage.inputs, strict=True))
    return change(stage if same else stage.over(*inputs))


def _file_stages(stage: Stage) -> Iterator[Stage]:
    """Find the stages to divide among workers by file: readers, and the file names that reach the stage that opens them."""
    if isinstance(stage, Interleave) and _are_names(stage.inputs[0]):
        yield stage.inputs[0]  # after any stage that selects names, which must select from those of all workers
    elif isinstance(stage, (Reader, FileNames)):
        yield stage
    else:
        for one in stage.inputs:
            yield from _file_stages(one)


def _are_names(stage: Stage) -> bool:
    """Say whether elements are still file names, and not yet what was read from them."""
    stages = list(stage.walk())
    return not any(isinstance(one, Interleave) or not (one.inputs or isinstance(one, FileNames)) for one in stages)


def _by_file(stage: Stage, points: Sequence[Stage], change: Callable[[Stage], Stage]) -> Stage:
    if any(stage is point for point in points):
        return change(stage)
    return stage.over(*(_by_file(one, points, change) for one in stage.inputs))


def _files_of(stage: Stage, count: int, index: int, agree: Callable[[int], int]) -> Stage:
    if isinstance(stage, Reader):
        return stage.sharded(count, index)
    return Shard(replaced(stage, lambda one: _with_agreed_seed(one, agree)), count, index)


def _hinted(stage: Stage, count: int, index: int) -> Stage:
    return Shard(stage.inputs[0], count, index) if isinstance(stage, Shard) and stage.shards == SHARD_HINT else stage


def _require_files(files: Sequence[Stage], sources: Sequence[Stage], count: int) -> None:
    others = [one.name for one in sources if not isinstance(one, (Reader, FileNames))]
    if others:
        raise ValueError(
            f"The dataset does not come from files alone, but has {', '.join(others)}, and its auto_shard_policy is FILE; expected "
            f"TFRecordDataset, TextLineDataset and list_files only. Use the policy DATA."
        )
    for one in files:
        number = len(one.files) if isinstance(one, Reader) else one.cardinality()
        if 0 <= number < count:
            raise ValueError(
                f"The dataset has {number} files for {count} workers; expected at least one file for each worker. Write more "
                f"files, or set auto_shard_policy to DATA or OFF."
            )

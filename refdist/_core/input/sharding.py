"""Who reads what: pure arithmetic on batch sizes, and the sharing out of files and elements among workers."""

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence

from refdist._core.input.batching import Batch, Rebatch, Unbatch
from refdist._core.input.dataset_options import SHARD_HINT, AutoShardPolicy
from refdist._core.input.mapping import Interleave
from refdist._core.input.readers import Reader
from refdist._core.input.sources import FileNames
from refdist._core.input.stage import Stage
from refdist._core.input.transforms import Divided, Shard, Shuffle

Cut = tuple[int, int]


@functools.lru_cache(maxsize=256)
def steps(batch: int, whole: int, replicas: int, local: int) -> list[list[Cut]]:
    """Cut one batch into the pieces of a worker's replicas, step by step, as (start, stop).

    A piece has the per-replica size of a whole batch, so a last batch of 6 of 8 on two replicas becomes 4 and 2; where
    nothing is left, a replica gets an empty piece.

    >>> steps(batch=6, whole=8, replicas=2, local=2)
    [[(0, 4), (4, 6)]]
    >>> steps(batch=4, whole=4, replicas=3, local=3)
    [[(0, 2), (2, 4), (4, 4)]]
    """
    piece = max(1, -(-max(batch, whole) // replicas))
    cuts = [(start, min(start + piece, batch)) for start in range(0, batch, piece)] or [(0, 0)]
    cuts += [(batch, batch)] * (-len(cuts) % local)
    return [cuts[index : index + local] for index in range(0, len(cuts), local)]


def whole_batch(stage: Stage) -> int | None:
    """The global batch size that a pipeline was given, where it ends in batches."""
    # Stages that choose, repeat or mix batches, or call a function on them, leave their size alone.
    while not isinstance(stage, (Batch, Rebatch)):
        if len(stage.inputs) != 1 or isinstance(stage, (Unbatch, Interleave)):
            return None
        stage = stage.inputs[0]
    return stage.size


def autosharded(
    stage: Stage, policy: AutoShardPolicy, count: int, index: int, agree: Callable[[int], int] = lambda seed: seed
) -> Stage:
    """What one worker reads: its part of the files, or else everything, of which it takes its part of each batch.

    Args:
        agree: makes one seed of those that the workers have for a shuffle without one.
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
    # Each worker must shuffle alike, or their parts would overlap.
    return Divided(replaced(stage, lambda one: _alike(one, agree)))


def _alike(stage: Stage, agree: Callable[[int], int]) -> Stage:
    if not isinstance(stage, Shuffle):
        return stage
    return stage.alike(stage.seed if stage.seeded else agree(stage.seed))


def replaced(stage: Stage, change: Callable[[Stage], Stage]) -> Stage:
    """The same pipeline with some of its stages changed."""
    inputs = [replaced(one, change) for one in stage.inputs]
    same = all(new is old for new, old in zip(inputs, stage.inputs, strict=True))
    return change(stage if same else stage.over(*inputs))


def _file_stages(stage: Stage) -> Iterator[Stage]:
    """The stages whose elements are files to share out: readers, and names as the stage that opens files gets them."""
    if isinstance(stage, Interleave) and _are_names(stage.inputs[0]):
        yield stage.inputs[0]  # behind what chooses among the names, which is to choose among those of all workers
    elif isinstance(stage, (Reader, FileNames)):
        yield stage
    else:
        for one in stage.inputs:
            yield from _file_stages(one)


def _are_names(stage: Stage) -> bool:
    """Say whether elements are names of files, and not what was made of them further down."""
    stages = list(stage.walk())
    return not any(isinstance(one, Interleave) or not (one.inputs or isinstance(one, FileNames)) for one in stages)


def _by_file(stage: Stage, points: Sequence[Stage], change: Callable[[Stage], Stage]) -> Stage:
    if any(stage is point for point in points):
        return change(stage)
    return stage.over(*(_by_file(one, points, change) for one in stage.inputs))


def _files_of(stage: Stage, count: int, index: int, agree: Callable[[int], int]) -> Stage:
    if isinstance(stage, Reader):
        return stage.sharded(count, index)
    return Shard(replaced(stage, lambda one: _alike(one, agree)), count, index)


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

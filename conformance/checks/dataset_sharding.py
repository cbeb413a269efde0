"""experimental_distribute_dataset: how the data are shared out over several workers."""

import logging
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from conformance.checks import check
from conformance.checks.dataset import steps, write_records
from conformance.checks.dataset_splitting import with_policy
from conformance.expectations import CheckFailed, Unsupported
from conformance.world import World

NEEDS = ("data", "multi_worker")

Make = Callable[[str], Any]
"""Makes a dataset; it may write files to the folder given."""


@check("DATASET-15", replicas=(1, 2), needs=NEEDS)
def each_worker_opens_its_own_files_only(world: World) -> None:
    for reader, write in (("TFRecordDataset", write_records), ("TextLineDataset", _write_lines)):

        def program(strategy: Any, _: int, reader: str = reader, write: Any = write) -> tuple[list[bytes], Any]:
            with TemporaryDirectory() as folder:
                files: dict[str, list[bytes]] = write(world, folder, (4, 4, 4, 4))
                dataset = getattr(world.tf.data, reader)(list(files)).batch(4 * world.replicas)
                distributed = strategy.experimental_distribute_dataset(dataset)
                seen = _flat(steps(world, strategy, distributed))
                # What was not seen belongs to the other worker: to open it would be noticed now.
                for path, content in files.items():
                    if not set(content) & set(seen):
                        Path(path).write_bytes(b"no record, nor a number")
                try:
                    return seen, _flat(steps(world, strategy, distributed))
                except Exception as error:
                    return seen, repr(error)

        results = world.workers(2, program, replicas=world.replicas)

        for seen, again in results:
            world.equal(8, len(seen), "records of a worker")
            world.equal(2, len({record.split(b"/")[0] for record in seen}), "files of a worker")
            world.equal(seen, again, "the records, once the other files are spoiled")
        world.equal(_records((4, 4, 4, 4)), sorted(results[0][0] + results[1][0]))


@check("DATASET-16", replicas=(1, 2), needs=NEEDS)
def fewer_files_than_workers_are_an_error_or_a_warning(world: World) -> None:
    # With a file for each there is nothing to object to.
    enough = [sorted(_joined(share)) for share in _shares(world, _reading(world, (8, 8)))]
    world.equal([_records((8, 8))[:8], _records((8, 8))[8:]], sorted(enough), "one file for each worker")

    def program(strategy: Any, _: int) -> list[str]:
        with TemporaryDirectory() as folder:
            dataset = _reading(world, (8,))(folder)
            with announced() as texts:
                distributed = strategy.experimental_distribute_dataset(dataset)
            list(distributed)
        return texts

    try:
        told = world.workers(2, program, replicas=world.replicas)
    except (CheckFailed, Unsupported):
        raise
    except Exception:
        # Which worker notices it is not documented; those that wait for it go down with it.
        return
    for texts in told:
        world.true(any("OFF" in text for text in texts), f"an error, or a warning that recommends OFF, not {texts}")


@check("DATASET-17", replicas=(1, 2), needs=NEEDS)
def one_file_can_be_read_by_all_workers(world: World) -> None:
    for share in _shares(world, _reading(world, (8,)), "OFF"):
        world.equal(_records((8,)), sorted(_joined(share)))


@check("DATASET-18", replicas=(1, 2), needs=NEEDS)
def data_without_files_are_sharded_at_the_end_of_the_pipeline(world: World) -> None:
    replicas = world.replicas
    first, second = map(
        _joined, _shares(world, lambda _: world.tf.data.Dataset.range(8 * replicas).batch(2 * replicas))
    )

    # The batches of the user's pipeline go to the workers in turn, or those that are left once each replica's batch
    # has one example: the pages say both that a shard is added at the end, and that batches are divided before.
    batches = [list(range(start, start + 2 * replicas)) for start in range(0, 8 * replicas, 2 * replicas)]
    divided = [list(range(start, start + replicas)) for start in range(0, 8 * replicas, replicas)]
    readings = [[sorted(_joined(pieces[index::2])) for index in (0, 1)] for pieces in (batches, divided)]
    got = [sorted(first), sorted(second)]
    world.true(got in readings, f"one of {readings}, not {got}")


@check("DATASET-19", replicas=(1, 2), needs=NEEDS)
def every_worker_preprocesses_all_data(world: World) -> None:
    def program(strategy: Any, _: int) -> tuple[int, int, int]:
        pulled: list[int] = []
        mapped: list[int] = []
        dataset = _counted(world, pulled).map(lambda x: _noted(x, mapped)).batch(4 * world.replicas)
        distributed = strategy.experimental_distribute_dataset(dataset)
        pulled.clear()
        mapped.clear()
        kept = _flat(steps(world, strategy, distributed))
        return len(pulled), len(mapped), len(kept)

    total = 16 * world.replicas
    for pulled, mapped, kept in world.workers(2, program, replicas=world.replicas):
        world.equal(total, pulled, "elements that a worker read")
        # A traced function sees no numbers.
        world.true(mapped in (0, total), f"all {total} elements preprocessed, not {mapped}")
        world.equal(total // 2, kept, "elements that a worker kept")


@check("DATASET-20", replicas=(1, 2), needs=NEEDS)
def falling_back_to_sharding_by_element_is_announced(world: World) -> None:
    def program(strategy: Any, _: int) -> list[int]:
        numbers = world.tf.data.Dataset.range(8 * world.replicas).batch(4 * world.replicas)
        counts: list[int] = []
        with TemporaryDirectory() as folder:
            read = _reading(world, (4, 4))(folder)
            for dataset in (numbers, read, with_policy(world, numbers, "OFF")):
                with announced() as texts:
                    strategy.experimental_distribute_dataset(dataset)
                counts.append(len(texts))
        return counts

    for counts in world.workers(2, program, replicas=world.replicas):
        world.equal([1, 0, 0], counts, "warnings for a range, for files, and for a range with sharding off")


@check("DATASET-21", replicas=(1, 2), needs=NEEDS)
def auto_shards_by_file_where_it_can_and_else_by_element(world: World) -> None:
    def program(strategy: Any, _: int) -> tuple[list[bytes], int, list[int]]:
        pulled: list[int] = []
        with TemporaryDirectory() as folder:
            read = with_policy(world, _reading(world, (4, 4, 4, 4))(folder), "AUTO")
            records = _flat(steps(world, strategy, strategy.experimental_distribute_dataset(read)))
        counted = with_policy(world, _counted(world, pulled).batch(4 * world.replicas), "AUTO")
        distributed = strategy.experimental_distribute_dataset(counted)
        pulled.clear()
        numbers = _flat(steps(world, strategy, distributed))
        return records, len(pulled), numbers

    results = world.workers(2, program, replicas=world.replicas)
    total = 16 * world.replicas
    for records, pulled, numbers in results:
        world.equal(2, len({record.split(b"/")[0] for record in records}), "files of a worker")
        world.equal(total, pulled, "elements that a worker read")
        world.equal(total // 2, len(numbers), "elements that a worker processed")
    world.equal(_records((4, 4, 4, 4)), sorted(results[0][0] + results[1][0]))
    world.equal(list(range(total)), sorted(results[0][2] + results[1][2]))


@check("DATASET-22", replicas=(1,), needs=("data",))
def the_default_policy_is_auto(world: World) -> None:
    data = world.tf.data
    auto = data.experimental.AutoShardPolicy.AUTO

    world.equal(auto, data.Options().experimental_distribute.auto_shard_policy)
    world.equal(auto, data.experimental.DistributeOptions().auto_shard_policy)
    world.equal(auto, data.Dataset.range(4).options().experimental_distribute.auto_shard_policy)
    changed = with_policy(world, data.Dataset.range(4), "OFF")
    world.equal(data.experimental.AutoShardPolicy.OFF, changed.options().experimental_distribute.auto_shard_policy)


@check("DATASET-23", replicas=(1, 2), needs=NEEDS)
def the_policy_of_a_dataset_decides_what_a_worker_sees(world: World) -> None:
    options = world.tf.data.Options()
    world.true(
        isinstance(options.experimental_distribute, world.tf.data.experimental.DistributeOptions),
        "DistributeOptions in the options of a dataset",
    )

    def numbers(_: str) -> Any:
        return world.tf.data.Dataset.range(8 * world.replicas).batch(4 * world.replicas)

    everything = list(range(8 * world.replicas))
    world.equal([everything] * 2, [sorted(_joined(share)) for share in _shares(world, numbers, "OFF")], "OFF")
    for policy in ("AUTO", "DATA"):
        shares = [_joined(share) for share in _shares(world, numbers, policy)]
        world.equal([4 * world.replicas] * 2, list(map(len, shares)), policy)
        world.equal(everything, sorted(_joined(shares)), policy)
    by_file = [_joined(share) for share in _shares(world, _reading(world, (8, 8)), "FILE")]
    world.equal([[b"0"], [b"1"]], sorted(sorted({record[:1] for record in share}) for share in by_file), "FILE")


@check("DATASET-24", replicas=(1, 2), needs=NEEDS)
def every_worker_sees_everything_when_sharding_is_off(world: World) -> None:
    def program(strategy: Any, _: int) -> tuple[int, list[int]]:
        numbers = world.tf.data.Dataset.range(8 * world.replicas).batch(4 * world.replicas)
        dataset = with_policy(world, numbers, "OFF")
        with announced() as texts:
            distributed = strategy.experimental_distribute_dataset(dataset)
        return len(texts), _flat(steps(world, strategy, distributed))

    for warning_count, seen in world.workers(2, program, replicas=world.replicas):
        world.equal(list(range(8 * world.replicas)), sorted(seen))
        world.equal(0, warning_count, "warnings")


@check("DATASET-27", replicas=(1, 2), needs=NEEDS)
def no_two_workers_see_the_same_in_a_step(world: World) -> None:
    total = 16 * world.replicas
    for make in (
        lambda _: world.tf.data.Dataset.range(total).batch(4 * world.replicas),
        _reading(world, (4 * world.replicas,) * 4),
    ):
        first, second = _shares(world, make)
        world.equal(len(first), len(second), "steps")
        for step, (one, other) in enumerate(zip(first, second, strict=True)):
            world.equal([], sorted(set(one) & set(other)), f"what both workers see in step {step}")
        world.equal(total, len(set(_joined(first) + _joined(second))), "different examples in an epoch")
        world.equal(total, len(_joined(first) + _joined(second)), "examples in an epoch")


@check("DATASET-32", replicas=(1, 2), needs=NEEDS)
def all_workers_together_process_the_whole_dataset_in_some_order(world: World) -> None:
    total = 8 * world.replicas

    def program(strategy: Any, _: int) -> list[list[int]]:
        def own(context: Any) -> Any:
            # One example more, so that one worker has a step for which the other has no data.
            numbers = world.tf.data.Dataset.range(total + 1)
            shard = numbers.shard(context.num_input_pipelines, context.input_pipeline_id)
            return shard.batch(context.get_per_replica_batch_size(4 * world.replicas))

        whole = world.tf.data.Dataset.range(total).batch(4 * world.replicas)
        routes = (
            strategy.experimental_distribute_dataset(whole),
            strategy.experimental_distribute_datasets_from_function(own),
        )
        return [_flat(steps(world, strategy, distributed)) for distributed in routes]

    first, second = world.workers(2, program, replicas=world.replicas)
    for size, one, other in zip((total, total + 1), first, second, strict=True):
        world.equal(list(range(size)), sorted(one + other))


@check("DATASET-42", replicas=(1, 2), needs=NEEDS)
def a_global_batch_is_divided_over_all_workers(world: World) -> None:
    # Read by the letter, the 2.4 page gives each worker a global batch in each step. All other pages divide it by
    # the replicas of all workers together, and so does the rest of this one.
    shares = _shares(world, lambda _: world.tf.data.Dataset.range(8 * world.replicas).batch(4 * world.replicas))

    world.equal([[2 * world.replicas] * 2] * 2, [list(map(len, share)) for share in shares], "by worker and step")
    for one, other in zip(*shares, strict=True):
        world.equal([], sorted(set(one) & set(other)), "what both workers see in a step")


@contextmanager
def announced() -> Generator[list[str]]:
    """Collect the texts of the warnings that are issued or logged within the block, once it has ended."""
    texts: list[str] = []
    logged: list[logging.LogRecord] = []
    with (
        warnings.catch_warnings(record=True) as issued,
        mock.patch.object(logging.Logger, "callHandlers", lambda _, record: logged.append(record)),
    ):
        warnings.simplefilter("always")
        try:
            yield texts
        finally:
            texts += [str(warning.message) for warning in issued]
            texts += [record.getMessage() for record in logged if record.levelno >= logging.WARNING]


def _shares(world: World, make: Make, policy: str = "AUTO") -> list[list[list[Any]]]:
    """Distribute a dataset on two workers, and return the examples by worker and step."""

    def program(strategy: Any, _: int) -> list[list[Any]]:
        with TemporaryDirectory() as folder:
            dataset = with_policy(world, make(folder), policy)
            return list(map(_joined, steps(world, strategy, strategy.experimental_distribute_dataset(dataset))))

    return world.workers(2, program, replicas=world.replicas)


def _reading(world: World, sizes: tuple[int, ...]) -> Make:
    """Return what makes a dataset of batches from files with so many records each."""

    def make(folder: str) -> Any:
        return world.tf.data.TFRecordDataset(list(write_records(world, folder, sizes))).batch(4 * world.replicas)

    return make


def _records(sizes: tuple[int, ...]) -> list[bytes]:
    """List the records of files with so many each, in order."""
    return [f"{number}/{index}".encode() for number, size in enumerate(sizes) for index in range(size)]


def _write_lines(_: World, folder: str, sizes: tuple[int, ...]) -> dict[str, list[bytes]]:
    """Write the same files as `write_records`, but with one record on each line."""
    files: dict[str, list[bytes]] = {}
    for number, size in enumerate(sizes):
        path = Path(folder) / f"{number}.txt"
        files[str(path)] = [f"{number}/{index}".encode() for index in range(size)]
        path.write_bytes(b"\n".join(files[str(path)]))
    return files


def _counted(world: World, pulled: list[int]) -> Any:
    """Make a dataset of 16 numbers for each replica of a worker, which notes every number that is read."""

    def numbers() -> Any:
        for number in range(16 * world.replicas):
            pulled.append(number)
            yield number

    return world.tf.data.Dataset.from_generator(numbers, output_signature=world.tf.TensorSpec((), world.tf.int64))


def _noted(x: Any, mapped: list[int]) -> Any:
    """Note the number that an element is, unless it is a symbol, and pass it on."""
    with suppress(TypeError):
        mapped.append(int(x))
    return x


def _flat(by_step: list[list[list[Any]]]) -> list[Any]:
    return _joined(map(_joined, by_step))


def _joined(lists: Any) -> list[Any]:
    return [entry for one in lists for entry in one]

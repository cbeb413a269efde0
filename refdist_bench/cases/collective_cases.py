"""All-reduces of whole arrays on real devices, local reductions beside a stream of the memory, and batches."""

from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import refdist as tf
from refdist_bench.benchmark_case import Case, Goal, Unit, Who
from refdist_bench.devices_at_hand import real_devices, strategy_on, waited
from refdist_bench.settings import Settings
from refdist_bench.timers import Step, side

KILOBYTE, MEGABYTE = 1 << 10, 1 << 20
SIZES = {
    "1 KB": KILOBYTE,
    "64 KB": 64 * KILOBYTE,
    "1 MB": MEGABYTE,
    "16 MB": 16 * MEGABYTE,
    "64 MB": 64 * MEGABYTE,
}
ARRAYS, ARRAY_BYTES = 8, 32 * MEGABYTE
SHARES = {"float32": 0.9, "float16": 0.5, "bfloat16": 0.5}
"""Which part of the stream's speed a reduction of each dtype should reach."""
ROWS, BATCH, PIECES = 25_600, 256, 4


def collective_cases(settings: Settings) -> list[Case]:
    """Return the cases that move many bytes."""
    count = max((one for one in settings.device_counts() if one <= 2), default=0)
    cases = [_all_reduce(name, count) for name in SIZES] if count > 1 else []
    cases += [_reduction(dtype) for dtype in SHARES]
    cases.append(_batches())
    return [case for case in cases if case.backend in settings.backends]


def _all_reduce(size: str, replicas: int) -> Case:
    return Case(
        name=f"all_reduce {size}, {replicas} devices",
        series="all_reduce",
        group="collectives",
        replicas=replicas,
        backend="jax",
        sides=(
            side(Who.REFDIST, "refdist", all_reduce_step, SIZES[size], replicas),
            side(Who.RAW, "jit(shard_map)", psum_step, SIZES[size], replicas),
        ),
        headline=size in ("1 KB", "1 MB", "64 MB"),
        tensorflow={"tf.function": {"step": "all_reduce", "replicas": replicas, "size": SIZES[size]}},
    )


def all_reduce_step(size: int, replicas: int) -> Step:
    strategy = strategy_on("jax", replicas)

    ctx: Callable[[], Any] = tf.distribute.get_replica_context

    @tf.function
    def step(x: Any) -> Any:
        return strategy.run(lambda x: ctx().all_reduce("SUM", x), args=(x,))

    own = strategy.run(lambda: tf.ones([size // 4]))
    return lambda: waited(step(own))


def psum_step(size: int, replicas: int) -> Step:
    mesh = Mesh(np.array(real_devices()[:replicas]), ("replica",))
    split = PartitionSpec("replica")

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=split, out_specs=split, check_vma=False)
    def program(part: Any) -> Any:
        return jax.lax.psum(part, "replica")

    x = jax.device_put(np.ones(size // 4 * replicas, np.float32), NamedSharding(mesh, split))
    return lambda: waited(program(x))


def _reduction(dtype: str) -> Case:
    return Case(
        name=f"sum of {ARRAYS} arrays, {dtype}",
        series="local reduction",
        group="local reductions",
        backend="simulator",
        unit=Unit.BYTE_RATE,
        amount=(ARRAYS + 1) * ARRAY_BYTES,
        sides=(
            side(Who.REFDIST, "refdist", fold_step, dtype),
            side(Who.LIMIT, "stream of as many bytes", stream_step),
        ),
        goal=Goal("share", SHARES[dtype]),
        patience=2.0,
        makings=4,
    )


def fold_step(dtype: str) -> Step:
    from simulator.loops import folding

    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rows = list(np.ones((ARRAYS, ARRAY_BYTES // kind.itemsize), kind))
    total = np.ones_like(rows[0])
    return lambda: folding.fold_into(total, rows)


def stream_step() -> Step:
    """Read eight arrays and write one, with all cores."""
    from refdist_bench.cases.memory_stream import add_eight

    rows = np.ones((ARRAYS, ARRAY_BYTES // 4), np.uint32)
    total = np.ones_like(rows[0])
    return lambda: add_eight(total, *rows)


def _batches() -> Case:
    return Case(
        name=f"a batch for {PIECES} virtual",
        series="batches",
        group="datasets",
        replicas=PIECES,
        backend="simulator",
        amount=ROWS / BATCH,
        sides=(
            side(Who.REFDIST, "refdist", distributed_epoch),
            side(Who.LIMIT, "slices of numpy, copied", copied_epoch),
        ),
        tensorflow={"eager": {"step": "batches", "rows": ROWS, "batch": BATCH, "replicas": PIECES}},
    )


def distributed_epoch() -> Step:
    strategy = strategy_on("simulator", PIECES)
    table = np.ones((ROWS, 32), np.float32)
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(table).batch(BATCH))
    return lambda: sum(1 for _ in dataset)


def copied_epoch() -> Step:
    table = np.ones((ROWS, 32), np.float32)
    piece = BATCH // PIECES

    def step() -> int:
        for first in range(0, ROWS, piece):
            table[first : first + piece].copy()
        return ROWS // BATCH

    return step

"""Collectives on values: the additions of a schedule, in its own order and precision."""

import functools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from simulator.algorithms.schedules import Schedule
from simulator.loops.compiled import compiled

Array = np.ndarray[Any, Any]
OPERATIONS = {"sum": np.add, "min": np.minimum, "max": np.maximum}

_NARROW = ("float16", "bfloat16")
_CACHE_BYTES = 1 << 19  # what the slots of a list of additions may take, so that they stay in the cache
_THREAD_BYTES = 1 << 21  # from how many bytes on a second thread is worth its start


def value_on(
    schedule: Schedule, arrays: Sequence[Array], *, device: int = 0, op: str = "sum", accumulate: Any = None
) -> Array:
    """What a device has at the end of a schedule, given what each has at its beginning.

    Every addition is rounded to the dtype of the arrays, or to that in which they are accumulated.

    >>> from simulator.algorithms.schedules import ring
    >>> value_on(ring(3), [np.arange(4.0), np.ones(4), np.ones(4)]).tolist()
    [2.0, 3.0, 4.0, 5.0]
    """
    if op not in OPERATIONS:
        raise ValueError(f"The operation is {op!r}; expected one of {', '.join(OPERATIONS)}. Use one of these.")
    if len(arrays) != schedule.devices:
        raise ValueError(
            f"{len(arrays)} arrays were given to a schedule for {schedule.devices} devices; expected one for each. Make the "
            f"schedule for as many."
        )
    if not 0 <= device < schedule.devices:
        raise ValueError(
            f"The device is {device!r}; expected one of 0 to {schedule.devices - 1}, which the schedule has. Correct the number."
        )
    if len({(array.shape, array.dtype) for array in arrays}) > 1:
        kinds = sorted({f"{one.dtype}{list(one.shape)}" for one in arrays})
        raise ValueError(
            f"The arrays are {', '.join(kinds)}; expected one shape and dtype, because the same numbers of all of them "
            f"meet. Convert the arrays first."
        )
    dtype = np.dtype(accumulate or arrays[0].dtype).newbyteorder("=")
    if op != "sum" and dtype.name in _NARROW:
        dtype = np.dtype(np.float32)  # minima and maxima are not rounded, so a wider type gives the same
    # A kernel sees only addresses, so all arrays must have the same layout.
    rows = [np.require(array, dtype, ["C", "A"]).reshape(-1) for array in arrays]
    total = np.empty(arrays[0].size, dtype)
    _play(schedule, rows, total, device, op)
    return total.astype(arrays[0].dtype, copy=False).reshape(arrays[0].shape)


def _play(schedule: Schedule, rows: Sequence[Array], total: Array, device: int, op: str) -> None:
    playing, rounds = _playing(), _tables(schedule)
    addresses = np.array([row.__array_interface__["data"][0] for row in rows], np.uint64)
    kernel, bits, *table = _kernel(op, total)

    def play_span(span: tuple[int, int, int]) -> None:
        chunk, first, last = span
        additions = playing.additions_for(*rounds, schedule.devices, device, chunk)
        block = min(max(_CACHE_BYTES // (total.itemsize * max(additions[-1], 1)), 64), last - first)
        slots = np.empty(max(additions[-1], 1) * block, bits.dtype)
        for begin in range(first, last, block):
            kernel(bits, addresses, slots, additions, begin, min(begin + block, last), *table)

    threads = (os.cpu_count() or 1) if total.nbytes * len(rows) >= _THREAD_BYTES else 1
    spans = _spans(total.size, schedule.chunks, threads)
    if threads == 1:
        for span in spans:
            play_span(span)
        return
    with ThreadPoolExecutor(threads) as executor:
        for _ in executor.map(play_span, spans):
            pass


def _spans(size: int, chunks: int, threads: int) -> list[tuple[int, int, int]]:
    """The chunks that are not empty, each with its first element and the one after its last; cut in parts where they are too few.

    >>> _spans(size=10, chunks=4, threads=2), _spans(size=10, chunks=1, threads=2)
    ([(0, 0, 3), (1, 3, 6), (2, 6, 9), (3, 9, 10)], [(0, 0, 5), (0, 5, 10)])
    """
    width = max(-(-size // chunks), 1)
    part = max(-(-width // -(-threads // chunks)), 1)
    found: list[tuple[int, int, int]] = []
    for chunk in range(-(-size // width)):
        end = min((chunk + 1) * width, size)
        found += [(chunk, begin, min(begin + part, end)) for begin in range(chunk * width, end, part)]
    return found


def _kernel(op: str, total: Array) -> tuple[Any, ...]:
    """The loop for a dtype, the total as this loop takes it, and the table of results where it goes by one."""
    playing, name = _playing(), total.dtype.name
    if total.itemsize == 1:
        return playing.play_table, total.view(np.uint8), _table(op, total.dtype)
    if name in _NARROW:
        return getattr(playing, f"play_sum_{name}"), total.view(np.uint16)  # numba has no narrow floats
    if total.dtype.kind not in ("iufc" if op == "sum" else "iuf") or total.dtype.char in "gG":
        raise TypeError(f"The {op} of {name} was asked for; expected numbers. Convert the tensors first.")
    return getattr(playing, f"play_{op}"), total


@functools.cache
def _table(op: str, dtype: np.dtype[Any]) -> Array:
    """The result for each pair of numbers of one byte."""
    every = np.arange(256, dtype=np.uint8).view(dtype)
    with np.errstate(all="ignore"):
        return OPERATIONS[op](every[:, None], every[None, :]).astype(dtype, copy=False).view(np.uint8)


@functools.lru_cache(64)
def _tables(schedule: Schedule) -> tuple[Array, ...]:
    """The rounds of a schedule as arrays, with the messages of each in the order of their first chunks."""
    rounds = [(one.repeat, one.shift, one.width, one.adds) for one in schedule.rounds]
    begin = np.zeros((len(rounds), schedule.chunks + 1), np.int64)
    orders = [np.argsort(one.chunk % schedule.chunks, kind="stable") for one in schedule.rounds]
    before = 0
    for row, one, order in zip(begin, schedule.rounds, orders, strict=True):
        row[:] = before + np.searchsorted(one.chunk[order] % schedule.chunks, np.arange(schedule.chunks + 1))
        before += one.chunk.size

    def joined(columns: Sequence[Array]) -> Array:
        return np.concatenate([np.empty(0, np.int64), *columns]).astype(np.int64)

    source = joined([one.source[order] for one, order in zip(schedule.rounds, orders, strict=True)])
    target = joined([one.target[order] for one, order in zip(schedule.rounds, orders, strict=True)])
    return np.array(rounds, np.int64).reshape(-1, 4), begin, source, target, joined(orders)


@functools.cache
def _playing() -> Any:
    # Numba takes half a second to load, so it is loaded by the first collective.
    return compiled("playing")


def is_float(dtype: np.dtype[Any]) -> bool:
    """Say whether a dtype has fractions, the narrow ones of ml_dtypes too."""
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def accumulation(accumulate: Any) -> np.dtype[Any] | None:
    """The dtype in which a user wants sums to be kept."""
    if accumulate is None:
        return None
    try:
        dtype = np.dtype(getattr(accumulate, "as_numpy_dtype", accumulate))
    except TypeError:
        dtype = np.dtype(object)
    if dtype.name not in ("float32", "float64"):
        raise ValueError(
            f"The simulator was asked for accumulate={accumulate!r}; expected float32 or float64, in which narrower floats are "
            f"added up before they are rounded. Leave it out to round each sum to the tensors' own dtype."
        )
    return dtype

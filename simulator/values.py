"""Collectives on values: the steps of a schedule, in its own order and precision."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simulator.schedules import Round, Schedule

Array = np.ndarray[Any, Any]
OPERATIONS: dict[str, Callable[..., Any]] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def play_values(schedule: Schedule, arrays: Sequence[Array], op: str = "sum", accumulate: Any = None) -> list[Array]:
    """What every device has at the end of a schedule, given what each has at its beginning.

    Every addition is rounded to the dtype of the arrays, or to that in which they are accumulated.

    >>> from simulator.schedules import ring
    >>> [result.tolist() for result in play_values(ring(3), [np.arange(4.0), np.ones(4), np.ones(4)])]
    [[2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0]]
    """
    if op not in OPERATIONS:
        raise ValueError(f"The operation is {op!r}; expected one of {', '.join(OPERATIONS)}. Use one of these.")
    if len(arrays) != schedule.devices:
        raise ValueError(
            f"{len(arrays)} arrays were given to a schedule for {schedule.devices} devices; expected one for each. Make the "
            f"schedule for as many."
        )
    shape, dtype = arrays[0].shape, arrays[0].dtype
    size = arrays[0].size
    width = max(-(-size // schedule.chunks), 1)  # elements of a chunk; the last ones may be empty
    used = -(-size // width)
    state = np.zeros((schedule.devices, max(used, 1) * width), accumulate or dtype)
    for row, array in zip(state, arrays, strict=True):
        row[:size] = np.asarray(array).reshape(-1)
    cut = state.reshape(schedule.devices, -1, width)
    for one in schedule.rounds:
        for repetition in range(one.repeat):
            _exchange(cut, one, one.shift * repetition, schedule.chunks, used, OPERATIONS[op])
    return [row[:size].astype(dtype, copy=False).reshape(shape) for row in state]


def _exchange(cut: Array, one: Round, shift: int, chunks: int, used: int, operation: Callable[..., Any]) -> None:
    """Make one round: all send what they have at its beginning."""
    chunk = (one.chunk[:, None] + shift + np.arange(one.width)) % chunks
    there = np.nonzero(chunk < used)
    source, target, which = one.source[there[0]], one.target[there[0]], chunk[there]
    sent = cut[source, which]
    if not one.adds:
        cut[target, which] = sent
        return
    # A device that gets several messages for one chunk adds them in the order in which they stand.
    key = target.astype(np.int64) * chunks + which
    order = np.argsort(key, kind="stable")
    turn = _turns(key[order])
    for number in range(int(turn.max(initial=-1)) + 1):
        now = order[turn == number]
        place = target[now], which[now]
        cut[place] = operation(cut[place], sent[now])


def _turns(key: Array) -> Array:
    """How many equal ones stand before each of some sorted numbers.

    >>> _turns(np.array([1, 1, 2, 3, 3, 3])).tolist()
    [0, 1, 0, 0, 1, 2]
    """
    place = np.arange(key.size)
    first = np.concatenate([[True], key[1:] != key[:-1]]) if key.size else np.empty(0, bool)
    return place - np.maximum.accumulate(np.where(first, place, 0)) if key.size else place

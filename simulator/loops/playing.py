# pyright: basic, reportCallIssue=false, reportPrivateImportUsage=false
"""Numba loops that play a schedule on arrays: what one device has at the end of it.

A chunk meets only the same chunk of other devices, so every piece of a chunk is played by itself, from the first round to
the last, in the cache. First the messages that matter are found, from the last round backwards: those that bring something to
a device whose value is needed. Then these become a list of additions over places: the arrays of the devices, and slots for
what is added up between them. A slot is free again when nobody needs it.
"""

from typing import Any

import numba
import numpy as np

from simulator.loops.kernels import (
    Jitted,
    _add,
    _add_minding_nans,
    _bfloat16_of_sum_minding_nans,
    _float16_of_float,
    _float_of_bfloat16,
    _float_of_float16,
    _greatest,
    _jitted,
    _least,
    _part,
    _same,
)

REPEAT, SHIFT, WIDTH, ADDS = range(4)  # the columns of the table of rounds


@numba.njit(cache=True, nogil=True)
def additions_for(
    rounds: Any,  # of each round: its repetitions, shift, width, and whether it adds
    begin: Any,  # of each round and chunk: where the messages begin whose first chunk it is
    source: Any,  # of each message
    target: Any,
    number: Any,  # where it stands in its round
    devices: int,
    device: int,  # the one whose value is wanted
    chunk: int,
) -> Any:
    """The additions that lead to a device's chunk: where each writes, and which two places it adds; and where the result is."""
    group, sent, got, adds, drops, count = _needed(rounds, begin, source, target, number, devices, device, chunk)
    place = np.arange(devices)  # where the value of each device is: below `devices` an array, beyond it a slot
    users = np.zeros(2 * devices + 2, np.int64)  # of each slot
    brought = np.empty(max(count, 1), np.int64)
    additions = np.empty((3, max(count, 1)), np.int64)
    into, first, second = additions[0], additions[1], additions[2]
    written, slots = 0, 0
    at = count - 1
    while at >= 0:
        # What is sent in one round is what was there before it.
        end = at
        while end >= 0 and group[end] == group[at]:
            brought[end] = place[sent[end]]
            if brought[end] >= devices:
                users[brought[end] - devices] += 1
            end -= 1
        for i in range(at, end, -1):
            old = place[got[i]]
            if adds[i]:
                slot = 0
                while users[slot] > 0:
                    slot += 1
                slots = max(slots, slot + 1)
                into[written], first[written], second[written] = devices + slot, old, brought[i]
                written += 1
                users[slot] += 1
                place[got[i]] = devices + slot
                _leave(users, brought[i] - devices)
            else:
                place[got[i]] = brought[i]
            _leave(users, old - devices)
        for i in range(at, end, -1):
            if drops[i]:
                _leave(users, place[sent[i]] - devices)
                place[sent[i]] = sent[i]  # the array itself, which nobody asks for any more
        at = end
    return into[:written], first[:written], second[:written], place[device], slots


@numba.njit(cache=True, nogil=True)
def _leave(users: Any, slot: Any) -> None:
    if slot >= 0:
        users[slot] -= 1


@numba.njit(cache=True, nogil=True)
def _needed(
    rounds: Any, begin: Any, source: Any, target: Any, number: Any, devices: int, device: int, chunk: int
) -> Any:
    """The messages that matter, the last first: their round, both ends, whether they add, and whether the sender is done."""
    chunks = begin.shape[1] - 1
    most = 2 * devices + 2
    messages = np.empty((3, most), np.int64)
    group, sent, got = messages[0], messages[1], messages[2]
    adds, drops = np.zeros(most, np.bool_), np.zeros(most, np.bool_)
    found = np.empty(source.size, np.int64)
    wanted = np.zeros(devices, np.bool_)
    wanted[device] = True
    count, turn = 0, 0
    for r in range(rounds.shape[0] - 1, -1, -1):
        for repetition in range(rounds[r, REPEAT] - 1, -1, -1):
            turn += 1
            hits = 0
            for offset in range(rounds[r, WIDTH]):
                base = (chunk - rounds[r, SHIFT] * repetition - offset) % chunks
                for message in range(begin[r, base], begin[r, base + 1]):
                    if wanted[target[message]]:
                        # In the order in which they stand, whichever chunk they begin with.
                        place = hits
                        while place > 0 and number[found[place - 1]] > number[message]:
                            found[place] = found[place - 1]
                            place -= 1
                        found[place] = message
                        hits += 1
            if count + hits > most:
                raise ValueError("a schedule that adds a device's value more than once")
            for hit in range(hits - 1, -1, -1):
                message = found[hit]
                group[count], sent[count], got[count] = turn, source[message], target[message]
                adds[count] = rounds[r, ADDS] > 0
                drops[count] = not wanted[source[message]]
                count += 1
            for hit in range(hits):
                if rounds[r, ADDS] == 0:
                    wanted[target[found[hit]]] = False
            for hit in range(hits):
                wanted[source[found[hit]]] = True
    return group, sent, got, adds, drops, count


# The loops are written out, because numba caches on disk only functions at the top level of a module.
@numba.njit(cache=True, nogil=True)
def play_sum(total: Any, addresses: Any, slots: Any, additions: Any, begin: int, end: int) -> None:
    _sum_piece(total, addresses, slots, additions, begin, end)


@numba.njit(cache=True, nogil=True)
def play_min(total: Any, addresses: Any, slots: Any, additions: Any, begin: int, end: int) -> None:
    _min_piece(total, addresses, slots, additions, begin, end)


@numba.njit(cache=True, nogil=True)
def play_max(total: Any, addresses: Any, slots: Any, additions: Any, begin: int, end: int) -> None:
    _max_piece(total, addresses, slots, additions, begin, end)


@numba.njit(cache=True, nogil=True)
def play_sum_float16(total: Any, addresses: Any, slots: Any, additions: Any, begin: int, end: int) -> None:
    _sum_float16_piece(total, addresses, slots, additions, begin, end)


@numba.njit(cache=True, nogil=True)
def play_sum_bfloat16(total: Any, addresses: Any, slots: Any, additions: Any, begin: int, end: int) -> None:
    _sum_bfloat16_piece(total, addresses, slots, additions, begin, end)


@numba.njit(cache=True, nogil=True)
def play_table(total: Any, addresses: Any, slots: Any, additions: Any, begin: int, end: int, table: Any) -> None:
    """Numbers of one byte have so few pairs that all results are known beforehand."""
    into, first, second, result, _ = additions
    size = end - begin
    for i in range(into.size):
        target = _place(total, addresses, slots, into[i], begin, size)
        a = _place(total, addresses, slots, first[i], begin, size)
        b = _place(total, addresses, slots, second[i], begin, size)
        for k in range(size):
            target[k] = table[a[k], b[k]]
    _finish(total, addresses, slots, result, begin, end)


def _player(name: str, widen: Jitted, combine: Jitted, narrow: Jitted) -> Any:
    """Make the loop that plays one piece of a chunk, from element `begin` to `end`."""

    def play_piece(total: Any, addresses: Any, slots: Any, additions: Any, begin: int, end: int) -> None:
        into, first, second, result, _ = additions
        size = end - begin
        for i in range(into.size):
            target = _place(total, addresses, slots, into[i], begin, size)
            a = _place(total, addresses, slots, first[i], begin, size)
            b = _place(total, addresses, slots, second[i], begin, size)
            for k in range(size):
                target[k] = narrow(combine(widen(a[k]), widen(b[k])))
        _finish(total, addresses, slots, result, begin, end)

    return _jitted(play_piece, name)


@numba.njit
def _place(total: Any, addresses: Any, slots: Any, place: int, begin: int, size: int) -> Any:
    """What is at a place: a part of a device's array, or a slot."""
    if place < addresses.size:
        return _part(total, addresses[place], begin, begin + size)
    slot = (place - addresses.size) * size
    return slots[slot : slot + size]


@numba.njit
def _finish(total: Any, addresses: Any, slots: Any, result: int, begin: int, end: int) -> None:
    value = _place(total, addresses, slots, result, begin, end - begin)
    for k in range(end - begin):
        total[begin + k] = value[k]


_sum_piece = _player("_sum_piece", _same, _add, _same)
_min_piece = _player("_min_piece", _same, _least, _same)
_max_piece = _player("_max_piece", _same, _greatest, _same)
_sum_float16_piece = _player("_sum_float16_piece", _float_of_float16, _add_minding_nans, _float16_of_float)
_sum_bfloat16_piece = _player(
    "_sum_bfloat16_piece", _float_of_bfloat16, _add_minding_nans, _bfloat16_of_sum_minding_nans
)

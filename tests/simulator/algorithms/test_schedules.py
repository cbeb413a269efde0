"""Schedules as data: whoever plays the messages by hand finds every contribution exactly once, and counts the known costs."""

import collections
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from simulator.algorithms import schedules
from simulator.algorithms.schedules import ALGORITHMS, schedule_of
from simulator.base.limits import TooLarge
from tests.thorough import examples

POWERS = [2, 4, 8, 16, 32]


def played(schedule):
    """Whose contributions each device has of each chunk, when all messages have been delivered in order."""
    has = [[collections.Counter([device]) for _ in range(schedule.chunks)] for device in range(schedule.devices)]
    for one in schedule.rounds:
        for turn in range(one.repeat):
            chunks = [
                (int(first) + one.shift * turn + i) % schedule.chunks for first in one.chunk for i in range(one.width)
            ]
            ends = [(int(s), int(t)) for s, t in zip(one.source, one.target, strict=True) for _ in range(one.width)]
            # What is sent in one round is what was there before it.
            sent = [has[source][chunk].copy() for (source, _), chunk in zip(ends, chunks, strict=True)]
            for (_, target), chunk, what in zip(ends, chunks, sent, strict=True):
                has[target][chunk] = has[target][chunk] + what if one.adds else what
    return has


@given(
    algorithm=generators.sampled_from(sorted(ALGORITHMS)),
    devices=generators.integers(1, 21),
    host_size=generators.integers(1, 8),
)
@settings(max_examples=examples(50, 120))
def test_every_device_ends_with_each_contribution_once(algorithm, devices, host_size):
    schedule = schedule_of(algorithm, devices, host_size)
    everyone = collections.Counter(range(devices))

    assert [[everyone] * schedule.chunks] * devices == played(schedule)


@given(
    algorithm=generators.sampled_from(sorted(ALGORITHMS)),
    devices=generators.integers(1, 40),
    host_size=generators.integers(1, 8),
)
@settings(max_examples=60)
def test_messages_go_from_one_device_to_another_and_bring_a_chunk_once_in_a_round(algorithm, devices, host_size):
    schedule = schedule_of(algorithm, devices, host_size)

    assert (algorithm, devices) == (schedule.name, schedule.devices)
    for one in schedule.rounds:
        assert (one.source != one.target).all()
        for ends in (one.source, one.target):
            assert ((ends >= 0) & (ends < devices)).all()
        assert ((one.chunk >= 0) & (one.chunk + one.width <= schedule.chunks)).all() or one.shift
        if not one.adds:
            brought = [(int(t), int(c)) for t, c in zip(one.target, one.chunk, strict=True)]
            assert len(set(brought)) == len(brought)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_one_device_has_nothing_to_do(algorithm):
    schedule = schedule_of(algorithm, 1, 1)

    assert (0, 1) == (schedule.transfers, schedule.devices)


def sent_bytes(schedule, payload):
    """What each device sends in all."""
    total = np.zeros(schedule.devices)
    for one in schedule.rounds:
        np.add.at(total, one.source, one.repeat * schedule.message_bytes(one, payload, 0))
    return total


@pytest.mark.parametrize("devices", [2, 3, 7, 16])
def test_a_ring_takes_two_rounds_for_each_other_device_and_sends_as_little_as_can_be(devices):
    schedule = schedules.ring(devices)

    assert [devices - 1] * 2 == [one.repeat for one in schedule.rounds]
    assert 2 * devices * (devices - 1) == schedule.transfers
    np.testing.assert_allclose(sent_bytes(schedule, 1000), 2000 * (devices - 1) / devices)


@pytest.mark.parametrize("devices", POWERS)
def test_halving_and_doubling_sends_as_little_as_a_ring_in_a_logarithm_of_rounds(devices):
    schedule = schedules.halving_doubling(devices)

    assert 2 * int(math.log2(devices)) == len(schedule.rounds)
    np.testing.assert_allclose(sent_bytes(schedule, 1000), 2000 * (devices - 1) / devices)


@pytest.mark.parametrize("devices", POWERS)
def test_recursive_doubling_sends_everything_in_a_logarithm_of_rounds(devices):
    schedule = schedules.recursive_doubling(devices)

    assert (int(math.log2(devices)), 1) == (len(schedule.rounds), schedule.chunks)
    np.testing.assert_allclose(sent_bytes(schedule, 1000), 1000 * math.log2(devices))


@pytest.mark.parametrize("devices", [3, 5, 6, 7, 12, 33])
@pytest.mark.parametrize("make", [schedules.recursive_doubling, schedules.halving_doubling, schedules.halving_linear])
def test_devices_beyond_a_power_of_two_give_first_and_get_last(devices, make):
    schedule, beyond = make(devices), devices - (1 << (devices.bit_length() - 1))
    first, last = schedule.rounds[0], schedule.rounds[-1]

    assert beyond == first.source.size == last.source.size
    assert (True, False) == (first.adds, last.adds)
    assert first.source.tolist() == last.target.tolist()
    assert first.target.tolist() == last.source.tolist()


@pytest.mark.parametrize("devices", [2, 3, 8, 9, 33])
def test_reducing_and_broadcasting_takes_one_message_of_each_other_device_there_and_back(devices):
    schedule = schedules.reduce_broadcast(devices)
    first, *copies = schedule.rounds

    assert (set(range(1, devices)), {0}) == (set(first.source.tolist()), set(first.target.tolist()))
    assert sorted(range(1, devices)) == sorted(int(target) for one in copies for target in one.target)
    assert (devices - 1).bit_length() == len(copies)


@pytest.mark.parametrize("devices", [4, 8, 14, 32])
def test_in_two_trees_a_device_that_forks_in_one_is_a_leaf_in_the_other_but_for_two(devices):
    schedule = schedules.double_tree(devices, pieces=1)
    parents = [
        {int(t) for one in schedule.rounds if one.adds for t, c in zip(one.target, one.chunk, strict=True) if c == half}
        for half in (0, 1)
    ]

    assert 2 == schedule.chunks
    assert len(parents[0] & parents[1]) <= 2


@pytest.mark.parametrize(("devices", "host_size"), [(8, 2), (8, 4), (12, 3), (32, 8)])
def test_a_hierarchical_one_sends_less_between_hosts_than_a_ring_inside(devices, host_size):
    schedule = schedules.hierarchical(devices, host_size)
    between = np.zeros(devices)
    for one in schedule.rounds:
        away = one.source // host_size != one.target // host_size
        np.add.at(between, one.source[away], one.repeat * schedule.message_bytes(one, 1000, 0))

    hosts = devices // host_size
    assert between.max() <= 2 * 1000 / host_size * math.ceil(math.log2(hosts))


@pytest.mark.parametrize(("devices", "host_size", "like"), [(8, 8, "ring"), (7, 2, "ring"), (8, 1, "halving_doubling")])
def test_without_hosts_to_tell_apart_a_hierarchical_one_is_another(devices, host_size, like):
    schedule, other = schedules.hierarchical(devices, host_size), schedule_of(like, devices, 1)

    assert "hierarchical" == schedule.name
    assert other.transfers == schedule.transfers
    assert [one.source.tolist() for one in other.rounds] == [one.source.tolist() for one in schedule.rounds]


@pytest.mark.parametrize("devices", [2, 3, 8])
def test_the_first_half_of_a_ring_leaves_one_whole_part_on_each_device(devices):
    has, everyone = played(schedules.reduce_scatter(devices)), collections.Counter(range(devices))
    whole = [[chunk for chunk in range(devices) if parts[chunk] == everyone] for parts in has]

    assert [1] * devices == [len(chunks) for chunks in whole]
    assert set(range(devices)) == {chunks[0] for chunks in whole}


@pytest.mark.parametrize("devices", [2, 3, 8])
def test_the_second_half_of_a_ring_brings_the_part_of_each_device_to_all(devices):
    has = played(schedules.all_gather(devices))

    for parts in has:
        assert set(range(devices)) == {next(iter(part)) for part in parts}
        assert has[0] == parts


@pytest.mark.parametrize("devices", [1, 2, 7])
def test_all_to_one_adds_on_the_first_and_a_broadcast_copies_from_it(devices):
    assert [collections.Counter(range(devices))] == played(schedules.all_to_one(devices))[0]
    assert [[collections.Counter([0])]] * devices == played(schedules.broadcast(devices))


def test_a_copy_is_one_message():
    schedule = schedules.point_to_point()

    assert (1, 2) == (schedule.transfers, schedule.devices)
    assert [[collections.Counter([0])]] * 2 == played(schedule)


def test_a_schedule_is_made_once():
    assert schedule_of("ring", 8, 4) is schedule_of("ring", 8, 4)


def test_unrolled_rounds_are_as_many_as_happen():
    assert 2 * 6 == len(schedules.ring(7).unrolled())
    assert all(one.repeat == 1 for one in schedules.ring(7).unrolled())


def test_messages_carry_their_chunks_and_an_envelope():
    schedule = schedules.halving_doubling(8)

    assert [500 + 32, 250 + 32, 125 + 32] == [schedule.message_bytes(one, 1000, 32) for one in schedule.rounds[:3]]


def test_too_many_messages_at_once_are_refused_with_another_algorithm():
    with pytest.raises(TooLarge, match=r"halving_linear was asked of 65,536 devices.*Use 'halving_doubling'"):
        schedules.halving_linear(1 << 16)

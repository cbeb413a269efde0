"""Workers that share a cluster agree on when each of their exchanges was over."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

from simulator.devices.worker_shares import SharedExchanges, WorkerShare


def refuse():
    raise AssertionError("the clocks were moved twice")


@given(generators.permutations(range(3)))
def test_whoever_comes_first_moves_the_clocks_and_the_others_read(order):
    exchanges = SharedExchanges(workers=3)
    first, *others = order
    ends = exchanges.join(first, lambda: np.arange(3.0))

    assert all(ends is exchanges.join(worker, refuse) for worker in others)


@given(generators.lists(generators.integers(0, 2), max_size=30))
def test_every_worker_sees_the_same_exchanges_in_the_same_order(turns):
    exchanges, moved, seen = SharedExchanges(workers=3), [], [[], [], []]

    def move_clocks():
        moved.append(np.array([float(len(moved))]))
        return moved[-1]

    for worker in turns:
        seen[worker].append(exchanges.join(worker, move_clocks))

    assert len(moved) == max(map(len, seen))
    for ends in seen:
        assert all(mine is theirs for mine, theirs in zip(ends, moved, strict=False))


def test_an_exchange_that_fails_is_left_to_nobody():
    exchanges = SharedExchanges(workers=2)
    with pytest.raises(AssertionError, match="moved twice"):
        exchanges.join(0, refuse)

    assert [1.0] == exchanges.join(1, lambda: np.array([1.0])).tolist()


def test_only_places_of_others_are_beyond_a_share():
    share = WorkerShare(1, range(2, 4), SharedExchanges(workers=2))

    assert not share.reaches_others([2, 3])
    assert share.reaches_others([1, 2])
    assert not WorkerShare.whole(4).reaches_others([0, 3])

"""Tests of what the error says where not all bodies come to one meeting."""

import re
import sys

import pytest

import refdist as tf
from refdist._core.base.errors import MeetingError
from refdist._core.replicas.lockstep import play
from tests.lines import line_of


def _replica():
    return tf.distribute.get_replica_context()


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=4):
        yield tf.distribute.MirroredStrategy()


def _ways(strategy, step):
    return [lambda: strategy.run(step), tf.function(lambda: strategy.run(step))]


@pytest.mark.parametrize("staged", [False, True])
def test_who_has_returned_did_what_last(strategy, staged):
    def step():
        total = _replica().all_reduce("sum", tf.constant(1.0))  # the last meeting
        if _replica().replica_id_in_sync_group == 2:
            return total
        return _replica().all_reduce("mean", total)

    with pytest.raises(MeetingError) as raised:
        _ways(strategy, step)[staged]()

    at = line_of(__file__, "# the last meeting")
    assert re.search(
        rf"replica 2 of 4, on GPU:2: returned after meeting 1, all_reduce\(SUM\) at .*:{at}", str(raised.value)
    )


@pytest.mark.parametrize("staged", [False, True])
def test_the_except_is_named_that_may_have_swallowed_an_error(strategy, staged):
    def step():
        try:
            if _replica().replica_id_in_sync_group == 1:
                raise MemoryError("too large")
            return _replica().all_reduce("sum", tf.constant(1.0))
        except MemoryError:  # swallows it
            return tf.constant(0.0)

    with pytest.raises(MeetingError) as raised:
        _ways(strategy, step)[staged]()

    at = line_of(__file__, "# swallows it")
    assert re.search(rf"whose `except MemoryError.*` at .*:{at} may have swallowed", str(raised.value))


def test_an_except_that_raises_again_is_not_blamed(strategy):
    def step():
        try:
            if _replica().replica_id_in_sync_group == 1:
                return tf.constant(0.0)
            return _replica().all_reduce("sum", tf.constant(1.0))
        except ValueError:
            raise RuntimeError("told") from None

    with pytest.raises(MeetingError) as raised:
        strategy.run(step)

    assert "swallowed" not in str(raised.value)


@pytest.mark.parametrize("staged", [False, True])
def test_a_replica_that_leaves_while_others_wait_is_an_error_that_says_where(strategy, staged):
    def step():
        if _replica().replica_id_in_sync_group == 0:
            sys.exit(3)  # leaves
        return _replica().all_reduce("sum", tf.constant(1.0))

    with pytest.raises(MeetingError) as raised:
        _ways(strategy, step)[staged]()

    at = line_of(__file__, "# leaves")
    assert re.search(rf"replica 0 of 4, on GPU:0: left by SystemExit\(3\) at .*:{at}, in step", str(raised.value))


@pytest.mark.parametrize("staged", [False, True])
def test_a_replica_that_leaves_when_nobody_waits_ends_the_program_as_ever(strategy, staged):
    def step():
        if _replica().replica_id_in_sync_group == 1:
            sys.exit(3)
        return tf.constant(1.0)

    with pytest.raises(SystemExit) as raised:
        _ways(strategy, step)[staged]()

    assert 3 == raised.value.code


def test_a_worker_that_leaves_with_success_does_not_end_the_program_silently():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        if worker == 1:
            sys.exit(0)
        return strategy.run(lambda: _replica().all_reduce("sum", tf.constant(1.0)))

    with tf.using("simulator", gpus=1), pytest.raises(MeetingError, match=r"worker 1 of 2: left by SystemExit\(0\)"):
        tf.cluster.run_workers(program, 2)


def test_an_error_says_where_the_others_wait_meanwhile(strategy):
    def step():
        if _replica().replica_id_in_sync_group == 2:
            raise ValueError("bad sample")
        return _replica().all_reduce("sum", tf.constant(1.0))  # waits

    with pytest.raises(ValueError, match="bad sample") as raised:
        strategy.run(step)

    at = line_of(__file__, "# waits")
    assert re.search(rf"meanwhile, replicas 0, 1: waiting in all_reduce\(SUM\) .*:{at}", raised.value.__notes__[1])


def test_what_was_met_about_is_not_kept_alive():
    import gc
    import weakref

    from refdist._core.replicas.lockstep import pause
    from refdist._core.replicas.meeting import Meeting

    class Large:
        pass

    alive = []

    def body(index):
        large = Large()
        seen = weakref.ref(large)
        pause(Meeting("first", None, lambda _, given: [None] * len(given), None, large, ()))
        del large
        pause(Meeting("second", None, lambda _, given: [None] * len(given), None, None, ()))
        gc.collect()
        alive.append(seen() is not None)

    play(2, body, name=str)

    assert [False, False] == alive

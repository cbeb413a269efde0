"""Recordings of programs: what they show is what the clock says, however blocks lie in each other."""

import json

import hypothesis
import pytest
from hypothesis import strategies as st

import refdist as tf
import simulator
from simulator.algorithms.schedules import ALGORITHMS

ctx = tf.distribute.get_replica_context
KIND = simulator.DeviceKind("GPU", 1e9, 1e12, 1e11)
STAR = simulator.Cluster.star(3, 12.7e9, 513e-9, KIND)


@pytest.fixture
def strategy():
    with tf.using("simulator", cluster=STAR):
        yield tf.distribute.MirroredStrategy()


def clock_of(strategy):
    return strategy.extended.backend.clock


@hypothesis.settings(deadline=None, max_examples=25, derandomize=True)
@hypothesis.given(
    devices=st.sampled_from([1, 2, 3, 5, 7]),
    algorithm=st.sampled_from(["auto", "in_switch", *ALGORITHMS]),
    steps=st.lists(st.tuples(st.integers(0, 70), st.floats(0, 1e-5), st.booleans()), min_size=1, max_size=6),
)
def test_a_recording_of_any_steps_ends_where_the_clock_does(devices, algorithm, steps):
    def step(size, seconds):
        simulator.busy(seconds * ctx().replica_id_in_sync_group)
        total = ctx().all_reduce("sum", tf.ones([size]))
        return ctx().all_gather(total * 2, 0)

    with tf.using("simulator", cluster=simulator.Cluster.star(devices, 12.7e9, 513e-9, KIND), algorithm=algorithm):
        strategy = tf.distribute.MirroredStrategy()
        with simulator.trace() as recording:
            for size, seconds, even in steps:
                strategy.run(step, args=(size, 0.0 if even else seconds))
        trace, clock = recording.trace(), clock_of(strategy)

    ends = {track: max(span.end_seconds for span in spans) for track, spans in trace.by_track().items()}
    assert all(ends.get(name, 0.0) == time for name, time in zip(clock.names, clock.time, strict=True))
    assert clock.time == pytest.approx(clock.computing + clock.communicating + clock.waiting)
    json.loads(trace.to_json())


def test_a_block_inside_another_is_recorded_by_both(strategy):
    with simulator.trace() as outer:
        strategy.run(simulator.busy, args=(1e-3,))
        with simulator.trace() as inner:
            strategy.run(simulator.busy, args=(2e-3,))
        strategy.run(simulator.busy, args=(3e-3,))

    assert [18, 6] == [len(one.trace().spans) for one in (outer, inner)]  # each with the step that it is in


def test_blocks_in_replicas_end_for_all_of_them(strategy):
    kept = []

    def step():
        with simulator.trace() as recording, simulator.overlap():
            kept.append(recording)
            ctx().all_reduce("sum", tf.ones([1000]))
            simulator.busy(1e-3)
        simulator.busy(1e-3)

    strategy.run(step)
    clock = clock_of(strategy)
    before = [len(one.parts) for one in kept]
    strategy.run(simulator.busy, args=(1e-3,))

    assert not clock.overlaps
    assert before == [len(one.parts) for one in kept]
    assert [3e-3] * 3 == pytest.approx(clock.time)


def test_at_the_end_of_its_own_block_a_replica_waits_for_its_exchange(strategy):
    def step():
        with simulator.overlap():
            ctx().all_reduce("sum", tf.ones([1 << 20]))
        simulator.busy(1e-3)

    strategy.run(step)
    exchange = simulator.predict_all_reduce(STAR, 1 << 22, "ring").seconds

    assert [1e-3 + exchange] * 3 == pytest.approx(clock_of(strategy).time)


def test_a_recording_shows_whom_the_end_of_a_block_lets_wait(strategy):
    with simulator.trace() as recording, simulator.overlap():
        strategy.run(lambda: ctx().all_reduce("sum", tf.ones([1000])))

    waits = [span for span in recording.trace().spans if span.category == "wait"]
    assert ["GPU:0", "GPU:1", "GPU:2"] == [span.track for span in waits]
    assert clock_of(strategy).waiting[0] == waits[0].end_seconds - waits[0].start_seconds


def test_devices_of_several_hosts_have_names_of_their_own():
    with tf.using("simulator", cluster=simulator.presets.tpu_v4((4, 2, 2))):
        strategy = tf.distribute.TPUStrategy()
        with simulator.trace() as recording:
            strategy.run(lambda: ctx().all_reduce("sum", tf.ones([1000])))

        assert strategy.num_replicas_in_sync == len(recording.trace().devices)
        assert "worker 1 TPU:0" in simulator.report()
        for report in (simulator.report(), simulator.memory_report()):
            assert 1 == len({len(line) for line in report.splitlines() if "more" not in line})


def test_exchanges_that_share_a_link_at_once_are_one_span_of_it():
    cluster = simulator.presets.ethernet(hosts=2, devices_per_host=2, gigabits=100)
    with tf.using("simulator", cluster=cluster) as backend, simulator.trace() as recording:
        for source, target in (("GPU:0", "GPU:2"), ("GPU:1", "GPU:3")):
            with tf.device(source):
                tensor = tf.ones([1000])
            with tf.device(target):
                tf.identity(tensor)

    spans = recording.trace().spans
    shared = [span for span in spans if span.track.startswith("link") and dict(span.details)["messages"] == 2]
    assert shared
    assert all(dict(span.details)["bytes"] == 8000 for span in shared)
    assert backend.clock.now() == max(span.end_seconds for span in spans)


def test_steps_are_called_what_they_are(strategy):
    with simulator.trace() as recording:
        strategy.run(lambda: ctx().all_gather(ctx().all_reduce("sum", tf.ones([3])), 0))
        with tf.device("GPU:0"):
            tensor = tf.ones([3])
        with tf.device("GPU:1"):
            tf.identity(tensor)

    names = dict.fromkeys(span.name for span in recording.trace().spans if span.category == "step")
    assert ["all_reduce SUM 12 B, ring", "all_gather axis=0 36 B", "copy 12 B"] == list(names)


def test_more_messages_than_can_be_written_down_are_refused():
    cluster = simulator.Cluster.hosts(1250, 8, 1e10, 1e-7, 1e9, 1e-6)
    with pytest.raises(ValueError, match=r"199,980,000 messages; expected at most .*\. Record fewer devices"):
        simulator.trace_all_reduce(cluster, 1e6, "ring")

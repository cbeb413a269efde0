"""Steps: each run of a function on the replicas, as a report and as a span around what it does."""

import json

import numpy as np
import pytest

import refdist as tf
import simulator

ctx = tf.distribute.get_replica_context
KIND = simulator.DeviceKind("GPU", flops_per_second=1e9, memory_bandwidth_bytes_per_second=1e9)


@pytest.fixture
def strategy():
    with tf.using("simulator", cluster=simulator.Cluster.star(4, 1e9, 1e-6, KIND)):
        yield tf.distribute.MirroredStrategy()


def slow_on_the_third():
    simulator.busy(3e-3 if ctx().replica_id_in_sync_group == 2 else 1e-3)
    return ctx().all_reduce("sum", tf.zeros([1000]))


def test_a_step_tells_how_long_it_took_and_who_held_it_up(strategy):
    strategy.run(simulator.busy, args=(1e-3,))
    strategy.run(slow_on_the_third)

    first, second = simulator.steps()
    assert (1, 4, 0.0, 1e-3) == (first.number, first.devices, first.start_seconds, first.seconds)
    assert (1e-3, 0.0, 0.0) == (first.compute_seconds, first.collective_seconds, first.waiting_seconds)
    assert (2, "GPU:2", 1e-3) == (second.number, second.slowest, second.start_seconds)
    assert simulator.now() == second.end_seconds
    assert 1.5e-3 == pytest.approx(second.compute_seconds, rel=1e-2)
    assert 1.5e-3 == pytest.approx(second.waiting_seconds, rel=1e-2)
    spent = second.compute_seconds + second.collective_seconds + second.waiting_seconds
    assert second.seconds == pytest.approx(spent, rel=1e-6)


def test_the_report_has_a_line_for_each_step(strategy):
    for _ in range(25):
        strategy.run(slow_on_the_third)

    lines = simulator.step_report().splitlines()
    assert 21 == len(lines)
    assert all(len(line) <= 80 for line in lines)
    assert ["25", "GPU:2"] == [lines[-1].split()[0], lines[-1].split()[-1]]


def test_a_compiled_program_is_one_step(strategy):
    with strategy.scope():
        weight = tf.Variable(np.ones(1000, np.float32))

    @tf.function
    def step():
        return strategy.reduce("SUM", strategy.run(lambda: weight.assign_add(2.0 * weight).sum()), axis=None)

    step()
    before = len(simulator.steps())
    step()
    step()

    assert before + 2 == len(simulator.steps())
    assert simulator.steps()[-1].seconds == pytest.approx(simulator.steps()[-2].seconds)
    assert simulator.steps()[-1].seconds > 0


def test_a_run_that_fails_is_no_step(strategy):
    def fails():
        simulator.busy(1e-3)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        strategy.run(fails)

    assert () == simulator.steps()


def test_steps_hold_what_happens_in_them_in_a_trace(strategy):
    with simulator.trace() as recording:
        strategy.run(slow_on_the_third)
        strategy.run(lambda: ctx().all_reduce("sum", tf.zeros([1000])))

    trace = recording.trace()
    runs = [span for span in trace.by_track()["GPU:1"] if span.category == "run"]
    assert ["step 1", "step 2"] == [span.name for span in runs]
    assert "step 1" == trace.by_track()["GPU:1"][0].name  # before what lies inside
    for span in trace.by_track()["GPU:1"]:
        assert any(run.start_seconds <= span.start_seconds <= span.end_seconds <= run.end_seconds for run in runs)
    events = json.loads(trace.to_json())["traceEvents"]
    assert 8 == sum(event.get("cat") == "run" for event in events)
    assert 'class="run"' in trace.to_svg()
    busy = trace.summary().splitlines()[1].split()
    assert "GPU:0" == busy[0]
    assert float(busy[1]) > 0  # a step that holds only its exchange does not hide it


@pytest.mark.parametrize("count", [1, 2, 4])
def test_workers_have_steps_of_their_own(count):
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        strategy.run(slow_on_the_third)

    with tf.using("simulator", cluster=simulator.Cluster.star(4, 1e9, 1e-6, KIND)):
        tf.cluster.run_workers(program, count)

        assert [4 // count] * count == [step.devices for step in simulator.steps()]


def test_a_thousand_steps_are_remembered(strategy):
    for _ in range(1010):
        strategy.run(lambda: None)

    assert [11, 1010] == [simulator.steps()[0].number, simulator.steps()[-1].number]


def test_steps_need_a_clock():
    with tf.using("simulator", gpus=2), pytest.raises(RuntimeError, match="without a cluster"):
        simulator.steps()


def test_steps_of_several_threads_on_one_device_can_be_recorded(strategy):
    clock = strategy.extended.backend.clock
    with simulator.trace() as recording:
        first, second = clock.step([0, 1]), clock.step([1, 2])
        first.__enter__()
        clock.work([0, 1], 1e-3)
        second.__enter__()
        clock.work([1, 2], 1e-3)
        first.__exit__(None, None, None)
        clock.work([1, 2], 1e-3)
        second.__exit__(None, None, None)
        with clock.step([1, 2]):
            clock.work([1, 2], 1e-3)

    runs = [(span.track, span.name) for span in recording.trace().spans if span.category == "run"]
    assert [("GPU:0", "step 1"), ("GPU:1", "step 1"), ("GPU:1", "step 3"), ("GPU:2", "step 3")] == runs
    assert 3 == len(simulator.steps())

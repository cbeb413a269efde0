"""What a program asks of the simulator beside the documented API."""

import numpy as np
import pytest

import refdist as tf
import simulator
from tests.children import run_python
from tests.simulator.star import ctx


def test_a_trace_shows_work_waiting_and_messages(strategy, tmp_path):
    def step():
        simulator.busy(1e-6 * ctx().replica_id_in_sync_group, "forward")
        ctx().all_reduce("sum", tf.zeros([1024]))

    with simulator.trace() as recording:
        strategy.run(step)
        strategy.run(step)
    after = len(recording.trace().spans)
    strategy.run(step)
    trace = recording.trace()

    assert after == len(trace.spans)  # nothing is recorded after the block
    assert {"compute", "collective", "wait", "step", "run"} == {span.category for span in trace.spans}
    assert 2 * 24 == len(trace.arrows)
    recording.save(str(tmp_path / "run.json"))
    recording.save(str(tmp_path / "run.svg"))
    assert (tmp_path / "run.svg").read_text().startswith("<svg")


PROGRAM = """
import refdist as tf, simulator, hashlib
with tf.using("simulator", cluster=simulator.presets.dgx_h100(2)), simulator.trace() as recording:
    strategy = tf.distribute.MirroredStrategy()
    def step():
        c = tf.distribute.get_replica_context()
        simulator.busy(1e-5 * (c.replica_id_in_sync_group % 3))
        return c.all_reduce("mean", tf.ones([1000]) / (c.replica_id_in_sync_group + 1))
    for _ in range(2):
        strategy.run(step)
    print(repr(simulator.now()), hashlib.sha256(recording.trace().to_json().encode()).hexdigest())
    print(hashlib.sha256(recording.trace().to_svg().encode()).hexdigest())
with tf.using("simulator", gpus=3), simulator.trace() as recording:
    tf.distribute.MirroredStrategy().run(lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.ones([3])))
print(recording.trace().to_json(), recording.trace().to_svg())
"""


def test_runs_repeat_byte_for_byte_in_other_processes():
    first, second = (run_python(PROGRAM, PYTHONHASHSEED=seed) for seed in ("1", "2"))

    assert "" == first.stderr
    assert first.stdout == second.stdout != ""


def test_what_needs_a_clock_says_so():
    with tf.using("simulator", gpus=2):
        for ask in (
            simulator.now,
            simulator.report,
            lambda: simulator.busy(1.0),
        ):
            with pytest.raises(RuntimeError, match="without a cluster"):
                ask()


def test_wrong_uses_are_refused(strategy):
    with pytest.raises(RuntimeError, match="no device is chosen"):
        simulator.busy(1.0)
    with pytest.raises(ValueError, match="at least 0"):
        strategy.run(lambda: simulator.busy(-1.0))


def test_being_busy_where_there_is_no_clock_is_refused():
    with (
        tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 1e-6)),
        tf.device("CPU:0"),
        pytest.raises(RuntimeError, match="CPU:0, which is not in the cluster"),
    ):
        simulator.busy(1.0)


def test_any_finite_number_of_seconds_will_do():
    with tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 1e-6)), tf.device("GPU:0"):
        for seconds in (1, 0.5, np.float32(0.25), np.int64(2)):
            simulator.busy(seconds)
        assert 3.75 == simulator.now()
        for wrong in (10**400, float("nan"), float("inf"), -1, np.float32(-1), "1"):
            with pytest.raises(ValueError, match="expected a number of seconds"):
                simulator.busy(wrong)
        assert 3.75 == simulator.now()

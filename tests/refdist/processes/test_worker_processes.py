import json
import sys

import numpy as np
import pytest

import refdist as tf
from refdist._core.launching.launch_plan import Launch
from refdist._core.launching.launcher import run
from tests.children import ROOT
from tests.refdist.processes.launches import Launched
from tests.refdist.processes.workout import workout
from tests.thorough import examples

REPORT = """
import json
from tests.refdist.processes.workout import workout
print(json.dumps(workout()), flush=True)
"""


def launched(folder, program, workers, devices=None, **environment):
    """Run a program in processes that import the checkout under test."""
    path = folder / "program.py"
    path.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{program}")
    with open(folder / "output", "wb") as output, open(folder / "errors", "wb") as errors:
        plan = Launch((sys.executable, str(path)), workers, devices, output=output.fileno(), errors=errors.fileno())
        settings = {**plan.environment, "JAX_PLATFORMS": "cpu", **environment}
        settings.pop("REFDIST_BACKEND", None)
        code = run(
            Launch(plan.command, workers, devices, 200.0, output=plan.output, errors=plan.errors, environment=settings)
        )
    return Launched(code, *[(folder / name).read_text() for name in ("output", "errors")], folder)


def played(monkeypatch, workers, devices):
    """The same with workers that this process plays."""
    monkeypatch.setenv("REFDIST_DEVICES_PER_WORKER", str(devices))
    with tf.using("host", cpus=devices):
        return tf.cluster.run_workers(lambda _: workout(), workers)


def numbers(report):
    if isinstance(report, dict):
        report = list(report.values())
    return [number for part in report for number in numbers(part)] if isinstance(report, list) else [report]


@pytest.mark.parametrize(("workers", "devices"), [(2, 2), (2, 1)][: examples(1, 2)])
def test_workers_in_processes_see_what_workers_see_that_one_process_plays(tmp_path, monkeypatch, workers, devices):
    done = launched(tmp_path, REPORT, workers, devices)

    assert 0 == done.exit_code, done.errors
    reports = [json.loads(done.said_by(worker)[-1]) for worker in range(workers)]
    for found, expected in zip(reports, json.loads(json.dumps(played(monkeypatch, workers, devices))), strict=True):
        for part in expected:
            assert json.dumps(expected[part]).count("[") == json.dumps(found[part]).count("["), part
            np.testing.assert_allclose(numbers(expected[part]), numbers(found[part]), rtol=2e-5, err_msg=part)


START = """
import os, signal, sys
import refdist as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
me = strategy.cluster_resolver.task_id
with strategy.scope():
    total = tf.Variable(0.0)

@tf.function
def step(x):
    def replica_step(x):
        total.assign(tf.distribute.get_replica_context().all_reduce("SUM", x))
    strategy.run(replica_step, args=(x,))

@tf.function
def other(x):
    return strategy.run(lambda x: tf.distribute.get_replica_context().all_reduce("SUM", 100.0 * x), args=(x,))

def eager(x):
    return strategy.run(lambda x: tf.distribute.get_replica_context().all_reduce("SUM", x), args=(x,))

x = tf.constant(1.0)
step(x), other(x)
try:
    if me == 1:
        {deed}
    for _ in range({turns}):
        step(x)
    eager(x)
except Exception as error:
    if isinstance(error, ZeroDivisionError):
        raise
    print(type(error).__name__, error, flush=True)
    sys.exit(5)
print("went on", flush=True)
"""

CASES = {
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", 137, ["WorkerLost", "Worker 1 of 2", "was ended by SIGKILL"]),
    "raised": ("1 / 0", 1, ["WorkerLost", "ended with ZeroDivisionError: division by zero at", "in <module>"]),
    "ended": (
        "sys.exit(0)",
        5,
        ["MeetingError", "worker 1: has ended its program", "a compiled program", "in <module>"],
    ),
    "another program": ("other(x)", 5, ["MeetingError", "a compiled program"]),
    "eager beside staged": (
        "eager(x)",
        5,
        ["MeetingError", "waiting in all_reduce(SUM) of float32[] at", "in <lambda>"],
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_a_failure_is_an_error_on_every_worker(tmp_path, case):
    deed, code, words = CASES[case]
    done = launched(tmp_path, START.format(deed=deed, turns=3), 2)

    said = "\n".join(done.said_by(0))
    assert code == done.exit_code, done.output + done.errors
    assert [] == [word for word in words if word not in said]
    assert "went on" not in done.output


def test_a_worker_can_end_before_the_others_where_nobody_needs_it(tmp_path):
    done = launched(
        tmp_path, START.format(deed="pass", turns=2) + "\nif me == 0:\n    print(float(x * 2), flush=True)", 2
    )

    assert 0 == done.exit_code, done.errors
    assert ["went on", "2.0"] == done.said_by(0)
    assert ["went on"] == done.said_by(1)


# What no cut connection ends, as inside of NCCL.
STUCK = """
import os, threading
import jax, numpy
import refdist as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
me, calls = strategy.cluster_resolver.task_id, []

def outside():
    calls.append(me)
    if len(calls) == 2:
        os._exit(3) if me == 1 else threading.Event().wait()
    return numpy.float32(1.0)

@tf.function
def step():
    def replica():
        one = jax.pure_callback(outside, jax.ShapeDtypeStruct((), "float32"))
        return tf.distribute.get_replica_context().all_reduce("SUM", one)
    return strategy.run(replica)

print(float(step()), flush=True)
step()
print("went on", flush=True)
"""


def test_a_worker_inside_of_something_that_nothing_can_end_says_what_is_wrong_and_ends(tmp_path):
    done = launched(tmp_path, STUCK, 2, REFDIST_ABANDON_SECONDS="0.5")

    assert 3 == done.exit_code
    assert "[worker 0] WorkerLost: Worker 1 of 2" in done.errors
    assert "[worker 0] Worker 0 of 2 (127.0.0.1:" in done.errors
    assert ") is still in a compiled program (" in done.errors
    assert ["2.0"] == done.said_by(0) == done.said_by(1)

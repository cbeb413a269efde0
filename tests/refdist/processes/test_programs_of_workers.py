"""What whole programs do in processes of their own: Keras, preemption, threads, and an end without stdout."""

import json

import numpy as np
import pytest

import refdist as tf
from tests.refdist.keras.worker_programs import ANSWERS, numbers
from tests.refdist.processes.test_worker_processes import launched

KERAS = """
import json, warnings
warnings.simplefilter("ignore")
import refdist as tf
from tests.refdist.keras.worker_programs import numbers
found = numbers(tf, tf.distribute.MultiWorkerMirroredStrategy(), "arrays", "")
print(json.dumps([float(number) for number in found]), flush=True)
"""


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras itself
def test_keras_fits_in_processes_with_the_numbers_of_virtual_workers_and_of_tensorflow(tmp_path):
    done = launched(tmp_path, KERAS, 2, 1)
    with tf.using("simulator", cpus=1):
        played = tf.cluster.run_workers(
            lambda _: numbers(tf, tf.distribute.MultiWorkerMirroredStrategy(), "arrays", ""), 2
        )

    assert 0 == done.exit_code, done.errors
    for worker, expected in enumerate(played):
        found = json.loads(done.said_by(worker)[-1])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found, json.loads(ANSWERS.read_text())["arrays 2 x 1"], rtol=1e-5, atol=1e-5)


PREEMPTED = """
import os, pathlib, signal
import refdist as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
me = strategy.cluster_resolver.task_id
step = tf.Variable(0)
with strategy.scope():
    total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
checkpoint = tf.train.Checkpoint(total=total, step=step)
folder = pathlib.Path(__file__).parent / "kept"
handler = tf.distribute.experimental.PreemptionCheckpointHandler(strategy.cluster_resolver, checkpoint, str(folder))
print("started at", int(step), flush=True)

def train():
    step.assign_add(1)
    strategy.run(lambda: total.assign_add(tf.constant(1.0)))
    if me == 1 and int(step) == 2:
        os.kill(os.getpid(), signal.SIGTERM)

try:
    while int(step) < 6:
        handler.run(train)
except SystemExit as error:
    print("left with", error.code, "after", int(step), float(total), flush=True)
    raise
"""


def test_a_sigterm_to_one_of_two_has_both_save_once_and_end_with_the_documented_code(tmp_path):
    done = launched(tmp_path, PREEMPTED, 2)

    assert 42 == done.exit_code, done.output + done.errors
    said, other = (done.said_by(worker) for worker in range(2))
    assert ["started at 0", said[-1]] == said == other
    left, _, after = said[-1].partition(" after ")
    assert "left with 42" == left
    steps, total = after.split()
    assert 2 <= int(steps) < 6
    assert 2.0 * int(steps) == float(total)
    assert ["ckpt-1.safetensors"] == sorted(path.name for path in tmp_path.glob("kept/**/*") if "ckpt" in path.name)


OWN_VALUES = """
import refdist as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
me = strategy.cluster_resolver.task_id
context = tf.distribute.get_replica_context
with strategy.scope():
    weight = tf.Variable([1.0, 2.0], name="weight")
own = tf.constant(0.1 * (1 + me))

@tf.function
def mean_of_own_numbers():
    return strategy.reduce("MEAN", tf.ones([2]) * me, axis=None), 10.0 * me

print(*mean_of_own_numbers()[0].numpy().tolist(), float(mean_of_own_numbers()[1]))

@tf.function
def drift():
    def replica():
        weight.assign_sub(own * context().all_reduce("SUM", weight.read_value()))  # its own
    strategy.run(replica)

try:
    drift()
except ValueError as error:
    print("different values" in str(error), *error.__notes__, *weight.numpy().tolist())

@tf.function
def step():
    strategy.run(lambda: weight.assign_sub(0.1 * context().all_reduce("SUM", weight.read_value())))

step()
if me == 1:
    weight.assign([7.0, 7.0])  # alone
try:
    while True:
        step()
except tf.errors.MeetingError as error:
    print(str(error).replace(chr(10), " "), flush=True)
"""


def test_what_is_a_workers_own_may_not_reach_mirrored_variables(tmp_path):
    done = launched(tmp_path, OWN_VALUES, 2)

    for worker in range(2):
        numbers, drift, alone = done.said_by(worker)
        assert f"0.5 0.5 {10.0 * worker}" == numbers
        assert drift.startswith("True raised while 2 replicas met in assign at ")
        assert drift.endswith("in replica 1.0 2.0")
        assert f"program.py:{line_of(done.folder, '# its own')}" in drift
        assert "worker 1 did an assignment outside of replicas: 'weight:0' set to [7., 7.]" in alone
        assert f"program.py:{line_of(done.folder, '# alone')}" in alone


def line_of(folder, comment):
    lines = (folder / "program.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(comment))


# Each thread waits for its turn, so that all workers call in one order, whatever the system does.
THREADS = """
import sys, threading
import refdist as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
me = strategy.cluster_resolver.task_id
context = tf.distribute.get_replica_context

def eager(x):
    return strategy.run(lambda x: context().all_reduce("SUM", x), args=(x,))

staged = tf.function(lambda x: strategy.run(lambda x: context().all_reduce("SUM", 10.0 * x), args=(x,)))
turns = [threading.Semaphore(1), threading.Semaphore(0)]
found = []

def caller(number, call):
    for step in range(20):
        turns[number].acquire()
        try:
            found.append(float(call(tf.constant(step + me + 0.0))))
        finally:
            turns[1 - number].release()

callers = [threading.Thread(target=caller, args=one) for one in enumerate((eager, staged))]
for one in callers:
    one.start()
for one in callers:
    one.join()
expected = [scale * (2.0 * step + 1.0) for step in range(20) for scale in (1.0, 10.0)]
if expected != found:
    sys.exit(f"{found}")
if me == 1:
    sys.stdout.close()  # what says goodbye must not need it
else:
    print("in order", flush=True)
"""


def test_threads_that_take_turns_call_in_one_order_and_a_worker_without_stdout_ends_well(tmp_path):
    done = launched(tmp_path, THREADS, 2)

    assert 0 == done.exit_code, done.errors
    assert [["in order"], []] == [done.said_by(worker) for worker in range(2)]
    assert "Traceback" not in done.errors


@pytest.mark.parametrize("told", ["0", "-1", "two", "1.5"])
def test_a_number_of_devices_that_is_none_is_refused_with_the_name_of_the_variable(monkeypatch, told):
    monkeypatch.setenv("REFDIST_DEVICES_PER_WORKER", told)
    with (
        tf.using("host", cpus=1),
        pytest.raises(ValueError, match=f"REFDIST_DEVICES_PER_WORKER is '{told}'; expected a number of at least 1"),
    ):
        tf.cluster.run_workers(lambda _: tf.distribute.MultiWorkerMirroredStrategy(), 2)

import json
import threading
import types

import pytest

from refdist._core.base.errors import WorkerLost
from refdist._core.processes import jax_service, joining
from refdist._core.processes.cluster_member import ClusterMember
from tests.children import run_python

MEMBER = ClusterMember("127.0.0.1:9", 1, 2, ("127.0.0.1:9", "127.0.0.1:10"), hosted=True)


@pytest.fixture
def at_exit(monkeypatch):
    """What is to be done at the end of the program."""
    registered = []
    monkeypatch.setattr(joining, "atexit", types.SimpleNamespace(register=registered.append))
    return registered


@pytest.fixture
def nobody_comes(monkeypatch, at_exit):
    """The others do not come, until the test is over."""
    over = threading.Event()
    monkeypatch.setattr(jax_service, "connect", lambda *_, **__: over.wait())
    monkeypatch.setenv("REFDIST_INITIALIZATION_TIMEOUT", "0.2")
    yield at_exit
    over.set()


def test_jax_must_not_have_started():
    with pytest.raises(
        RuntimeError, match=r"Worker 1 of 2 \(127.0.0.1:10\) was to join its cluster after JAX had started; expected"
    ):
        joining.join(MEMBER, started=True)


def test_a_process_is_a_worker_of_one_cluster(monkeypatch):
    processes = object()
    monkeypatch.setattr(joining, "_joined", (MEMBER, processes))

    assert processes is joining.join(MEMBER, started=True)
    with pytest.raises(
        RuntimeError, match=r"was to become Worker 0 of 3 and is Worker 1 of 2 \(.*\) already; expected"
    ):
        joining.join(ClusterMember("127.0.0.1:9", 0, 3), started=True)


def test_what_a_worker_starts_is_not_that_worker(monkeypatch, nobody_comes):
    """Where the launcher has the service, JAX ended all workers when one of them started such a process."""
    monkeypatch.setenv("REFDIST_WORKER_PROCESS", "1 of 2 at 127.0.0.1:9, process 1")
    with pytest.raises(RuntimeError, match=r"A process that a worker has started \(worker 1 of 2 at .*, process 1\)"):
        joining.join(MEMBER, started=False)

    monkeypatch.setenv("REFDIST_WORKER_PROCESS", "1 of 2 at 127.0.0.1:99, process 1")
    with pytest.raises(WorkerLost):
        joining.join(MEMBER, started=False)


def test_waiting_for_the_others_has_an_end(nobody_comes):
    with pytest.raises(
        WorkerLost, match=r"Worker 1 of 2 .* has waited 0 s for the others, and not all have come to 127"
    ):
        joining.join(MEMBER, started=False)

    assert 1 == len(nobody_comes)


@pytest.mark.parametrize(
    ("code", "signal", "words"), [(3, None, "ended with exit code 3"), (0, "SIGKILL", "was ended by SIGKILL")]
)
def test_a_worker_that_ends_before_it_joins_is_told(tmp_path, monkeypatch, nobody_comes, code, signal, words):
    monkeypatch.setenv("REFDIST_INITIALIZATION_TIMEOUT", "60")
    monkeypatch.setenv("REFDIST_BOARD", str(tmp_path))
    (tmp_path / "0.json").write_text(json.dumps({"code": code, "signal": signal}))
    with pytest.raises(
        WorkerLost, match=rf"Worker 0 of 2 \(127.0.0.1:9\) {words} before all workers had come together"
    ):
        joining.join(MEMBER, started=False)


def test_a_program_that_is_interrupted_while_it_joins_can_end(monkeypatch, nobody_comes):
    """A thread waits inside JAX, for which the end of the interpreter would have to wait."""

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(joining, "ended_workers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        joining.join(MEMBER, started=False)

    assert 1 == len(nobody_comes)


def test_what_jax_says_of_a_failure_is_told_with_the_address(monkeypatch, at_exit):
    def connect(*_, **__):
        raise OSError("no such address")

    monkeypatch.setattr(jax_service, "connect", connect)
    with pytest.raises(RuntimeError, match=r"could not join its cluster at 127.0.0.1:9 \(no such address\); expected"):
        joining.join(MEMBER, started=False)
    assert [] == at_exit


def described(raising):
    try:
        raising()
    except BaseException as error:
        return joining._described(type(error), error, error.__traceback__)


def test_an_error_is_described_with_the_line_of_the_user():
    def interrupted():
        raise KeyboardInterrupt

    assert described(interrupted).startswith("KeyboardInterrupt at ")
    in_refdist = described(lambda: joining.join(MEMBER, started=True))
    assert in_refdist.startswith("RuntimeError: Worker 1 of 2")
    assert "test_joining.py" in in_refdist


def test_a_program_whose_output_is_closed_ends_although_a_thread_waits():
    program = """
import sys, threading
from refdist._core.processes import joining
joining._leave_at_exit()
sys.stdout.close()
"""
    done = run_python(program)

    assert (1, "") == (done.returncode, done.stderr)


def test_a_tensor_before_the_strategy_is_told():
    config = {"cluster": {"worker": ["127.0.0.1:9", "127.0.0.1:10"]}, "task": {"type": "worker", "index": 0}}
    program = """
import refdist as tf
from refdist._core.backends.choosing import current
tf.random.set_seed(1)
tf.data.Dataset.range(3).map(lambda x: x + 1).batch(2)
tf.function(lambda x: x)
print("started:", current().has_started())
tf.constant(1.0)
try:
    tf.distribute.MultiWorkerMirroredStrategy()
except RuntimeError as error:
    print(error)
"""
    done = run_python(program, TF_CONFIG=json.dumps(config), REFDIST_BACKEND="jax", JAX_PLATFORMS="cpu")

    first, second = done.stdout.splitlines()
    assert "started: False" == first
    assert "before the first tensor and before the devices are listed." in second

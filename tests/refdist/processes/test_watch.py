import json
import threading

import pytest

from refdist._core.base.call_sites import Place
from refdist._core.base.errors import MeetingError, WorkerLost
from refdist._core.processes import watch as watching
from refdist._core.processes.common_ledger import ASSIGNMENT
from refdist._core.processes.failure import Failure
from refdist._core.processes.watch import Watch

LINE = (Place("train.py", "step", 12, 0),)


class Store(dict):
    """A coordination service in this process."""

    def put(self, name, value, *, again=False):
        if name in self and not again:
            return False
        self[name] = value
        return True

    def look(self, name):
        return self.get(name)

    def look_below(self, name):
        return {key.removeprefix(name): value for key, value in self.items() if key.startswith(name)}


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    monkeypatch.setattr(watching, "time", clock := Clock())
    return clock


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def watches(count, folder=None):
    store, names = Store(), [f"Worker {index} of {count}" for index in range(count)]
    return [Watch(store, index, names, None if folder is None else str(folder)) for index in range(count)]


def look(clock, seconds, *those):
    """Let time pass, and all of them look."""
    clock.now += seconds
    for one in those:
        one.look()


def test_nothing_is_wrong_while_workers_meet(clock):
    one, other = watches(2)
    for turn in range(50):
        for worker in (one, other):
            worker.begin("all_reduce(SUM)", LINE)
        look(clock, 0.5 + turn % 3, one, other)
        for worker in (one, other):
            worker.end()
            worker.require_no_failure()


def test_a_worker_that_is_silent_is_lost(clock):
    one, other, third = watches(3)
    look(clock, 0.0, one, other, third)
    one.begin("all_reduce(SUM)", LINE)
    third.begin("all_reduce(SUM)", LINE)
    look(clock, 1.0, one, third)
    look(clock, 8.0, one, third)
    one.require_no_failure()
    look(clock, 2.5, one, third)

    for waiting in (one, third):
        with pytest.raises(
            WorkerLost, match=r"Worker 1 of 3 has given no sign of life for 1[0-9] s, while others wait"
        ) as raised:
            waiting.require_no_failure()
        assert "workers 0, 2: waiting in all_reduce(SUM) at train.py:12, in step" in str(raised.value)
    assert one.failure == third.failure


def test_who_does_not_wait_does_not_judge(clock):
    one, _other = watches(2)
    for _ in range(100):
        look(clock, 1.0, one)

    one.require_no_failure()


def test_what_the_launcher_says_is_believed_at_once(clock, folder):
    one, other = watches(2, folder)
    look(clock, 0.0, one, other)
    (folder / "1.json").write_text(json.dumps({"code": -11, "signal": "SIGSEGV"}))
    one.begin("gather(axis=0)", LINE)
    look(clock, 1.0, one)

    with pytest.raises(WorkerLost, match="Worker 1 of 2 was ended by SIGSEGV, while others wait for it"):
        one.require_no_failure()


def test_a_worker_that_has_ended_its_program_does_not_come_any_more(clock):
    one, other = watches(2)
    other.start()
    other.close()
    one.begin("all_reduce(SUM)", LINE)
    look(clock, 1.0, one)

    with pytest.raises(
        MeetingError, match=r"The 2 workers do not meet:\n  worker 0: waiting in .*\n  worker 1: has ended its"
    ):
        one.require_no_failure()


def test_workers_that_wait_for_different_things_do_not_meet(clock):
    one, other = watches(2)
    one.begin("all_reduce(SUM)", LINE)
    other.begin("a compiled program (1)", LINE)
    look(clock, 1.0, one, other)
    look(clock, 1.0, one, other)

    for worker in (one, other):
        with pytest.raises(MeetingError, match=r"waiting in all_reduce.*\n.*waiting in a compiled program"):
            worker.require_no_failure()


def test_programs_that_do_not_belong_together_are_told_although_nobody_waited(clock):
    one, other = watches(2)
    for worker, what in ((one, "a compiled program (1)"), (other, "a compiled program (2)")):
        worker.begin(what)
        worker.end()
    for _ in range(4):
        look(clock, 0.4, one, other)

    for worker in (one, other):
        with pytest.raises(
            MeetingError, match="have done different things together, so that what they computed is wrong"
        ):
            worker.require_no_failure()


@pytest.mark.parametrize("steps", [1, 31, 40, 3000])
def test_what_one_worker_assigned_alone_is_told_in_one_form_however_soon_it_is_found(clock, steps):
    one, other = watches(2)
    other.note(f"{ASSIGNMENT}: 'w:0' set to 7.0 at train.py:5", "w 7")
    for worker in (one, other):
        for _ in range(steps):
            worker.begin("a compiled program (1)")
            worker.end()
    for _ in range(4):
        look(clock, 0.4, one, other)

    for worker in (one, other):
        with pytest.raises(MeetingError, match=r"worker 1 did an assignment .* 'w:0' set .*:5, worker 0 did not\n"):
            worker.require_no_failure()


def test_a_slow_worker_is_spoken_of_and_then_is_an_error(clock, capsys, monkeypatch):
    monkeypatch.setenv("REFDIST_STALL_SECONDS", "5")
    monkeypatch.setenv("REFDIST_STALL_LIMIT", "20")
    one, other = watches(2)
    one.begin("all_reduce(SUM)", LINE)
    for _ in range(6):
        look(clock, 1.0, other, one)
    said = capsys.readouterr().err
    assert said.startswith(
        "Worker 0 of 2 has been waiting for 6 s:\n  worker 0: waiting in all_reduce(SUM) at train.py:12"
    )
    assert "worker 1: busy at" in said
    one.require_no_failure()
    for _ in range(15):
        look(clock, 1.0, other, one)

    with pytest.raises(WorkerLost, match="Worker 1 of 2 is alive, but has not come for 21 s"):
        one.require_no_failure()


def test_the_first_failure_is_everybodys(clock):
    one, other = watches(2)
    one.fail(Failure("WorkerLost", "first"))
    other.fail(Failure("MeetingError", "second"))

    for worker in (one, other):
        with pytest.raises(WorkerLost, match="first"):
            worker.require_no_failure()


def test_an_error_of_a_collective_is_explained_by_what_is_known(clock):
    one, other = watches(2)
    other.fail(Failure("WorkerLost", "it is gone"))
    found = one.explain(ValueError("Gloo"), 1.0)

    assert isinstance(found, WorkerLost)
    assert isinstance(found.__cause__, ValueError)


def test_a_process_that_is_forked_does_not_speak_for_the_worker(clock):
    one, other = watches(2)
    for worker in (one, other):
        worker.look()
    before = dict(one._store)
    one._leave_to_parent()
    one.look()

    assert one.is_fork
    assert before == one._store
    with pytest.raises(
        RuntimeError, match="A process that was forked from Worker 0 of 2 was to meet the other workers"
    ):
        one.require_no_failure()
    other.require_no_failure()


def test_nobody_meets_after_the_end_of_the_program(clock):
    one, _ = watches(2)
    one.start()
    one.close()

    with pytest.raises(RuntimeError, match="Worker 0 of 2 was to meet the other workers after the end of its program"):
        one.require_no_failure()


def test_a_service_that_is_gone_is_a_failure_and_no_silence(monkeypatch):
    monkeypatch.setattr(watching, "_EVERY", 0.001)
    one, _ = watches(2)
    one.start()
    gone = threading.Event()

    def put(*_, **__):
        gone.set()
        raise OSError("UNAVAILABLE")

    one._store.put = put
    gone.wait(60)
    one._stop.set()
    one._thread.join(60)

    with pytest.raises(
        WorkerLost, match=r"Worker 0 of 2 does not reach the coordination service any more \(UNAVAILABLE"
    ):
        one.require_no_failure()


def test_others_have_ended_when_all_have_said_so_or_are_silent(clock):
    one, other, third = watches(3)
    look(clock, 0.0, one, other, third)
    assert not one.others_have_ended()
    other.start()
    other.close()
    assert not one.others_have_ended()
    clock.now += 11

    assert one.others_have_ended()


def test_a_wait_is_ended_when_it_is_certain_that_it_is_one(clock, monkeypatch):
    one, other = watches(2)
    cuts = []
    monkeypatch.setattr(one.connections, "cut", lambda: cuts.append(clock.now))
    other.fail(Failure("MeetingError", "They do not meet."))
    for _ in range(5):  # steps that end find the failure by themselves
        one.begin("a compiled program (1)", LINE)
        look(clock, 0.4, one)
        one.end()

    assert [] == cuts
    one.begin("a compiled program (1)", LINE)
    start = clock.now
    for _ in range(8):
        look(clock, 0.3, one)

    assert [start + 0.3 * 3] == pytest.approx(cuts)


def test_a_worker_that_stays_inside_of_jax_after_a_failure_says_why_and_ends(clock, monkeypatch, capsys):
    def ended(code):
        raise SystemExit(code)

    monkeypatch.setattr(watching.os, "_exit", ended)
    one, other = watches(2)
    other.fail(Failure("WorkerLost", "Worker 1 of 2 has gone."))
    one.begin("a compiled program (1)", LINE)
    look(clock, 1.0, one)
    look(clock, 9.9, one)
    with pytest.raises(SystemExit, match="1"):
        look(clock, 0.2, one)

    said = capsys.readouterr().err
    assert said.startswith(
        "WorkerLost: Worker 1 of 2 has gone.\nWorker 0 of 2 is still in a compiled program (1) at train.py:12, "
    )

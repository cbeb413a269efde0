import contextlib
import contextvars
import gc
import threading
import weakref

import pytest
from greenlet import greenlet
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.base.call_sites import call_site
from refdist._core.base.errors import MeetingError
from refdist._core.replicas import lockstep
from refdist._core.replicas.lockstep import pause, play
from refdist._core.replicas.meeting import Meeting


def meet(value, kind="meeting", details=None):
    return pause(Meeting(kind, details, lambda _, payloads: [sum(payloads)] * len(payloads), None, value, call_site()))


def run(count, body, **options):
    return play(count, body, name=lambda index: f"replica {index}", **options)


@given(count=generators.integers(1, 20), meetings=generators.integers(0, 5))
def test_all_bodies_meet_as_often_as_they_ask_and_return_in_order(count, meetings):
    def body(index):
        return index, [meet(index + turn) for turn in range(meetings)]

    total = sum(range(count))

    assert [(index, [total + count * turn for turn in range(meetings)]) for index in range(count)] == run(count, body)


def test_bodies_run_in_order_between_meetings():
    trace = []

    def body(index):
        trace.append(("before", index))
        meet(0)
        trace.append(("after", index))

    run(3, body)

    assert [("before", 0), ("before", 1), ("before", 2), ("after", 0), ("after", 1), ("after", 2)] == trace


def test_ten_thousand_bodies_meet_in_one_process():
    assert [10_000] * 10_000 == run(10_000, lambda index: meet(1))


def test_a_body_that_returned_early_is_an_error_that_says_who_is_where():
    def body(index):
        return None if index == 1 else meet(index)

    with pytest.raises(MeetingError) as raised:
        run(3, body)

    text = str(raised.value)
    assert "replicas 0, 2: waiting in meeting at" in text
    assert "test_lockstep.py" in text
    assert "replica 1: returned" in text


@pytest.mark.parametrize(("kind", "details"), [("other", None), ("meeting", "x")])
def test_bodies_in_different_meetings_are_an_error(kind, details):
    def body(index):
        return meet(index, kind, details) if index == 2 else meet(index)

    with pytest.raises(MeetingError, match="do not meet"):
        run(3, body)


def test_the_same_meeting_reached_from_another_line_is_an_error_that_names_both_lines():
    def body(index):
        if index == 0:
            return meet(index)
        return meet(index)

    with pytest.raises(MeetingError) as raised:
        run(2, body)

    first = body.__code__.co_firstlineno
    assert f":{first + 2}, in body" in str(raised.value)
    assert f":{first + 3}, in body" in str(raised.value)


def test_an_error_in_one_body_unwinds_the_others_first_and_names_the_replica():
    left = []

    def body(index):
        try:
            meet(index)
            if index == 1:
                raise KeyError("x")
            meet(index)
        finally:
            left.append(index)

    with pytest.raises(KeyError) as raised:
        run(4, body)

    assert [1, 0, 2, 3] == left
    assert "raised in replica 1" == raised.value.__notes__[0]


def test_an_error_while_a_meeting_is_held_unwinds_all():
    left = []

    def body(index):
        try:
            pause(Meeting("m", None, lambda _, payloads: 1 / 0, None, index, call_site()))
        finally:
            left.append(index)

    with pytest.raises(ZeroDivisionError):
        run(3, body)

    assert [0, 1, 2] == left


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interruption_leaves_as_it_is(error):
    def body(index):
        meet(index)
        raise error

    with pytest.raises(error) as raised:
        run(2, body)

    assert not hasattr(raised.value, "__notes__")


def test_a_body_that_refuses_to_end_is_left_behind_and_later_runs_work():
    def body(index):
        while True:
            try:
                meet(index)
            except BaseException:
                if index == 1:
                    raise
            if index == 1:
                raise ValueError

    with pytest.raises(ValueError):
        run(3, body)

    assert [6, 6, 6] == run(3, lambda index: meet(2))


def test_no_runner_is_lost_and_none_is_kept_twice():
    run(5, meet)
    idle = lockstep._POOL.idle
    before = len(idle)
    with pytest.raises(MeetingError):
        run(5, lambda index: index if index == 3 else meet(index))

    assert before == len(idle) == len(set(map(id, idle)))
    assert all(isinstance(runner, greenlet) and not runner.dead for runner in idle)


def test_an_idle_runner_keeps_nothing_alive():
    class Thing:
        pass

    things = [Thing() for _ in range(3)]
    seen = [weakref.ref(thing) for thing in things]
    run(3, lambda index: (meet(0), things[index])[1])
    things.clear()
    gc.collect()

    assert [None, None, None] == [reference() for reference in seen]


def test_a_run_inside_a_meeting_works():
    def body(index):
        return pause(
            Meeting("m", None, lambda _, payloads: run(2, lambda inner: meet(inner)), None, index, call_site())
        )

    assert [1, 1] == run(2, body)


def test_a_run_inside_a_body_works():
    assert [[1, 1], [1, 1], [1, 1]] == run(3, lambda index: run(2, meet))


def test_pausing_outside_a_body_is_refused():
    with pytest.raises(RuntimeError, match="not the replica's own"):
        meet(1)


def test_pausing_in_a_thread_of_a_body_is_refused():
    errors = []

    def body(index):
        def task():
            try:
                meet(index)
            except RuntimeError as error:
                errors.append(str(error))

        thread = threading.Thread(target=task)
        thread.start()
        thread.join()

    run(2, body)

    assert 2 == len(errors)


def test_runs_in_several_threads_do_not_disturb_each_other():
    results = {}

    def work(number):
        results[number] = [run(4, lambda index: meet(index * number)) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {number: [[6 * number] * 4] * 20 for number in range(4)} == results


def test_each_stretch_of_a_body_runs_inside_its_scope():
    trace = []
    inside = contextvars.ContextVar("inside")

    class Scope:
        def __init__(self, index, paused):
            self.label = (index, paused and paused[inside])

        def __enter__(self):
            trace.append(("enter", *self.label))

        def __exit__(self, *exception):
            trace.append("exit")

    def body(index):
        inside.set("value")
        trace.append("before")
        meet(0)
        trace.append("after")

    run(2, body, scope=Scope)

    first = [step for index in (0, 1) for step in (("enter", index, None), "before", "exit")]
    second = [step for index in (0, 1) for step in (("enter", index, "value"), "after", "exit")]
    assert first + second == trace


def test_runners_do_not_keep_what_they_were_started_for():
    class Result:
        pass

    def first_run():
        alive.extend(weakref.ref(one) for one in run(3, lambda index: Result()))
        gc.collect()
        gone.append([one() for one in alive])

    alive, gone = [], []
    thread = threading.Thread(target=first_run)  # which has no runners yet
    thread.start()
    thread.join()

    assert [[None, None, None]] == gone


def test_a_body_that_goes_on_after_the_first_unwindings_comes_to_its_end():
    ended = []

    def body():
        replica = tf.distribute.get_replica_context()
        if replica.replica_id_in_sync_group == 1:
            raise KeyError("x")
        for _ in range(3):
            with contextlib.suppress(BaseException):
                replica.all_reduce("sum", 1.0)
        ended.append(replica.replica_id_in_sync_group)

    with tf.using("host", gpus=3):
        strategy = tf.distribute.MirroredStrategy()
    with pytest.raises(KeyError):
        strategy.run(body)

    assert [0] == ended


def test_two_calls_in_one_line_are_told_apart_by_their_columns():
    tf.use("simulator", gpus=2)
    strategy = tf.distribute.MirroredStrategy()

    def step():
        replica = tf.distribute.get_replica_context()
        first = replica.replica_id_in_sync_group == 0
        one = tf.constant(1.0)
        return replica.all_reduce("sum", one) if first else replica.all_reduce("sum", one)  # noqa: RUF034

    with pytest.raises(tf.errors.MeetingError) as caught:
        strategy.run(step)

    rows = [line for line in str(caught.value).splitlines() if "waiting in" in line]
    assert 2 == len(rows)
    assert 2 == len({row.rpartition("column ")[2] for row in rows})


def test_nobody_goes_on_during_an_errand_and_its_result_comes_back():
    seen = []

    def body(index):
        seen.append(f"{index} starts")
        answer = lockstep.do_outside(lambda: seen.append(f"errand of {index}") or 10 * index)
        seen.append(f"{index} ends")
        return answer

    assert [0, 10] == play(2, body, name=str)
    assert ["0 starts", "errand of 0", "0 ends", "1 starts", "errand of 1", "1 ends"] == seen


def test_an_errand_is_done_outside_of_the_scope_of_a_body():
    inside = []

    @contextlib.contextmanager
    def scope(index, _):
        inside.append(index)
        yield
        inside.pop()

    def body(index):
        outside = lockstep.do_outside(lambda: list(inside))
        return outside, list(inside)

    assert [([], [0]), ([], [1])] == play(2, body, name=str, scope=scope)


def test_what_an_errand_raises_ends_all_bodies():
    ended = []

    def body(index):
        try:
            lockstep.do_outside(lambda: 1 // 0)
        finally:
            ended.append(index)

    with pytest.raises(ZeroDivisionError):
        play(2, body, name=str)
    assert [0] == ended

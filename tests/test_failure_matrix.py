"""Whether the judge of the failure matrix sees what is wrong; the matrix itself is run by hand."""

import dataclasses

import pytest

from tests.failure_matrix.__main__ import indices, table
from tests.failure_matrix.judging import judge
from tests.failure_matrix.running import Outcome
from tests.failure_matrix.ways import ALL

WAYS = {way.name: way for way in ALL}
TEXT = "Worker 1 of 3 (127.0.0.1:5) was ended:\n  workers 0, 2: waiting in f at worker_program.py:7"


def note(worker, at, **facts):
    return {"worker": worker, "pid": 100 + worker, "at": at, **facts}


def raised(worker, at=12.0, kind="WorkerLost", text=TEXT):
    return note(worker, at, kind=kind, text=text)


def outcome(way, *, errors, codes=(137,), started=(0, 1, 2), finished=(), seconds=0.0, output="", left=()):
    notes = {
        "started": [note(worker, 1.0) for worker in started],
        "joining": [note(worker, 10.0) for worker in started],
        "ready": [],
        "moment": [note(1, 10.0)],
        "raised": list(errors),
        "finished": [note(worker, 11.0) for worker in finished],
    }
    return Outcome(WAYS[way], 3, 1, codes, notes, output, left, seconds)


def complaints(way, **facts):
    return " ".join(judge(outcome(way, **facts)).complaints)


def test_a_run_in_which_all_others_raise_the_same_error_in_time_is_good():
    verdict = judge(outcome("killed-staged", errors=[raised(0), raised(2, at=13.0)]))

    assert ((), (2.0, 3.0), ("WorkerLost",)) == (verdict.complaints, verdict.seconds, verdict.kinds)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"errors": [raised(0)]}, "worker 2 raised nothing"),
        ({"errors": [raised(0), raised(2, kind="ValueError")]}, "worker 2 raised ValueError"),
        ({"errors": [raised(0), raised(2, text=TEXT + "!")]}, "2 different errors"),
        ({"errors": [raised(0), raised(2, at=26.0)]}, "it took 16.0 s, more than 15"),
        ({"errors": [raised(0, text="worker_program.py:1"), raised(2, text="worker_program.py:1")]}, "1 is not named"),
        ({"errors": [raised(0, text="worker 1"), raised(2, text="worker 1")]}, "no line is named"),
        ({"errors": [raised(0), raised(2)], "codes": (0,)}, "exit code is 0"),
        ({"errors": [raised(0), raised(2)], "codes": (124,)}, "it hung"),
        ({"errors": [raised(0), raised(2)], "left": (7,)}, "1 processes were left behind"),
    ],
)
def test_anything_else_is_told(facts, expected):
    assert expected in complaints("killed-staged", **facts)


def test_at_the_start_every_process_raises_an_error_that_names_an_address():
    good = [raised(worker, text="Worker 1 (127.0.0.1:5) is missing") for worker in (0, 2)]

    assert "" == complaints("missing", errors=good, started=(0, 2), codes=(1, 1))
    assert "a process was ended by -6" in complaints("missing", errors=good, started=(0, 2), codes=(1, -6))
    assert "named no address" in complaints("missing", errors=[raised(0, text="no")], started=(0,), codes=(1,))


def test_of_two_workers_with_one_index_one_has_to_go():
    one = raised(1, text="127.0.0.1:5")

    assert "" == complaints("twice", errors=[one], finished=(0, 2), codes=(0, 0, 1))
    assert "worker 2 raised nothing" in complaints("twice", errors=[one], finished=(0,), codes=(0, 0, 1))


def test_a_launcher_ends_at_once_and_with_its_code():
    assert "" == complaints("SIGINT", errors=[], codes=(130,), seconds=1.0)
    assert "exit code 1, not 130; it took 20.0 s" == "; ".join(
        judge(outcome("SIGINT", errors=[], codes=(1,), seconds=20.0)).complaints
    )


def test_a_slow_worker_is_no_error_and_is_told_of():
    said = "worker 0 has been waiting for 2 s:\n worker 1: busy at worker_program.py:8"

    assert "" == complaints("slow", errors=[], codes=(0,), output=said)
    assert "nobody said" in complaints("slow", errors=[], codes=(0,))


def test_the_table_has_a_line_for_each_way():
    way = WAYS["stopped"]
    good = judge(outcome("stopped", errors=[raised(0), raised(2, at=13.0)]))
    bad = dataclasses.replace(good, complaints=("bad",))
    text = table({(way, 2): [(0, good)], (way, 4): [(0, good), (1, bad)]}, [2, 4])

    assert "| SIGSTOP | WorkerLost | 2.0 to 3.0 s | 2.0 to 3.0 s, **1 of 2 bad** |\n" in text


def test_every_worker_has_its_turn_where_it_can():
    assert [[0, 1, 2], [0], [0], [1, 2]] == [
        indices(WAYS[name], 3) for name in ("stopped", "SIGINT", "port-in-use", "wrong-address")
    ]

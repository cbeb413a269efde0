import json
import threading

from refdist._core.base.call_sites import call_site
from refdist._core.processes.board import Ended, Status, ended_workers, lines_of, lines_of_thread, table


def test_a_status_can_be_published():
    status = Status(3, "waits", 7, "all_reduce(SUM)", ("a.py:1, in f",), 2.5, ((6, 1, "x"),))

    assert status.beat == 3
    assert Status.of(status.text()).what == "all_reduce(SUM)"
    assert [6, 1, "x"] == list(Status.of(status.text()).ledger[0])
    assert "waiting in all_reduce(SUM) at a.py:1, in f" == str(Status.of(status.text()))


def test_a_status_says_what_a_worker_does():
    assert "busy at a.py:1, in f, called from b.py:2, in g" == str(
        Status(1, "runs", lines=("a.py:1, in f", "b.py:2, in g"))
    )
    assert "has ended" == str(Status(1, "ended"))


def test_workers_at_one_place_share_a_line():
    text = table({1: "busy", 0: "waiting", 2: "busy", 3: "busy", 4: "busy", 5: "busy"})

    assert "  worker 0: waiting\n  workers 1, 2, 3, 4, ... (5 workers): busy" == text


def test_what_the_launcher_says_is_read(tmp_path):
    (tmp_path / "2.json").write_text(json.dumps({"worker": 2, "code": -9, "signal": "SIGKILL"}))
    (tmp_path / "0.json").write_text(json.dumps({"worker": 0, "code": 3, "signal": None}))
    (tmp_path / "1.stopped.json").write_text("{}")
    (tmp_path / ".3.json").write_text("half")

    found = ended_workers(str(tmp_path))

    assert {2: Ended(-9, "SIGKILL"), 0: Ended(3, None)} == found
    assert ["was ended by SIGKILL", "ended with exit code 3"] == [str(found[2]), str(found[0])]


def test_without_a_launcher_nobody_has_ended(tmp_path):
    assert {} == ended_workers(None)
    assert {} == ended_workers(str(tmp_path / "gone"))


def test_the_line_of_a_thread_is_that_of_the_users_code():
    line = lines_of_thread(threading.get_ident())[0]

    assert line.endswith("in test_the_line_of_a_thread_is_that_of_the_users_code")
    assert () == lines_of_thread(-1)


def test_a_site_is_shown_by_its_innermost_frames():
    assert lines_of(call_site())[0].endswith("in test_a_site_is_shown_by_its_innermost_frames")

from refdist._core.processes.board import ended_workers
from refdist._core.processes.end_notices import EndNotices, OwnError, publish_error


def ended(code, at, signal=None):
    return {"pid": 1, "code": code, "signal": signal, "at": at, "seconds": 1.0}


def test_workers_read_what_the_launcher_writes_in_the_order_in_which_it_happened(tmp_path):
    notices = EndNotices(tmp_path)
    notices.publish_end(0, ended(1, at=30.0))
    notices.publish_stop(3, {"pid": 1, "signal": "SIGSTOP", "at": 5.0})
    notices.publish_end(2, ended(-9, at=10.0, signal="SIGKILL"))
    notices.publish_end(10, ended(0, at=20.0))
    found = ended_workers(str(tmp_path))

    assert [(2, -9, "SIGKILL"), (10, 0, None), (0, 1, None)] == [(index, *how) for index, how in found.items()]


def test_a_stop_is_withdrawn_when_the_worker_goes_on_or_ends(tmp_path):
    notices = EndNotices(tmp_path)
    for worker in (0, 1):
        notices.publish_stop(worker, {"pid": 1, "signal": "SIGSTOP", "at": 5.0})
    notices.withdraw_stop(0)
    notices.withdraw_stop(0)
    notices.publish_end(1, ended(-9, at=10.0))

    assert ["1.json"] == [path.name for path in tmp_path.iterdir()]


def test_the_launcher_reads_which_error_came_first(tmp_path, monkeypatch):
    monkeypatch.setenv("REFDIST_BOARD", str(tmp_path))
    notices = EndNotices(tmp_path)

    assert notices.first_error() is None

    publish_error(7, "ValueError: on purpose")
    first = notices.first_error()
    publish_error(1, "TypeError: later")

    assert (7, "ValueError: on purpose") == (first.worker, first.text)
    assert first == notices.first_error() == OwnError(*first)


def test_without_a_launcher_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("REFDIST_BOARD", raising=False)
    monkeypatch.chdir(tmp_path)
    publish_error(0, "ValueError")

    assert [] == list(tmp_path.iterdir())

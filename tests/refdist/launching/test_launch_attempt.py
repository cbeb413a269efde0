import json
import os
import signal

import pytest

from refdist._core.launching import launch_attempt
from refdist._core.launching.launched_worker import LaunchedWorker
from tests.children import ROOT
from tests.refdist.processes.launches import launch


def last_line(launched):
    return launched.errors.splitlines()[-1]


@pytest.mark.parametrize("workers", [1, 2, 16])
def test_every_worker_knows_the_cluster_and_its_place_in_it(tmp_path, workers):
    program = """
        config = json.loads(os.environ["TF_CONFIG"])
        say(json.dumps([config["task"], sorted(set(config["cluster"]["worker"])), os.environ["REFDIST_LAUNCHED"]]))
    """
    done = launch(tmp_path, program, workers)

    assert (0, "") == (done.exit_code, done.errors)
    width = len(str(workers - 1))
    told = [json.loads(done.said_by(f"{i:{width}}")[0]) for i in range(workers)]
    assert [{"type": "worker", "index": i} for i in range(workers)] == [task for task, _, _ in told]
    assert all(len(cluster) == workers and cluster == told[0][1] for _, cluster, _ in told)
    assert all(address.startswith("127.0.0.1:") for address in told[0][1])


def test_the_coordination_service_listens_before_the_workers_start(tmp_path):
    program = """
        import socket
        host, _, port = os.environ["REFDIST_COORDINATOR"].partition(":")
        socket.create_connection((host, int(port)), timeout=10).close()
        say(host, os.environ.get("TF_CPP_MIN_LOG_LEVEL"))
    """
    done = launch(tmp_path, program, 1, environment={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "7"})

    assert (0, ["127.0.0.1 7"]) == (done.exit_code, done.said_by(0))


def test_a_worker_may_listen_at_its_own_address(tmp_path):
    program = """
        import socket
        host, _, port = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"][me].partition(":")
        socket.create_server((host, int(port))).close()
    """
    assert 0 == launch(tmp_path, program, 2).exit_code


def test_output_and_errors_stay_apart(tmp_path):
    done = launch(tmp_path, "say('out'); print('error', file=sys.stderr)", 2)

    assert ["[worker 0] out", "[worker 1] out"] == sorted(done.output.splitlines())
    assert ["[worker 0] error", "[worker 1] error"] == sorted(done.errors.splitlines())


@pytest.mark.parametrize(
    ("ending", "code", "how"),
    [("sys.exit(3)", 3, "exit code 3"), ("os.kill(os.getpid(), 9)", 137, "killed by SIGKILL")],
)
@pytest.mark.parametrize("worker", [0, 2])
def test_the_first_failure_gives_the_exit_code_and_the_last_line(tmp_path, ending, code, how, worker):
    program = f"""
        if me == {worker}:
            {ending}
        wait_for("{worker}.json", folder=board)
        sys.exit(9)
    """
    done = launch(tmp_path, program, 3)

    assert code == done.exit_code
    assert f"refdist launch: worker {worker} failed: {how} after" in done.errors
    assert f"refdist launch: worker {worker} of 3 failed first: {how} after" in last_line(done)


def test_survivors_read_on_the_board_who_has_ended_and_how(tmp_path):
    program = """
        if me == 0:
            wait_for("[12].json", 2, folder=board)
            say(json.dumps([json.loads((board / f"{i}.json").read_text()) for i in (1, 2)]))
        elif me == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = launch(tmp_path, program, 3)

    killed, fine = json.loads(done.said_by(0)[0])
    assert (1, -9, "SIGKILL") == (killed["worker"], killed["code"], killed["signal"])
    assert (2, 0, None) == (fine["worker"], fine["code"], fine["signal"])
    assert all(
        type(each["at"]) is float and type(each["pid"]) is int and each["seconds"] >= 0 for each in (killed, fine)
    )


def test_a_worker_with_an_error_of_its_own_is_blamed_also_if_others_end_before_it(tmp_path):
    program = """
        sys.path.insert(0, "ROOT")
        if me == 1:
            from refdist._core.processes.end_notices import publish_error
            publish_error(me, "RuntimeError: on purpose")
            wait_for("[02].json", 2, folder=board)
            sys.exit(7)
        wait_for("1.error.json", folder=board)
        sys.exit(3)
    """
    done = launch(tmp_path, program.replace("ROOT", str(ROOT)), 3, python_flags=())

    assert 7 == done.exit_code
    assert "worker 1 of 3 failed first: exit code 7 after" in last_line(done)
    assert last_line(done).endswith(" s, RuntimeError: on purpose.")


def test_an_error_that_came_after_the_first_end_is_not_the_cause(tmp_path):
    program = """
        if me == 1:
            os.kill(os.getpid(), 9)
        wait_for("1.json", folder=board)
        error = {"worker": 0, "text": "ValueError", "at": time.time()}
        (board / ".0").write_text(json.dumps(error))
        (board / ".0").rename(board / "0.error.json")
        sys.exit(3)
    """
    done = launch(tmp_path, program, 2)

    assert 137 == done.exit_code
    assert "worker 1 of 2 failed first: killed by SIGKILL" in last_line(done)


def test_a_worker_that_ends_early_and_well_is_no_failure(tmp_path):
    program = """
        if me == 1:
            wait_for("0.json", folder=board)
    """
    done = launch(tmp_path, program, 2)

    assert (0, "", "") == (done.exit_code, done.output, done.errors)


def test_workers_that_do_not_notice_a_failure_are_ended(tmp_path):
    program = """
        if me == 1:
            wait_for("waits *", 2)
            sys.exit(4)
        if me == 2:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        mark("waits")
        for_ever()
    """
    done = launch(tmp_path, program, 3, grace_seconds=0.01, seconds_to_obey=0.3)

    assert 4 == done.exit_code
    assert "Had to be killed: worker 2." in last_line(done)
    assert [] == done.left_behind()


def test_a_stopped_worker_is_told_of_and_ended_with_the_others(tmp_path):
    program = """
        mark("here")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if me == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
            for_ever()
        wait_for("0.stopped.json", folder=board)
        say((board / "0.stopped.json").read_text())
        sys.exit(6)
    """
    done = launch(tmp_path, program, 2, grace_seconds=1000, seconds_to_obey=0.1)

    assert 6 == done.exit_code
    assert "s, while worker 0 was stopped (SIGSTOP)." in last_line(done)
    told = json.loads(done.said_by(1)[0])
    assert (0, "SIGSTOP") == (told["worker"], told["signal"])
    assert "worker 0 is stopped (SIGSTOP); kill -CONT" in done.errors
    assert [] == done.left_behind()


def test_a_worker_that_goes_on_is_no_longer_called_stopped(tmp_path):
    program = """
        if me == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
            sys.exit()
        wait_for("0.stopped.json", folder=board)
        os.kill(json.loads((board / "0.stopped.json").read_text())["pid"], signal.SIGCONT)
        wait_for("0.json", folder=board)
        say((board / "0.stopped.json").exists())
    """
    done = launch(tmp_path, program, 2)

    assert (0, ["False"]) == (done.exit_code, done.said_by(1))


def test_what_a_worker_has_started_ends_with_it_also_if_it_holds_the_output_open(tmp_path, monkeypatch):
    monkeypatch.setattr(launch_attempt, "SECONDS_FOR_LEFTOVERS", 0.02)
    program = """
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            mark("grandchild")
            for_ever()
        wait_for("grandchild *", workers)
        say("done")
    """
    done = launch(tmp_path, program, 2)

    assert (0, ["done"], ["done"]) == (done.exit_code, done.said_by(0), done.said_by(1))
    assert ["grandchild", "grandchild"] == done.marks()
    assert [] == done.left_behind()


def test_a_daemon_that_left_its_session_ends_too(tmp_path, monkeypatch):
    monkeypatch.setattr(launch_attempt, "SECONDS_FOR_LEFTOVERS", 0.02)
    program = """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                mark("daemon")
                for_ever()
            os._exit(0)
        wait_for("daemon *", workers)
    """
    done = launch(tmp_path, program, 2)

    assert (0, ["daemon", "daemon"]) == (done.exit_code, done.marks())
    assert [] == done.left_behind()


def test_a_worker_may_close_its_output_and_go_on(tmp_path):
    program = """
        os.close(1), os.close(2)
        mark("closed")
        wait_for("closed *", 2)
        os._exit(5 if me else 0)
    """
    assert 5 == launch(tmp_path, program, 2).exit_code


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_request_to_end_is_passed_on_and_nothing_is_left(tmp_path, number, code):
    program = f"""
        asked = signal.SIGINT if {number!r} == "SIGINT" else signal.SIGTERM
        signal.signal(asked, lambda *_: (mark("saved"), os._exit(0)))
        if os.fork() == 0:
            mark("grandchild")
            for_ever()
        mark("ready")
        if me == 0:
            wait_for("ready *", workers)
            wait_for("grandchild *", workers)
            os.kill(launcher, signal.{number})
        for_ever()
    """
    before = signal.getsignal(signal.SIGTERM)
    done = launch(tmp_path, program, 2)

    assert code == done.exit_code
    assert f"refdist launch: ended by {number}." == last_line(done)
    assert 4 == done.marks().count("saved")
    assert [] == done.left_behind()
    assert before == signal.getsignal(signal.SIGTERM)


def test_asked_twice_it_waits_for_nobody(tmp_path):
    program = """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: mark("no"))
        mark("ready")
        if me == 0:
            wait_for("ready *", workers)
            os.kill(launcher, signal.SIGINT)
            wait_for("no *", workers)
            os.kill(launcher, signal.SIGINT)
        for_ever()
    """
    done = launch(tmp_path, program, 2, grace_seconds=1000, seconds_to_obey=1000)

    assert 130 == done.exit_code
    assert "refdist launch: ended by SIGINT. Had to be killed: worker 0, 1." == last_line(done)
    assert [] == done.left_behind()


def test_ctrl_c_in_the_middle_of_the_start_starts_nobody_else(tmp_path, monkeypatch):
    class Interrupted(LaunchedWorker):
        def __init__(self, index, command, environment):
            super().__init__(index, command, environment)
            if index == 1:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(launch_attempt, "LaunchedWorker", Interrupted)
    done = launch(tmp_path, "mark(me); for_ever()", 4, restarts=3)

    assert 130 == done.exit_code
    assert set(done.marks()) <= {"0", "1"}
    assert [] == done.left_behind()


def test_a_worker_that_cannot_be_started_ends_the_others(tmp_path, monkeypatch):
    class Refused(LaunchedWorker):
        def __init__(self, index, command, environment):
            if index == 1:
                raise BlockingIOError(11, "Resource temporarily unavailable")
            super().__init__(index, command, environment)

    monkeypatch.setattr(launch_attempt, "LaunchedWorker", Refused)
    done = launch(tmp_path, "mark(me); for_ever()", 2)

    assert 126 == done.exit_code
    assert "worker 1 of 2 could not be started" in last_line(done)
    assert [] == done.left_behind()


def test_an_error_of_the_launcher_itself_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(self):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(launch_attempt.Attempt, "_take_note", fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        launch(tmp_path, "mark(me); for_ever()", 2)

    made = [path.name.split() for path in tmp_path.glob("marks 0/*")]
    assert all(not os.path.exists(f"/proc/{number}") for _, number in made)


def test_a_run_ends_when_nobody_reads_its_output(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = launch(tmp_path, "say('hello'); mark(me); for_ever()", 2, output=writing)
    os.close(writing)

    assert 141 == done.exit_code
    assert "nobody reads the output any more" in last_line(done)
    assert [] == done.left_behind()


@pytest.mark.parametrize("request_to_end", [True, False])
def test_output_that_nobody_takes_does_not_keep_a_launch_that_is_to_end(tmp_path, request_to_end, monkeypatch):
    monkeypatch.setattr(launch_attempt, "SECONDS_FOR_LEFTOVERS", 0.02)
    reading, writing = os.pipe()
    program = f"""
        os.set_blocking(1, False)
        try:
            while True:
                os.write(1, b"x" * 1000 + b"\\n")
        except BlockingIOError:
            mark("full")
        if {request_to_end}:
            os.kill(launcher, signal.SIGTERM)
        for_ever()
    """
    limit = {} if request_to_end else {"timeout_seconds": 0.5}
    done = launch(tmp_path, program, 1, output=writing, seconds_to_obey=0.1, **limit)
    os.close(reading)
    os.close(writing)

    assert (143 if request_to_end else 124) == done.exit_code
    assert [] == done.left_behind()

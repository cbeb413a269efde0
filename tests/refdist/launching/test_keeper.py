import os
import subprocess
import sys

from refdist._core.launching import keeper

WAIT = "import os, signal; print(os.getpid(), flush=True); signal.pause()"


def waiting(**environment):
    command = [sys.executable, "-S", "-c", WAIT]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    return process


def close(process):
    process.kill()
    process.stdout.close()
    return process.wait()


def test_only_marked_processes_are_ended():
    marked, other = waiting(SOME_MARK="/tmp/a"), waiting(SOME_MARK="/tmp/ab")
    keeper.end_marked("SOME_MARK=/tmp/a")

    assert -9 == marked.wait()
    assert other.poll() is None
    close(marked)
    close(other)


def test_a_keeper_ends_what_it_still_watches_when_the_launcher_is_gone(tmp_path):
    folder = tmp_path / "board"
    folder.mkdir()
    kept, gone, daemon = waiting(), waiting(), waiting(OTHER_MARK=str(folder))
    with keeper.Keeper(f"OTHER_MARK={folder}", str(folder)) as one:
        one.watch(kept.pid)
        one.watch(gone.pid)
        one.forget(gone.pid)

    assert (-9, -9) == (kept.wait(), daemon.wait())
    assert gone.poll() is None
    assert not folder.exists()
    for process in (kept, gone, daemon):
        close(process)


def test_a_launch_goes_on_without_its_keeper(tmp_path):
    with keeper.Keeper("A=b", str(tmp_path)) as one:
        one._process.kill()
        one._process.wait()
        one.watch(os.getpid())
        one.forget(os.getpid())

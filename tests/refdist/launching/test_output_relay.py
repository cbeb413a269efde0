import os

import pytest

from refdist._core.launching.output_relay import OutputRelay, prefix_of, wants_colour, write_whole
from tests.refdist.processes.launches import launch


def test_lines_are_whole_whatever_comes_between(tmp_path):
    program = """
        for part in (b"a", b"b\\nc", b"", b"d\\n\\n", b"last"):
            os.write(1, part)
    """
    done = launch(tmp_path, program, 1)

    assert "[worker 0] ab\n[worker 0] cd\n[worker 0] \n[worker 0] last\n" == done.output


def test_what_gloo_says_about_its_ranks_is_dropped(tmp_path):
    program = """
        say("[Gloo] Rank 0 is connected to 3 peer ranks.\\nkept [Gloo] Rank 1\\n[Gloo] other")
        say("2 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3")
        os.write(1, b"[Gloo] Rank 1 is")
    """
    done = launch(tmp_path, program, 1)

    assert ["kept [Gloo] Rank 1", "[Gloo] other"] == done.said_by(0)


def test_what_gloo_says_in_several_threads_at_once_is_dropped_to_its_last_piece(tmp_path):
    program = """
        say("first")
        say("[Gloo] Rank [Gloo] Rank 0 is connected to 1")
        say("3 peer ranks. Expected number of connected peer ranks is : 3")
        say("17")
        say("")
        say("[Gloo] Rank 0[Gloo] Rank 1 is connected to  is connected to 33 peer ranks. ")
        say("")
        say("3")
        say("3 peers")
    """
    done = launch(tmp_path, program, 1)

    assert ["first", "17", "", "3", "3 peers"] == done.said_by(0)


def test_a_relay_that_has_ended_writes_to_no_pipe_that_somebody_has_opened_since():
    relay = OutputRelay(lambda: None)
    relay.start()
    relay.finish(2, "")
    relay.join()
    pipes = [os.pipe() for _ in range(3)]  # which get the numbers that are free
    relay.say(2, "too late")
    for reading, _ in pipes:
        os.set_blocking(reading, False)
        with pytest.raises(BlockingIOError):
            os.read(reading, 1)
    for end in (end for pipe in pipes for end in pipe):
        os.close(end)


def test_bytes_that_are_no_text_are_replaced(tmp_path):
    done = launch(tmp_path, "os.write(1, b'caf\\xc3\\xa9 \\xff\\xfe\\n\\xc3\\n')", 1)

    assert ["café \ufffd\ufffd", "\ufffd"] == done.said_by(0)


def test_ten_megabytes_arrive_as_lines_and_as_one_line(tmp_path):
    program = """
        if me == 0:
            sys.stdout.write("".join(f"{i:099d}\\n" for i in range(100_000)))
        else:
            sys.stdout.write("x" * 10_000_000)
    """
    done = launch(tmp_path, program, 2)

    assert 0 == done.exit_code
    assert [f"{i:099d}" for i in range(100_000)] == done.said_by(0)
    assert [10_000_000] == list(map(len, done.said_by(1)))


def test_workers_have_names_of_one_width_and_colours_on_a_terminal():
    assert [b"[worker  9] ", b"[worker 10] "] == [prefix_of(i, 11, coloured=False) for i in (9, 10)]
    assert b"\x1b[33m[worker 1]\x1b[0m " == prefix_of(1, 2, coloured=True)


def test_colours_are_for_terminals_of_those_who_like_them(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    ends = os.openpty()
    pipe = os.pipe()

    assert [True, False] == [wants_colour(ends[1]), wants_colour(pipe[1])]

    monkeypatch.setenv("NO_COLOR", "1")

    assert not wants_colour(ends[1])
    for each in (*ends, *pipe):
        os.close(each)


def test_everything_is_written_also_where_writing_does_not_wait():
    import threading

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data = os.urandom(1 << 20)
    found = bytearray()

    def read():
        while chunk := os.read(reading, 1 << 16):
            found.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    write_whole(writing, data)
    os.close(writing)
    reader.join()
    os.close(reading)

    assert data == found


def test_writing_to_nobody_is_an_error():
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        write_whole(writing, b"x")
    os.close(writing)

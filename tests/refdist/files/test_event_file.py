"""Who writes event files, and with which step."""

import subprocess
import sys

import pytest

import refdist as tf
from tests.refdist.files.event_files import nothing_set, values, writer

__all__ = ["nothing_set", "writer"]


def test_steps_come_from_the_nearest_place(writer, tmp_path):
    count = tf.Variable(4, dtype=tf.int64)
    tf.summary.experimental.set_step(7)
    with writer.as_default():
        tf.summary.scalar("x", 1.0)
        with writer.as_default(step=9):
            tf.summary.scalar("x", 1.0)
            tf.summary.experimental.set_step(count)
            count.assign_add(1)
            tf.summary.scalar("x", 1.0)
            tf.summary.scalar("x", 1.0, step=1)

    assert 7 == tf.summary.experimental.get_step()
    assert [7, 9, 5, 1] == [step for step, _, _ in values(tmp_path)]


def test_a_closed_writer_is_told(writer):
    writer.init()
    writer.close()
    writer.close()

    with pytest.raises(RuntimeError, match="create_file_writer"):
        writer.as_default()


def test_without_a_writer_nothing_is_recorded():
    assert not tf.summary.scalar("x", 1.0, step=0)
    assert not tf.summary.should_record_summaries()
    tf.summary.flush()
    with tf.summary.create_noop_writer().as_default():
        assert tf.summary.scalar("x", 1.0, step=0)


def test_the_name_of_a_file_is_that_of_tensorflow(tmp_path):
    for _ in range(2):
        tf.summary.create_file_writer(tmp_path / "logs", filename_suffix=".sfx").close()
    names = sorted(path.name.split(".") for path in (tmp_path / "logs").iterdir())

    assert 2 == len(names)
    assert [["events", "out", "tfevents"]] * 2 == [name[:3] for name in names]
    assert ["sfx"] * 2 == [name[-1] for name in names]


def test_a_writer_that_nobody_closed_is_finished_at_exit(tmp_path):
    program = (
        "import sys, refdist as tf\n"
        "writer = tf.summary.create_file_writer(sys.argv[1])\n"
        "with writer.as_default(): tf.summary.scalar('x', 1.5, step=2)\n"
        "import builtins, refdist._core.files.event_file as module\n"
        "builtins.kept = writer, module  # which Python takes apart before what is built in\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)

    assert not done.stderr
    assert [2] == [step for step, _, _ in values(tmp_path)]

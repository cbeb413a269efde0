import time

import pytest

import refdist as tf


def saved(folder, count=1):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    return [checkpoint.save(str(folder / "p")) for _ in range(count)][-1]


def test_the_latest_checkpoint_of_a_folder(tmp_path):
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    path = saved(tmp_path, 2)
    state = tf.train.get_checkpoint_state(str(tmp_path))

    assert path == str(tmp_path / "p-2") == tf.train.latest_checkpoint(str(tmp_path))
    assert (path, [path]) == (state.model_checkpoint_path, state.all_model_checkpoint_paths)
    (tmp_path / "p-2.safetensors").unlink()
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


def test_a_folder_can_be_moved_and_a_relative_name_be_used(tmp_path, monkeypatch):
    (tmp_path / "old").mkdir()
    saved(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    monkeypatch.chdir(tmp_path)

    assert str(tmp_path / "new" / "p-1") == tf.train.latest_checkpoint(str(tmp_path / "new"))
    assert "new/p-1" == tf.train.latest_checkpoint("new")
    tf.train.Checkpoint(v=tf.Variable(0.0)).save("here")
    assert "./here-1" == tf.train.latest_checkpoint(".")


def test_what_write_has_written_is_not_the_latest(tmp_path):
    tf.train.Checkpoint(v=tf.Variable(1.0)).write(str(tmp_path / "p"))

    assert tf.train.latest_checkpoint(str(tmp_path)) is None


def test_a_damaged_file_is_told(tmp_path):
    (tmp_path / "checkpoint").write_text("nonsense\n")
    with pytest.raises(ValueError, match="damaged"):
        tf.train.latest_checkpoint(str(tmp_path))


def test_new_checkpoints_are_waited_for(tmp_path, monkeypatch):
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            saved(tmp_path, 2)

    now = iter(range(1000))
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "time", lambda: next(now))
    asked = []
    seen = tf.train.checkpoints_iterator(
        str(tmp_path), min_interval_secs=30, timeout=9, timeout_fn=lambda: asked.append(1) or len(asked) > 1
    )
    first = saved(tmp_path)

    assert [first, str(tmp_path / "p-2")] == list(seen)
    assert 2 == len(asked)
    assert 20 < slept[0] < 30  # the interval, of which some has passed
    assert [first.replace("p-1", "p-2")] == list(tf.train.checkpoints_iterator(str(tmp_path), timeout=0))

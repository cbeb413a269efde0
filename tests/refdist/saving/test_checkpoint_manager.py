import os
import time

import pytest

import refdist as tf


class Clock:
    def __init__(self, monkeypatch):
        self.now = 1_000_000.0
        monkeypatch.setattr(time, "time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def managed(folder, most, **options):
    return tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), str(folder), most, **options)


def names(manager):
    return [os.path.basename(path) for path in manager.checkpoints]


def files(folder):
    return sorted(os.listdir(folder))


def test_the_last_few_are_kept_and_the_file_says_which(tmp_path, clock):
    manager = managed(tmp_path, 2)
    saved = [manager.save() for _ in range(3)]

    assert [str(tmp_path / f"ckpt-{number}") for number in (1, 2, 3)] == saved
    assert saved[1:] == manager.checkpoints
    assert saved[-1] == manager.latest_checkpoint == tf.train.latest_checkpoint(str(tmp_path))
    assert ["checkpoint", "ckpt-2.safetensors", "ckpt-3.safetensors"] == files(tmp_path)
    # As TensorFlow 2.21 writes it.
    assert [
        'model_checkpoint_path: "ckpt-3"',
        'all_model_checkpoint_paths: "ckpt-2"',
        'all_model_checkpoint_paths: "ckpt-3"',
        "all_model_checkpoint_timestamps: 1000000.0",
        "all_model_checkpoint_timestamps: 1000000.0",
        "last_preserved_timestamp: 999999.0",
    ] == (tmp_path / "checkpoint").read_text().splitlines()


def test_steps_decide_when_it_is_saved_as_in_tensorflow(tmp_path):
    step = tf.Variable(0)
    manager = managed(tmp_path, 2, step_counter=step, checkpoint_interval=2)
    answers = []
    for number in range(6):
        step.assign(number)
        answers.append(manager.save() is not None)
    others = [
        manager.save(checkpoint_number=77),
        manager.save(check_interval=False),
        manager.save(checkpoint_number=step, check_interval=False),  # it was saved in this step already
    ]

    # What TensorFlow 2.21 returned for the same calls.
    assert [True, False, True, False, True, False] == answers
    assert [None, str(tmp_path / "ckpt-4"), None] == others
    assert ["ckpt-3", "ckpt-4"] == names(manager)
    assert 4 == manager.checkpoint.save_counter.numpy()


def test_a_manager_goes_on_in_the_folder_of_another(tmp_path):
    first = managed(tmp_path, 2)
    for _ in range(4):
        first.save()
    second = managed(tmp_path, 3)
    found = names(second)
    second.save()  # its counter was not restored
    anew = names(second)
    restored = second.restore_or_initialize()
    second.save()

    # What TensorFlow 2.21 returned for the same calls.
    assert (["ckpt-3", "ckpt-4"], ["ckpt-3", "ckpt-4", "ckpt-1"]) == (found, anew)
    assert str(tmp_path / "ckpt-1") == restored
    assert ["ckpt-4", "ckpt-1", "ckpt-2"] == names(second)


def test_the_first_start_initializes_and_the_next_one_restores(tmp_path):
    def started(value):
        begun = []
        variable, step = tf.Variable(value), tf.Variable(0)
        manager = tf.train.CheckpointManager(
            tf.train.Checkpoint(v=variable, step=step),
            str(tmp_path / "new"),
            max_to_keep=None,
            step_counter=step,
            checkpoint_interval=5,
            init_fn=lambda: begun.append(True),
        )
        return manager.restore_or_initialize(), begun, variable, manager, step

    path, begun, variable, manager, step = started(1.0)
    step.assign(7)
    assert (None, [True]) == (path, begun)
    assert manager.checkpoint.restore(manager.latest_checkpoint).expect_partial()  # of None
    saved = manager.save()
    path, begun, variable, manager, step = started(0.0)

    assert (saved, [], 1.0) == (path, begun, variable.numpy())
    assert manager.save() is None  # it was saved in the step that was restored
    assert (str(tmp_path / "new"), 5) == (manager.directory, manager.checkpoint_interval)


def test_some_stay_because_of_their_age(tmp_path, clock):
    manager = managed(tmp_path, 1, keep_checkpoint_every_n_hours=2)
    for _ in range(6):
        clock.now += 3600
        manager.save()
    manager.sync()

    assert ["ckpt-6"] == names(manager)
    assert ["checkpoint", "ckpt-2.safetensors", "ckpt-4.safetensors", "ckpt-6.safetensors"] == files(tmp_path)


def test_a_file_that_somebody_has_deleted_is_no_matter(tmp_path):
    manager = managed(tmp_path, 1)
    manager.save()
    os.remove(tmp_path / "ckpt-1.safetensors")
    manager.save()

    assert ["ckpt-2"] == names(manager)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_to_keep": 0}, "max_to_keep=0; expected at least 1"),
        ({"max_to_keep": 3, "checkpoint_interval": 3}, "no step_counter"),
    ],
)
def test_wrong_arguments_are_told(tmp_path, wrong, words):
    with pytest.raises(ValueError, match=words):
        tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), str(tmp_path), **wrong)
    with pytest.raises(TypeError, match=r"expected a tf\.train\.Checkpoint"):
        tf.train.CheckpointManager(3, str(tmp_path), 3)


@pytest.mark.parametrize("directory", [None, 5, ["a"]])
def test_a_folder_that_is_no_path_is_refused(directory):
    with pytest.raises(TypeError, match=r"CheckpointManager\(\) got .*; expected a path"):
        tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), directory, max_to_keep=1)


@pytest.mark.parametrize("most", [[1], "3", "a"])
def test_what_is_no_number_of_files_to_keep_is_refused(tmp_path, most):
    with pytest.raises(ValueError, match=r"CheckpointManager\(\) got max_to_keep=.*; expected at least 1, or None"):
        tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), str(tmp_path), max_to_keep=most)

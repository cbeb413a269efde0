"""A checkpoint is whole wherever it is interrupted: by Ctrl-C between any two instructions, or by a system call that fails."""

import errno
import os
import warnings

import pytest

import refdist as tf
from tests import interrupts

OLD, NEW = [1.0, 2.0], [3.0, 4.0]

PLACES = (*interrupts.PACKAGES, "pathlib")


class Model(tf.Module):
    """Has a variable with equal copies, and one with copies of their own."""

    def __init__(self, values):
        super().__init__()
        with tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"]).scope():
            self.mirrored = tf.Variable(values)
            self.own = tf.Variable(
                values,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )

    def state(self):
        copies = [copy for variable in self.variables for copy in variable.all_copies]
        return [copy.numpy().tolist() for copy in copies]


def interrupted(action):
    """Call a function again and again, each time interrupted one place later, until it ends before that."""
    number = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # a file that was just opened is closed when it is forgotten
        while interrupts.interrupted(action, number, PLACES):
            yield
            number += 1
    assert number > 30


def content(path):
    """What a checkpoint has, read by a program that was not interrupted."""
    variable = tf.Variable([0.0, 0.0])
    tf.train.Checkpoint(v=variable).restore(path).assert_consumed()
    return variable.numpy().tolist()


def test_a_save_that_is_interrupted_leaves_the_old_checkpoint_or_the_new_one(tmp_path):
    with tf.using("host", gpus=2):
        path, file, variable = str(tmp_path / "p"), tmp_path / "p.safetensors", Model(OLD).own
    checkpoint = tf.train.Checkpoint(v=variable)
    checkpoint.write(path)
    old = file.read_bytes()
    variable.assign(NEW)  # the sum of its copies
    seen = []
    for _ in interrupted(lambda: checkpoint.write(path)):
        assert ["p.safetensors"] == os.listdir(tmp_path)
        if file.read_bytes() != old:
            seen.append(content(path))
            file.write_bytes(old)

    assert [NEW] * len(seen) == seen != []
    assert NEW == content(path)


def test_a_restore_that_is_interrupted_gives_all_values_or_none(tmp_path):
    with tf.using("host", gpus=2):
        model, saved, late = Model(OLD), Model(NEW), tf.Variable(0.0)
        before, after = model.state(), saved.state()
        saved.late = tf.Variable(5.0)
        path = tf.train.Checkpoint(model=saved).save(str(tmp_path / "p"))
        checkpoint = tf.train.Checkpoint(model=model)
        seen = []
        for _ in interrupted(lambda: checkpoint.restore(path)):  # noqa: B023 - the newest one is meant
            state = model.state()
            seen.append(state == after)
            assert state in (before, after)
            assert seen[-1] == (checkpoint.save_counter.numpy() == 1)
            if seen[-1]:
                model = Model(OLD)
                checkpoint = tf.train.Checkpoint(model=model)
            else:
                model.late = late  # for which nothing waits
                del model.late
                assert 0.0 == late.numpy()

    assert {True, False} == set(seen)
    assert after == model.state()


def test_a_value_that_waits_is_given_or_waits_on_if_it_is_interrupted(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(5.0)).save(str(tmp_path / "p"))
    checkpoint, variable = tf.train.Checkpoint(), tf.Variable(0.0)
    status = checkpoint.restore(path)
    for _ in interrupted(lambda: setattr(checkpoint, "v", variable)):
        if variable.numpy() == 5.0:
            status.assert_consumed()
            variable.assign(0.0)
            status = checkpoint.restore(path)
            assert 5.0 == variable.numpy()
            break
        with pytest.raises(AssertionError, match="The values v found no variable"):
            status.assert_consumed()


CALLS = ["open", "write", "flush", "fsync", "close", "replace"]


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", CALLS)
def test_a_save_whose_system_call_fails_leaves_the_old_checkpoint_or_the_new_one(
    tmp_path, monkeypatch, call, done, failure
):
    path, variable = str(tmp_path / "p"), tf.Variable(OLD)
    checkpoint = tf.train.Checkpoint(v=variable)
    checkpoint.write(path)
    variable.assign(NEW)
    plant(monkeypatch, call, done, failure)
    with pytest.raises(type(failure)):
        checkpoint.write(path)
    monkeypatch.undo()

    assert ["p.safetensors"] == os.listdir(tmp_path)
    assert (NEW if (call, done) == ("replace", True) else OLD) == content(path)


def plant(monkeypatch, call, done, failure):
    """Let a system call fail before it has done anything, or after it has done its work, a write half of it."""

    def failing(original, part=lambda arguments: arguments):
        def function(*arguments):
            if done:
                original(*part(arguments))
            raise failure

        return function

    if call in ("fsync", "replace"):
        monkeypatch.setattr(os, call, failing(getattr(os, call)))
        return
    original = open

    def opened(*arguments):
        if call == "open":
            return failing(lambda *given: original(*given).close())(*arguments)
        return File(original(*arguments))

    class File:
        """A file of which one call fails."""

        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            half = (lambda given: (given[0][: len(given[0]) // 2],)) if name == "write" else (lambda given: given)
            return failing(getattr(self.file, name), half) if name == call else getattr(self.file, name)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            failed = failing(self.file.close) if call == "close" else self.file.close
            try:
                failed()
            finally:
                self.file.close()

    monkeypatch.setattr("refdist._core.saving.array_file.open", opened, raising=False)


def test_a_folder_that_cannot_be_synchronized_has_the_checkpoint_all_the_same(tmp_path, monkeypatch):
    original, numbers = os.fsync, []

    def refusing(number):
        numbers.append(number)
        if os.path.isdir(f"/proc/self/fd/{number}"):
            raise OSError(errno.EINVAL, "Invalid argument")
        original(number)

    monkeypatch.setattr(os, "fsync", refusing)
    path = tf.train.Checkpoint(v=tf.Variable(OLD)).write(str(tmp_path / "p"))

    assert 2 == len(numbers)
    assert OLD == content(path)

"""A checkpoint that is torn, damaged or missing is told, and the one before it is used."""

import os
import pathlib
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf

SAVED = 3  # how many checkpoints there are


class Program:
    """A program that keeps checkpoints: made again, it is the program after a restart."""

    def __init__(self, folder, **options):
        self.weights, self.step = tf.Variable([0.0, 0.0]), tf.Variable(0)
        self.iterator = iter(tf.data.Dataset.range(100))
        self.checkpoint = tf.train.Checkpoint(weights=self.weights, step=self.step, iterator=self.iterator)
        self.manager = tf.train.CheckpointManager(self.checkpoint, str(folder), **{"max_to_keep": SAVED, **options})

    def train(self):
        self.step.assign_add(1)
        self.weights.assign_add([1.0, int(next(self.iterator))])

    def state(self):
        return int(self.step), self.weights.numpy().tolist(), self.iterator.state(), int(self.checkpoint.save_counter)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The files that a program has left, by name; and its state at each of them, the last one first."""
    folder = tmp_path_factory.mktemp("kept")
    program, states = Program(folder), []
    for _ in range(SAVED):
        program.train()
        program.manager.save()
        states.insert(0, program.state())
    return {file.name: file.read_bytes() for file in folder.iterdir()}, states


def laid_out(folder, files, **changed):
    """Put files into a folder, some of them changed: `_3=data` is what ckpt-3 has, and None removes it."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    for number, data in changed.items():
        file = folder / f"ckpt-{number[1:]}.safetensors"
        file.unlink() if data is None else file.write_bytes(data)
    return folder


def damaged(draw, data):
    """Cut a file off at any byte, or change some of its bytes."""
    if draw(generators.booleans()):
        return data[: draw(generators.integers(0, len(data) - 1))]
    changed = bytearray(data)
    for _ in range(draw(generators.integers(1, 3))):
        changed[draw(generators.integers(0, len(data) - 1))] ^= draw(generators.integers(1, 255))
    return bytes(changed)


def error_of(restore):
    """What a restore says is lost; None if nothing is."""
    try:
        restore()
    except tf.errors.DataLossError as error:
        return str(error)
    return None


@settings(max_examples=25)
@given(data=generators.data())
def test_wherever_the_last_one_is_torn_or_changed_the_one_before_it_is_used(kept, tmp_path_factory, data):
    files, states = kept
    torn = damaged(data.draw, files["ckpt-3.safetensors"])
    folder = laid_out(tmp_path_factory.mktemp("torn"), files, _3=torn)
    program = Program(folder)
    before = program.state()
    direct = Program(folder)
    told = error_of(lambda: direct.checkpoint.restore(str(folder / "ckpt-3")))
    if told is None:
        assert states[0] == direct.state(), "what is not told has changed nothing"
        return
    assert all(part in told for part in ("ckpt-3.safetensors", "; expected ", "Use an older checkpoint"))
    assert before == direct.state(), "nothing was half restored"

    for use in (tf.train.latest_checkpoint, lambda _: Program(folder).manager.latest_checkpoint):
        with pytest.warns(
            UserWarning, match=r"ckpt-3\.safetensors cannot be read.*ckpt-2\.safetensors, from before it, is used"
        ):
            assert str(folder / "ckpt-2") == use(str(folder))
    with pytest.warns(
        UserWarning, match=r"ckpt-3\.safetensors cannot be read.*ckpt-2\.safetensors, from before it, is used"
    ):
        path = program.manager.restore_or_initialize()
    assert (str(folder / "ckpt-2"), states[1]) == (path, program.state())

    program.train()  # and what it saves then takes the place of the damaged one
    assert str(folder / "ckpt-3") == program.manager.save()
    again = Program(folder)
    assert str(folder / "ckpt-3") == again.manager.restore_or_initialize()
    assert states[0] == again.state() == program.state()


@pytest.mark.parametrize("third", [None, b""])
@pytest.mark.parametrize("second", [None, b"", b"\x00" * 100])
def test_missing_and_empty_files_are_passed_over(kept, tmp_path, third, second):
    files, states = kept
    program = Program(laid_out(tmp_path, files, _3=third, _2=second))
    with pytest.warns(
        UserWarning, match=r"ckpt-3\.safetensors.*ckpt-2\.safetensors cannot be read.*ckpt-1\.safetensors, from"
    ):
        program.manager.restore_or_initialize()

    assert states[2] == program.state()
    assert ["ckpt-1"] == [os.path.basename(path) for path in program.manager.checkpoints]


def test_a_program_none_of_whose_checkpoints_is_whole_does_not_begin_anew(kept, tmp_path):
    files, _ = kept
    begun = []
    program = Program(laid_out(tmp_path, files, _1=b"", _2=b"", _3=b"torn"), init_fn=lambda: begun.append(1))
    before = program.state()
    with pytest.raises(tf.errors.DataLossError, match=r"ckpt-3\.safetensors is damaged") as caught:
        program.manager.restore_or_initialize()

    assert "ckpt-1.safetensors is damaged" in caught.value.__notes__[0]
    assert ([], before) == (begun, program.state())
    assert str(tmp_path / "ckpt-3") == program.manager.latest_checkpoint  # whose restore tells what is wrong with it
    laid_out(tmp_path, files, _1=None, _2=None, _3=None)
    with pytest.raises(tf.errors.NotFoundError, match=r"ckpt-3\.safetensors does not exist"):
        Program(tmp_path).manager.restore_or_initialize()
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


def test_one_that_was_kept_for_its_age_stands_in_for_the_last(kept, tmp_path):
    files, states = kept
    state = tf.train.get_checkpoint_state(str(laid_out(tmp_path, files, _3=b"")))
    listed = type(state)(state.model_checkpoint_path, [state.model_checkpoint_path], [9e9], 1.0)
    listed.write(str(tmp_path))  # it names the last one only, as with max_to_keep=1
    program = Program(tmp_path, max_to_keep=1)
    with pytest.warns(UserWarning, match=r"ckpt-2\.safetensors, from before it, is used"):
        program.manager.restore_or_initialize()

    assert states[1] == program.state()


def test_a_list_of_checkpoints_that_is_damaged_is_made_again_from_the_files(kept, tmp_path):
    files, states = kept
    laid_out(
        tmp_path,
        {**files, "checkpoint": b"model_checkpoint_path", "ckpt-x.safetensors": b"", "other-9.safetensors": b""},
    )
    with pytest.warns(UserWarning, match=r"checkpoint is damaged.*ckpt-3, .*ckpt-2, .*ckpt-1\."):
        program = Program(tmp_path)
    program.manager.restore_or_initialize()
    assert states[0] == program.state()
    program.manager.save()

    assert str(tmp_path / "ckpt-4") == Program(tmp_path).manager.restore_or_initialize()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "checkpoint").write_text("")
    with pytest.warns(UserWarning, match=r"say which checkpoints there are: none"):
        assert Program(tmp_path / "new").manager.restore_or_initialize() is None


def test_one_that_is_damaged_after_it_was_saved_is_told_by_the_same_manager(tmp_path):
    program = Program(tmp_path)
    for _ in range(2):
        program.train()
        program.manager.save()
    (tmp_path / "ckpt-2.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match=r"ckpt-1\.safetensors, from before it, is used"):
        program.manager.restore_or_initialize()

    assert (1, [1.0, 0.0]) == program.state()[:2]
    assert [str(tmp_path / "ckpt-1")] == program.manager.checkpoints


def test_checkpoints_that_no_manager_has_saved_are_used_and_never_deleted(tmp_path):
    program = Program(tmp_path)
    for _ in range(2):
        program.checkpoint.save(str(tmp_path / "ckpt"))
    program = Program(tmp_path, max_to_keep=1)

    # What TensorFlow 2.21 returned for the same calls.
    assert ([], str(tmp_path / "ckpt-2")) == (program.manager.checkpoints, program.manager.latest_checkpoint)
    program.manager.restore_or_initialize()
    for _ in range(2):
        program.manager.save()
    assert ["checkpoint", *(f"ckpt-{number}.safetensors" for number in (1, 2, 4))] == sorted(os.listdir(tmp_path))
    pathlib.Path(tmp_path / "ckpt-4.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match=r"ckpt-2\.safetensors, from before it, is used"):
        tf.train.latest_checkpoint(str(tmp_path))


def test_a_number_of_ones_own_counts_as_a_save_as_in_tensorflow(tmp_path):
    manager = Program(tmp_path).manager
    saved = [os.path.basename(manager.save(checkpoint_number=number)) for number in (5, 9)]

    # What TensorFlow 2.21 returned for the same calls.
    assert (["ckpt-5", "ckpt-9"], 2) == (saved, int(manager.checkpoint.save_counter))
    assert "ckpt-3" == os.path.basename(manager.save())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(tmp_path / "ckpt-3") == Program(tmp_path).manager.restore_or_initialize()


def test_a_position_that_does_not_fit_leaves_the_variables_as_they_were(kept, tmp_path):
    files, _ = kept
    program = Program(laid_out(tmp_path, files))
    program.checkpoint.iterator = iter(tf.data.Dataset.range(2))
    before = int(program.step), program.weights.numpy().tolist(), program.checkpoint.iterator.state()
    with pytest.raises(ValueError, match=r"after 3 of .*; expected at most 2"):
        program.manager.restore_or_initialize()

    assert before == (int(program.step), program.weights.numpy().tolist(), program.checkpoint.iterator.state())
    assert 0 == int(program.checkpoint.save_counter)

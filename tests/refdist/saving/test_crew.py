"""Several workers save one checkpoint: one of them writes it, and the others learn whether it has."""

import json
import os

import pytest

import refdist as tf
from refdist._core.saving import checkpoint_manager, crew
from refdist.cluster import run_workers


@pytest.fixture(autouse=True)
def _devices():
    with tf.using("simulator", gpus=1):
        yield


@pytest.fixture
def written(monkeypatch):
    """Which worker has written which file."""
    seen, write = [], checkpoint_manager.write_arrays

    def noted(file, arrays):
        seen.append((me(), file.name if file.parent.name == "all" else f"{file.parent.name}/{file.name}"))
        write(file, arrays)

    monkeypatch.setattr(checkpoint_manager, "write_arrays", noted)
    return seen


def me():
    return json.loads(os.environ["TF_CONFIG"])["task"]["index"]


def managed(folder, **options):
    with tf.distribute.MultiWorkerMirroredStrategy().scope():
        variable = tf.Variable(1.0)
    checkpoint = tf.train.Checkpoint(v=variable)
    return variable, tf.train.CheckpointManager(checkpoint, str(folder), **{"max_to_keep": 2, **options})


def names(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("count", [2, 3])
def test_one_worker_writes_what_all_have_and_all_know_of_it(tmp_path, written, count):
    def program(index):
        _, manager = managed(tmp_path / "all")
        saved = [manager.save() for _ in range(3)]
        return saved, manager.checkpoints, manager.latest_checkpoint

    paths = [str(tmp_path / "all" / f"ckpt-{number}") for number in (1, 2, 3)]
    assert [(paths, paths[1:], paths[-1])] * count == run_workers(program, count)
    assert [(0, f"ckpt-{number}.safetensors") for number in (1, 2, 3)] == written
    assert ["checkpoint", "ckpt-2.safetensors", "ckpt-3.safetensors"] == names(tmp_path / "all")


def test_a_worker_with_a_folder_of_its_own_writes_there_itself(tmp_path, written):
    def program(index):
        variable, manager = managed(tmp_path / ("all" if index < 2 else f"workertemp_{index}"))
        manager.save()
        variable.assign(0.0)
        manager.restore_or_initialize()
        return float(variable)

    assert [1.0] * 3 == run_workers(program, 3)
    assert [(0, "ckpt-1.safetensors"), (2, "workertemp_2/ckpt-1.safetensors")] == written


def test_a_worker_on_a_disk_of_its_own_writes_there_itself(tmp_path, written, monkeypatch):
    monkeypatch.setattr(crew, "_stamp", lambda file: [me()])  # as if nobody saw what the others have written

    def program(index):
        return managed(tmp_path / "all")[1].save()

    run_workers(program, 3)
    assert [(index, "ckpt-1.safetensors") for index in range(3)] == written


@pytest.mark.parametrize("failing", [0, 1])
def test_all_that_wait_for_a_file_learn_that_it_could_not_be_written(tmp_path, failing):
    (tmp_path / "file").write_text("no folder")

    def program(index):
        folder = "fine" if index < failing else "file"
        _, manager = managed(tmp_path / folder)
        try:
            manager.save()
        except OSError as error:
            return str(error), manager.latest_checkpoint, int(manager.checkpoint.save_counter)
        return "", manager.latest_checkpoint, int(manager.checkpoint.save_counter)

    errors, latest, counts = zip(*run_workers(program, 3), strict=True)

    assert [True] * failing == [error == "" for error in errors[:failing]]
    assert "File exists" in errors[failing] or "Not a directory" in errors[failing]
    for error in errors[failing + 1 :]:
        assert all(
            part in error for part in (f"Worker {failing} could not write", "; expected it", f"when worker {failing}")
        )
    assert (None,) * (3 - failing) == latest[failing:]
    assert (1, 1, 1) == counts


def test_workers_restore_the_newest_that_all_of_them_have(tmp_path):
    def saving(index):
        variable, manager = managed(tmp_path / f"{index}", max_to_keep=3)
        for number in (1.0, 2.0, 3.0):
            variable.assign(number)
            manager.save()

    def restoring(index):
        variable, manager = managed(tmp_path / f"{index}", max_to_keep=3)
        return os.path.basename(manager.restore_or_initialize()), float(variable)

    run_workers(saving, 2)
    (tmp_path / "1" / "ckpt-3.safetensors").write_bytes(b"torn")
    (tmp_path / "0" / "ckpt-2.safetensors").write_bytes(b"torn")
    with pytest.warns(UserWarning, match="cannot be read") as warned:
        assert [("ckpt-1", 1.0)] * 2 == run_workers(restoring, 2)
    told = " ".join(str(one.message) for one in warned)

    assert (
        "ckpt-3 cannot be read on worker 1; expected it whole on all workers. ckpt-1, from before it, is used" in told
    )
    assert "ckpt-2 cannot be read on worker 0" in told
    (tmp_path / "0" / "ckpt-1.safetensors").unlink()
    nothing_in_common = r"\(worker 0: ckpt-3; worker 1: ckpt-2, ckpt-1\); expected one"
    with (
        pytest.warns(UserWarning, match="cannot be read"),
        pytest.raises(tf.errors.DataLossError, match=nothing_in_common),
    ):
        run_workers(restoring, 2)
    for file in (tmp_path / "1").iterdir():
        file.unlink()
    with pytest.raises(tf.errors.DataLossError, match=r"\(worker 0: ckpt-3; worker 1: none\); expected one"):
        run_workers(restoring, 2)


def test_the_chief_alone_saves_with_the_checkpoint_and_not_with_a_manager(tmp_path):
    def program(manages):
        def of_worker(index):
            _, manager = managed(tmp_path / "all")
            if index == 0:
                manager.save() if manages else manager.checkpoint.save(str(tmp_path / "chief"))
            return float(tf.distribute.MultiWorkerMirroredStrategy().reduce("SUM", tf.constant(1.0), axis=None))

        return of_worker

    assert [2.0, 2.0] == run_workers(program(manages=False), 2)
    assert str(tmp_path / "chief-1") == tf.train.latest_checkpoint(str(tmp_path))
    with pytest.raises(tf.errors.MeetingError, match=r"CheckpointManager\.save\(\)"):
        run_workers(program(manages=True), 2)


def test_workers_that_would_write_different_files_into_one_folder_are_told(tmp_path):
    def program(index):
        _, manager = managed(tmp_path / ("all" if index else "other"))
        try:
            manager.save(checkpoint_number=7 + index)
        except ValueError as error:
            return str(error)

    told = run_workers(program, 3)

    assert [told[0]] * 3 == told
    assert all(
        part in told[0] for part in ("worker 1: ", "all/ckpt-8", "all/ckpt-9", "; expected the same name and number")
    )
    assert not list(tmp_path.iterdir())


def test_workers_restore_all_of_them_or_none(tmp_path):
    def program(index):
        variable, manager = managed(tmp_path / "all")
        manager.checkpoint.own = own = tf.Variable([2.0] * (1 + index))
        manager.checkpoint.iterator = iterator = iter(tf.data.Dataset.range(9))
        if saving:
            manager.save()
            return None
        variable.assign(5.0)
        next(iterator)
        try:
            manager.restore_or_initialize()
        except ValueError as error:
            return float(variable), own.numpy().tolist(), iterator.state()["consumed"], str(error)

    saving = True
    run_workers(program, 1)
    saving = False
    first, second = run_workers(program, 2)

    assert (5.0, [2.0], 1) == first[:3]
    assert (5.0, [2.0, 2.0], 1) == second[:3]
    assert "'own' as float32 of shape (1,)" in second[3]
    assert "Other workers could not restore the checkpoint (worker 1: ValueError: The checkpoint has 'own'" in first[3]
    assert first[3].endswith("Nothing was restored.")

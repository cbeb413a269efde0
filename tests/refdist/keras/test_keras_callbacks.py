"""Callbacks that write files do so on the first worker only; tests/programs/multi_worker_fit.py restores what they wrote."""

import pytest

import refdist as tf
from tests.refdist.keras.models import INPUTS, TARGETS, compiled, made

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras itself


def test_only_the_first_worker_writes_where_it_was_told_to(tmp_path):
    def layers():
        # To read what the layer keeps track of takes both workers, so both have to write.
        return compiled(tf.keras.layers.BatchNormalization(), run_eagerly=True)

    folders = []

    def worker(index):
        model = made(tf.distribute.MultiWorkerMirroredStrategy(), layers)
        backup = tf.keras.callbacks.BackupAndRestore(str(tmp_path / "backup"), delete_checkpoint=index > 0)
        checkpoint = tf.keras.callbacks.ModelCheckpoint(str(tmp_path / "{epoch}.weights.h5"), save_weights_only=True)
        board = tf.keras.callbacks.TensorBoard(str(tmp_path / "logs"), write_graph=False)
        model.fit(INPUTS, TARGETS, batch_size=10, verbose=0, callbacks=[backup, checkpoint, board])
        folders.append((checkpoint.filepath, board.log_dir, backup.backup_dir))

    with tf.using("simulator", gpus=1):
        tf.cluster.run_workers(worker, count=2)

    assert {"1.weights.h5", "backup", "logs"} == {path.name for path in tmp_path.iterdir()}
    assert 1 == len(list((tmp_path / "logs" / "train").iterdir()))
    assert folders[0] == folders[1]  # what a program sees of its callbacks is what it has set

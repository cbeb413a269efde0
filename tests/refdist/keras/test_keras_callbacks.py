"""Callbacks that write files do so on the first worker only."""

import pytest

import refdist as tf
from tests.refdist.keras.models import INPUTS, TARGETS, compiled, made

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras itself


def test_training_goes_on_from_the_backup_of_the_first_worker(tmp_path):
    class Interrupting(tf.keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 2:
                raise KeyError("enough")

    def program(folder, *others):
        def worker(_):
            strategy = tf.distribute.MultiWorkerMirroredStrategy()
            model = made(strategy, lambda: compiled(tf.keras.layers.BatchNormalization()))
            callbacks = [
                tf.keras.callbacks.BackupAndRestore(str(folder / "backup")),
                tf.keras.callbacks.ModelCheckpoint(str(folder / "{epoch}.weights.h5"), save_weights_only=True),
                tf.keras.callbacks.TensorBoard(str(folder / "logs"), write_graph=False),
                *others,
            ]
            options = {"batch_size": 10, "shuffle": False, "verbose": 0}
            return model.fit(INPUTS, TARGETS, epochs=3, callbacks=callbacks, **options).history["loss"]

        return tf.cluster.run_workers(worker, count=2)

    with tf.using("simulator", gpus=1):
        with pytest.raises(KeyError, match="enough"):
            program(tmp_path, Interrupting())
        assert {"1.weights.h5", "2.weights.h5", "backup", "logs"} == {path.name for path in tmp_path.iterdir()}
        first, second = program(tmp_path)
        whole, _ = program(tmp_path / "other")

    assert first == second == pytest.approx(whole[2:])
    assert not (tmp_path / "backup").exists()
    assert 1 == len(list((tmp_path / "other" / "logs" / "train").iterdir()))

"""The callback TensorBoard writes what it writes with TensorFlow."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist.files.event_files import events

# What TensorFlow 2.21 wrote for the model below, without the values of text and images.
TRAINING = [
    (0, "keras", "graph_keras_model", b"1"),
    (1, "batch_steps_per_second", "scalars", b""),
    (1, "batch_loss", "scalars", b""),
    (2, "batch_steps_per_second", "scalars", b""),
    (2, "batch_loss", "scalars", b""),
    (0, "epoch_loss", "scalars", b""),
    (0, "epoch_learning_rate", "scalars", b""),
    (0, "epoch_steps_per_second", "scalars", b""),
    (0, "sequential/dense/kernel/histogram", "histograms", b""),
    (0, "sequential/dense/kernel/image", "images", b""),
    (0, "sequential/dense/bias/histogram", "histograms", b""),
]
VALIDATION = [(2, "evaluation_loss_vs_iterations", "scalars", b""), (0, "epoch_loss", "scalars", b"")]


def test_the_events_are_those_that_tensorflow_writes(any_backend, names, tmp_path):
    tf.keras.utils.clear_session()
    with tf.distribute.MirroredStrategy(names[:2]).scope():
        model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    x, y = np.ones((8, 2), "float32"), np.ones((8, 1), "float32")
    board = tf.keras.callbacks.TensorBoard(
        tmp_path, histogram_freq=1, write_images=True, update_freq="batch", write_steps_per_second=True
    )
    model.fit(x, y, batch_size=4, verbose=0, validation_data=(x, y), callbacks=[board])

    assert TRAINING == _described(tmp_path / "train")
    assert VALIDATION == _described(tmp_path / "validation")


def test_a_model_without_json_trains_all_the_same(tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer=_Unwritable())])
    model.compile("sgd", "mse")
    board = tf.keras.callbacks.TensorBoard(tmp_path)
    with pytest.warns(UserWarning, match=r"no JSON .*; expected .*; training goes on"):
        model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0, callbacks=[board])

    assert ["epoch_loss", "epoch_learning_rate"] == [tag for _, tag, _, _ in _described(tmp_path / "train")]


class _Unwritable(tf.keras.initializers.Zeros):
    def get_config(self):
        raise ValueError("no configuration")


def _described(folder):
    found = [(event.step, event.summary.value[0]) for event in events(folder)]
    return [(step, v.tag, v.metadata.plugin_data.plugin_name, v.metadata.plugin_data.content) for step, v in found]

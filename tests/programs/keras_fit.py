"""Keras's own loop with callbacks: schedules, checkpoints, early stopping, validation; then evaluation and prediction."""

import os
import tempfile

import numpy as np
import tensorflow as tf

BATCH_SIZE = 8


def make_data():
    random = np.random.RandomState(0)
    x = random.normal(size=(44, 6)).astype("float32")
    y = (x[:, 0] + 0.5 * x[:, 1] > 0).astype("int32")
    train = tf.data.Dataset.from_tensor_slices((x[:32], y[:32])).batch(BATCH_SIZE).prefetch(tf.data.AUTOTUNE)
    validation = tf.data.Dataset.from_tensor_slices((x[32:], y[32:])).batch(BATCH_SIZE)
    return train, validation, x[32:]


def build_and_compile():
    model = tf.keras.Sequential(
        [
            tf.keras.Input(shape=(6,)),
            tf.keras.layers.Dense(8, activation="relu"),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Dense(2),
        ]
    )
    random = np.random.RandomState(1)
    for weight in model.trainable_weights:
        if len(weight.shape) == 2:
            weight.assign(random.normal(0, 0.5, weight.shape).astype("float32"))
    model.compile(
        optimizer=tf.keras.optimizers.Adam(learning_rate=0.02, clipnorm=1.0),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def decay(epoch, lr):
    return lr if epoch < 2 else lr * 0.5


class Recorder(tf.keras.callbacks.Callback):
    """Writes down the learning rate and the losses of all batches."""

    def __init__(self, results):
        super().__init__()
        self.results = results

    def on_train_batch_end(self, batch, logs=None):
        self.results.append(float(logs["loss"]))

    def on_epoch_end(self, epoch, logs=None):
        self.results.append(float(self.model.optimizer.learning_rate.numpy()))


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    train, validation, inputs = make_data()
    results = []
    with strategy.scope():
        model = build_and_compile()
    with tempfile.TemporaryDirectory() as directory:
        best = os.path.join(directory, "best.weights.h5")
        callbacks = [
            tf.keras.callbacks.LearningRateScheduler(decay),
            tf.keras.callbacks.ModelCheckpoint(best, monitor="val_loss", save_best_only=True, save_weights_only=True),
            tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=2, restore_best_weights=True),
            Recorder(results),
        ]
        history = model.fit(train, epochs=4, validation_data=validation, callbacks=callbacks, verbose=0)
        for name in ("loss", "accuracy", "val_loss", "val_accuracy"):
            results += history.history[name]
        model.load_weights(best)
    results += model.evaluate(validation, verbose=0)
    results.append(np.sum(np.abs(model.predict(inputs, batch_size=BATCH_SIZE, verbose=0))))
    return [float(result) for result in results]


if __name__ == "__main__":
    print(main())

"""Keras's own loop on two workers: each runs this program, the first one writes the files, and training goes on after a stop."""

import os

import numpy as np
import tensorflow as tf

WORKERS = 2  # each has a TF_CONFIG of its own, and all have the same MODEL_DIR
GLOBAL_BATCH_SIZE = 8


def make_data():
    random = np.random.RandomState(0)
    x = random.normal(size=(48, 6)).astype("float32")
    y = (x[:, 0] + 0.5 * x[:, 1] > 0).astype("int32")
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    train = tf.data.Dataset.from_tensor_slices((x[:32], y[:32])).batch(GLOBAL_BATCH_SIZE).with_options(options)
    return train, (x[32:], y[32:])


def build_and_compile():
    model = tf.keras.Sequential(
        [tf.keras.Input(shape=(6,)), tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(2)]
    )
    random = np.random.RandomState(1)
    model.set_weights([random.normal(0, 0.5, weight.shape).astype("float32") for weight in model.get_weights()])
    model.compile(
        optimizer=tf.keras.optimizers.Adam(learning_rate=0.05),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


class Stop(tf.keras.callbacks.Callback):
    """Stands for what interrupts a training."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise InterruptedError


def train(strategy, folder, *others):
    data, validation = make_data()
    with strategy.scope():
        model = build_and_compile()
    callbacks = [
        tf.keras.callbacks.BackupAndRestore(os.path.join(folder, "backup")),
        tf.keras.callbacks.ModelCheckpoint(
            os.path.join(folder, "best.weights.h5"), monitor="val_loss", save_best_only=True, save_weights_only=True
        ),
        tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=0, min_delta=0.2),
        *others,
    ]
    history = model.fit(data, epochs=4, validation_data=validation, callbacks=callbacks, verbose=0)
    return model, history.history


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    folder = os.environ["MODEL_DIR"]
    try:
        train(strategy, folder, Stop())
    except InterruptedError:
        model, history = train(strategy, folder)  # from the third epoch on
    results = [number for name in ("loss", "accuracy", "val_loss", "val_accuracy") for number in history[name]]
    inputs, targets = make_data()[1]
    results += model.evaluate(inputs, targets, batch_size=GLOBAL_BATCH_SIZE, verbose=0)
    results.append(os.path.exists(os.path.join(folder, "best.weights.h5")))
    results.append(np.sum(np.abs(model.predict(inputs, batch_size=GLOBAL_BATCH_SIZE, verbose=0))))
    return [float(result) for result in results]


if __name__ == "__main__":
    print(main())

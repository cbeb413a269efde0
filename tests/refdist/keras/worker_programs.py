"""Models that train on several workers, written for TensorFlow and refdist alike.

`TF_USE_LEGACY_KERAS=1 python tests/refdist/keras/worker_programs.py` writes down what TensorFlow computes, in a process for each
worker, where TensorFlow and tf_keras are installed; its Keras 3 fails in these calls.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import numpy as np

ANSWERS = pathlib.Path(__file__).with_name("worker_answers.json")
INPUTS = np.random.RandomState(0).normal(size=(32, 3)).astype("float32")
TARGETS = INPUTS.sum(1, keepdims=True) ** 2


def made(tf, strategy):
    keras = tf.keras
    with strategy.scope():
        dense = keras.layers.Dense(1, kernel_regularizer=keras.regularizers.L2(0.1))
        model = keras.Sequential([keras.Input((3,)), dense])
        model.compile(keras.optimizers.SGD(0.05, momentum=0.5), "mse", metrics=["mae"])
    model.set_weights([np.array([[0.5], [-1.0], [0.25]], "float32"), np.array([0.1], "float32")])
    return model


def batches(tf, rows, size, policy):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = getattr(tf.data.experimental.AutoShardPolicy, policy)
    return tf.data.Dataset.from_tensor_slices((INPUTS[rows], TARGETS[rows])).batch(size).with_options(options)


def arrays(tf, model, folder):
    """Batches of 6, 6 and 1 rows: replicas have different numbers of rows, or none."""
    history = model.fit(
        INPUTS[:13],
        TARGETS[:13],
        batch_size=6,
        epochs=2,
        shuffle=False,
        sample_weight=np.arange(13.0),
        validation_data=(INPUTS[13:], TARGETS[13:]),
        validation_batch_size=7,
        verbose=0,
    )
    return [history.history[name] for name in ("loss", "mae", "val_loss", "val_mae")]


def dataset(tf, model, folder):
    """Steps that go on through a repeated dataset, evaluation with a last batch of 6, and all predictions in order."""
    repeated = batches(tf, slice(0, 20), 8, "DATA").unbatch().repeat().batch(8)
    history = model.fit(repeated, epochs=2, steps_per_epoch=2, verbose=0).history
    rest = batches(tf, slice(0, 14), 8, "DATA")
    return [history["loss"], history["mae"], model.evaluate(rest, verbose=0), model.predict(rest, verbose=0)]


def files(tf, model, folder):
    """Workers read files of their own, one of them fewer rows than the other; predictions are in the order of the files."""
    names = [os.path.join(folder, f"{number}.txt") for number in range(2)]
    for name, rows in zip(names, [slice(0, 12), slice(12, 16)], strict=True):
        text = "\n".join(" ".join(map(str, [*x, *y])) for x, y in zip(INPUTS[rows], TARGETS[rows], strict=True))
        pathlib.Path(name).write_text(text)

    def parsed(line):
        numbers = tf.reshape(tf.strings.to_number(tf.strings.split(line, " ")), [4])
        return numbers[:3], numbers[3:]

    data = tf.data.TextLineDataset(names).map(parsed).batch(8)
    history = model.fit(data, epochs=2, verbose=0).history
    return [history["loss"], history["mae"], model.predict(data, verbose=0)]


def unsharded(tf, model, folder):
    """Every worker reads everything: an epoch has as many steps as there are batches, each of a part of a batch."""
    history = model.fit(batches(tf, slice(0, 12), 4, "OFF"), epochs=2, verbose=0).history
    return [history["loss"], history["mae"]]


def single(tf, model, folder):
    """A batch that is passed by hand is one of all workers, too; metrics are left out, which TensorFlow counts twice."""
    model.train_on_batch(INPUTS[:6], TARGETS[:6])
    model.train_on_batch(INPUTS[6:11], TARGETS[6:11])
    return [model.predict_on_batch(INPUTS[:6])]


WORLDS = {"2 x 1": (2, 1), "2 x 2": (2, 2), "3 x 1": (3, 1)}  # workers, and devices of each
PROGRAMS = {"arrays": arrays, "dataset": dataset, "files": files, "unsharded": unsharded, "single": single}
CASES = [(name, world) for name in PROGRAMS for world in WORLDS if world == "2 x 1" or name in ("arrays", "dataset")]


def numbers(tf, strategy, name, folder):
    """What a worker finds: what the program returns, and then the weights."""
    model = made(tf, strategy)
    found = [*PROGRAMS[name](tf, model, folder), *model.get_weights()]
    return [float(number) for part in found for number in np.ravel(part)]


def _recorded(name, workers, devices):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(workers)]
    cluster = {"worker": [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]}
    for one in sockets:
        one.close()
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        for index in range(workers):
            config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
            command = [sys.executable, __file__, name, str(devices), folder]
            environment = {**os.environ, "TF_CONFIG": config, "TF_ENABLE_ONEDNN_OPTS": "0"}
            processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        answers = [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


def _worker(name, devices, folder):
    import tensorflow

    cpu = tensorflow.config.list_physical_devices("CPU")[0]
    one = tensorflow.config.LogicalDeviceConfiguration()
    tensorflow.config.set_logical_device_configuration(cpu, [one] * int(devices))
    print(json.dumps(numbers(tensorflow, tensorflow.distribute.MultiWorkerMirroredStrategy(), name, folder)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _worker(*sys.argv[1:])
    else:
        found = {f"{name} {world}": _recorded(name, *WORLDS[world]) for name, world in CASES}
        ANSWERS.write_text(json.dumps(found, indent=1) + "\n")

"""Steps of optimizers on two replicas, written for TensorFlow and refdist alike.

`python tests/refdist/keras/optimizer_programs.py` writes down what TensorFlow computes, where that is installed.
"""

import json
import pathlib

import numpy as np

ANSWERS = pathlib.Path(__file__).with_name("optimizer_answers.json")

# The name of the optimizer, its arguments, and whether its steps are staged. TensorFlow refuses to stage the eager ones.
CASES = {
    "momentum": ("SGD", {"momentum": 0.9, "nesterov": True}, True),
    "adam": ("Adam", {}, True),
    "weight decay": ("AdamW", {"weight_decay": 0.05}, True),
    "rmsprop": ("RMSprop", {"momentum": 0.5, "centered": True}, False),
    "adagrad": ("Adagrad", {}, True),
    "ftrl": ("Ftrl", {}, True),
    "clipnorm": ("SGD", {"clipnorm": 1.0}, True),
    "global_clipnorm": ("SGD", {"global_clipnorm": 1.0}, True),
    "clipvalue": ("SGD", {"clipvalue": 0.7}, False),
    "averages": ("SGD", {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2}, False),
    "scaled loss": ("SGD", {"loss_scale_factor": 4.0, "clipnorm": 0.3}, True),
    "accumulation": ("SGD", {"gradient_accumulation_steps": 2}, False),
    "schedule": ("schedule", {}, True),
    "dynamic scale": ("scaled", {}, True),
    "slices": ("SGD", {"momentum": 0.5}, True),
    "slices that are squared": ("Adam", {}, True),
    "slices with magnitudes": ("Adamax", {}, False),
}


def made(tf, kind, options):
    optimizers = tf.keras.optimizers
    if kind == "schedule":
        return optimizers.Adam(optimizers.schedules.ExponentialDecay(0.1, 1, 0.5))
    if kind == "scaled":
        return optimizers.LossScaleOptimizer(optimizers.SGD(0.1), initial_scale=8.0, dynamic_growth_steps=2)
    return getattr(optimizers, kind)(0.1, **options)


def two_replicas(tf):
    # Without collectives, whose order TensorFlow loses when it is eager.
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())


def weights(tf, case):
    """The weights, and the number of steps, after each of three steps."""
    kind, options, staged = CASES[case]
    strategy = two_replicas(tf)
    with strategy.scope():
        matrix = tf.keras.Variable(np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]], "float32"), name="matrix")
        vector = tf.Variable(np.array([0.5, -0.5], "float32"), name="vector")
        optimizer = made(tf, kind, options)
        optimizer.build([matrix, vector])

    def replica():
        number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
        gradient = tf.constant([[1.0, -2.0], [0.5, 0.1], [2.0, 1.0]]) * (number + 1.0)
        if case.startswith("slices"):  # a row is there twice
            gradient = tf.IndexedSlices(gradient, tf.constant([0, 2, 0]), tf.constant([3, 2]))
        gradients = gradient, tf.constant([1.5, -0.5]) - number
        optimizer.apply_gradients(zip(gradients, [matrix, vector], strict=True))

    def step():
        strategy.run(replica)

    take, found = tf.function(step) if staged else step, []
    for _ in range(3):
        take()
        found += [*np.ravel(matrix.numpy()), *vector.numpy(), np.array(optimizer.iterations)]
    return [float(number) for number in found]


if __name__ == "__main__":
    import tensorflow

    cpu = tensorflow.config.list_physical_devices("CPU")[0]
    one = tensorflow.config.LogicalDeviceConfiguration()
    tensorflow.config.set_logical_device_configuration(cpu, [one, one])
    ANSWERS.write_text(json.dumps({case: weights(tensorflow, case) for case in CASES}, indent=1) + "\n")

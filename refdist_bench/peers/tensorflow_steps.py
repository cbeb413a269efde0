"""The cases written for TensorFlow's own strategies; each function returns a step that waits for its result."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from problems import HEADS, RATE, batch, layers, start  # pyright: ignore[reportMissingImports]

tf: Any = importlib.import_module("tensorflow")
Step = Callable[[], Any]
HOST_DEVICES = 8


def _strategy(replicas: int) -> Any:
    """Return a strategy over the GPUs that are there, or else over parts of the processor."""
    kind = "GPU" if len(tf.config.list_physical_devices("GPU")) >= replicas else "CPU"
    processors = tf.config.list_physical_devices("CPU")
    if not tf.config.get_logical_device_configuration(processors[0]):
        tf.config.set_logical_device_configuration(
            processors[0], [tf.config.LogicalDeviceConfiguration()] * HOST_DEVICES
        )
    return tf.distribute.MirroredStrategy([f"{kind}:{index}" for index in range(replicas)])


def _cross_entropy(logits: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def _mlp(parameters: Any, x: Any, y: Any) -> Any:
    *hidden, (weight, bias) = layers(parameters)
    for inner_weight, inner_bias in hidden:
        x = tf.nn.relu(x @ inner_weight + inner_bias)
    return _cross_entropy(x @ weight + bias, y)


def _convnet(parameters: Any, x: Any, y: Any) -> Any:
    *hidden, (weight, bias) = layers(parameters)
    for kernel, inner_bias in hidden:
        x = tf.nn.relu(tf.nn.conv2d(x, kernel, 2, "SAME") + inner_bias)
    return _cross_entropy(tf.reshape(x, [tf.shape(x)[0], -1]) @ weight + bias, y)


def _normalized(x: Any, scale: Any, bias: Any) -> Any:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * scale + bias


def _transformer(parameters: Any, x: Any, y: Any) -> Any:
    scale, shift, mix, out, second_scale, second_shift, up, up_bias, down, down_bias, weight, bias = parameters
    rows, places, width = x.shape
    three = tf.reshape(_normalized(x, scale, shift) @ mix, [rows, places, 3, HEADS, width // HEADS])
    query, key, value = tf.unstack(three, axis=2)
    scores = tf.einsum("bqhd,bkhd->bhqk", query, key) / (width // HEADS) ** 0.5
    seen = tf.reshape(tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), value), [rows, places, width])
    x = x + seen @ out
    x = x + tf.nn.relu(_normalized(x, second_scale, second_shift) @ up + up_bias) @ down + down_bias
    return _cross_entropy(tf.reduce_mean(x, 1) @ weight + bias, y)


LOSSES = {"mlp": _mlp, "convnet": _convnet, "transformer": _transformer}


def _train(model: str, replicas: int, staged: bool) -> Step:
    strategy = _strategy(replicas)
    with strategy.scope():
        # Of the documented ways to combine gradients, a variable that aggregates was the fastest.
        variables = [tf.Variable(array, aggregation=tf.VariableAggregation.MEAN) for array in start(model)]

    def replica(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            value = LOSSES[model]([tf.convert_to_tensor(variable) for variable in variables], x, y)
        for variable, gradient in zip(variables, tape.gradient(value, variables), strict=True):
            variable.assign_sub(RATE * gradient)
        return value

    def step(x: Any, y: Any) -> Any:
        return strategy.reduce("MEAN", strategy.run(replica, args=(x, y)), axis=None)

    called = tf.function(step) if staged else step
    points, classes = batch(model, replicas)
    dataset = tf.data.Dataset.from_tensor_slices((points, classes)).batch(len(points), drop_remainder=True)
    x, y = next(iter(strategy.experimental_distribute_dataset(dataset)))
    return lambda: float(called(x, y).numpy())


def _waited(strategy: Any, value: Any) -> None:
    for part in strategy.experimental_local_results(value):
        part.numpy()


def _in_replicas(replica_step: Callable[..., Any]) -> Callable[[int], Step]:
    def make(replicas: int) -> Step:
        strategy = _strategy(replicas)
        with strategy.scope():
            variable = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
        value = strategy.run(lambda: tf.constant(1.0))
        return lambda: _waited(strategy, strategy.run(replica_step, args=(value, variable)))

    return make


def _reduce(replicas: int) -> Step:
    strategy = _strategy(replicas)
    value = strategy.run(lambda: tf.constant(1.0))
    return lambda: _waited(strategy, strategy.reduce("SUM", value, axis=None))


def _added(replicas: int, variables: int) -> Step:
    strategy = _strategy(replicas)
    with strategy.scope():
        held = [tf.Variable(np.zeros(4, np.float32), aggregation=tf.VariableAggregation.MEAN) for _ in range(variables)]

    def replica(x: Any) -> Any:
        total = tf.distribute.get_replica_context().all_reduce("SUM", tf.reduce_sum(x))
        for variable in held:
            variable.assign_add(tf.fill([4], total))
        return total

    @tf.function
    def step(x: Any) -> Any:
        return strategy.reduce("MEAN", strategy.run(replica, args=(x,)), axis=None)

    own = strategy.run(lambda: tf.ones([8]))
    return lambda: float(step(own).numpy())


def _all_reduce(replicas: int, size: int) -> Step:
    strategy = _strategy(replicas)

    @tf.function
    def step(x: Any) -> Any:
        return strategy.run(lambda x: tf.distribute.get_replica_context().all_reduce("SUM", x), args=(x,))

    own = strategy.run(lambda: tf.ones([size // 4]))

    def timed() -> None:
        for part in strategy.experimental_local_results(step(own)):
            part[:1].numpy()  # wait, but do not copy the whole

    return timed


def _batches(rows: int, batch: int, replicas: int) -> Step:
    strategy = _strategy(replicas)
    dataset = tf.data.Dataset.from_tensor_slices(np.ones((rows, 32), np.float32)).batch(batch)
    distributed = strategy.experimental_distribute_dataset(dataset)
    return lambda: sum(1 for _ in distributed)


STEPS: dict[str, Callable[..., Step]] = {
    "train": _train,
    "run": _in_replicas(lambda x, variable: x),
    "run, all_reduce": _in_replicas(lambda x, variable: tf.distribute.get_replica_context().all_reduce("SUM", x)),
    "read": _in_replicas(lambda x, variable: variable.read_value()),
    "assign": _in_replicas(lambda x, variable: variable.assign(x)),
    "assign_add": _in_replicas(lambda x, variable: variable.assign_add(x)),
    "reduce": _reduce,
    "added": _added,
    "all_reduce": _all_reduce,
    "batches": _batches,
}

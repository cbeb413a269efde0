"""Train the perceptron with TensorFlow's own strategy, in an interpreter that has TensorFlow.

`python -m benchmarks.mlp_tensorflow 4` prints the loss of the first step. Then, for each number that it reads, it takes that
many steps and prints the seconds. Of the documented ways to combine gradients a variable that aggregates was the fastest.
"""

import sys
import time

import tensorflow as tf

from benchmarks.mlp_problem import BATCH, RATE, batch, start


def made_step(count):
    (processor,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * count)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(count)])
    with strategy.scope():
        variables = [tf.Variable(array, aggregation=tf.VariableAggregation.MEAN) for array in start()]

    def loss(x, y):
        *hidden, weight, bias = variables
        for inner_weight, inner_bias in zip(hidden[::2], hidden[1::2], strict=True):
            x = tf.nn.relu(x @ inner_weight + inner_bias)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x @ weight + bias))

    def replica(x, y):
        with tf.GradientTape() as tape:
            value = loss(x, y)
        for variable, gradient in zip(variables, tape.gradient(value, variables), strict=True):
            variable.assign_sub(RATE * gradient)
        return value

    @tf.function
    def step(x, y):
        return strategy.reduce("MEAN", strategy.run(replica, args=(x, y)), axis=None)

    dataset = tf.data.Dataset.from_tensor_slices(batch()).batch(BATCH)
    x, y = next(iter(strategy.experimental_distribute_dataset(dataset)))
    return lambda: step(x, y).numpy()


if __name__ == "__main__":
    step = made_step(int(sys.argv[1]))
    print(step(), flush=True)
    for line in sys.stdin:
        before = time.perf_counter()
        for _ in range(int(line)):
            step()
        print(time.perf_counter() - before, flush=True)

"""Mistakes that strict type checkers have to find, in the lines that say so and in no others: see tests/test_types.py."""

import refdist as tf

print(tf.typo)  # mistake
print(tf.math.typo)  # mistake
print(tf.nn.typo)  # mistake
print(tf.data.typo)  # mistake
print(tf.data.experimental.typo)  # mistake
print(tf.train.typo)  # mistake
print(tf.errors.typo)  # mistake
print(tf.keras.typo)  # mistake
print(tf.distribute.typo)  # mistake
print(tf.distribute.experimental.typo)  # mistake
print(tf.simulator.typo)  # mistake
print(tf.conformance.typo)  # mistake

tf.use("simulator", gpu=4)  # mistake
tf.use("simulator", gpus="4")  # mistake
tf.use("simulator", cluster=4)  # mistake
tf.use("jax", algorithm="ring")  # mistake
tf.use("host", numerics="chek")  # mistake

strategy = tf.distribute.MirroredStrategy(device=["GPU:0"])  # mistake
strategy.runs(print)  # mistake
strategy.run(print, args=1)  # mistake
strategy.run(print, arguments=(1,))  # mistake

with strategy.scope():
    variable = tf.Variable(1.0, trainble=False)  # mistake
    variable = tf.Variable(1.0, synchronization="on_read")  # mistake
variable.asign(1.0)  # mistake
variable.assign(1.0, axis=0)  # mistake

with tf.using("jax", cpu=4):  # mistake
    print(tf.reduce_sum([1.0], axes=0))  # mistake
    print(tf.reduce_max([1.0], axes=0))  # mistake
    print(tf.exp())  # mistake
    print(tf.maximum(1.0))  # mistake


@tf.function
def double(x: int) -> int:
    return 2 * x


class Model(tf.Module):
    @tf.function(autograph=False)
    def predict(self, x: int) -> int:
        return 2 * x


double("1")  # mistake
double(1, 2)  # mistake
double(1).upper()  # mistake
double.trace_count()  # mistake
Model().predict("1")  # mistake
tf.function(1)  # mistake


def step(x: tf.Tensor) -> None:
    replica = tf.distribute.get_replica_context()
    replica.all_redce("SUM", x)  # mistake
    replica.all_reduce("SUM", x, axis=0)  # mistake
    print(x.shap)  # mistake
    tf.data.Dataset.range(3).batched(2)  # mistake
    tf.train.Checkpoint().restored("there")  # mistake

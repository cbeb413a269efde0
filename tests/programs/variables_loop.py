"""A custom training loop without Keras: a module with variables of its own, and gradient descent with momentum."""

import numpy as np
import tensorflow as tf

GLOBAL_BATCH = 8


class Perceptron(tf.Module):
    """Two layers, and the momentum of each of their weights."""

    def __init__(self, name=None):
        super().__init__(name=name)
        random = np.random.RandomState(0)
        self.w1 = tf.Variable(random.normal(0, 0.5, (6, 5)).astype("float32"), name="w1")
        self.b1 = tf.Variable(tf.zeros([5]), name="b1")
        self.w2 = tf.Variable(random.normal(0, 0.5, (5, 3)).astype("float32"), name="w2")
        self.b2 = tf.Variable(tf.zeros([3]), name="b2")

    def __call__(self, x):
        hidden = tf.nn.relu(tf.matmul(x, self.w1) + self.b1)
        return hidden @ self.w2 + self.b2


def make_dataset():
    random = np.random.RandomState(1)
    x = random.normal(size=(32, 6)).astype("float32")
    y = random.randint(0, 3, 32).astype("int32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(GLOBAL_BATCH).repeat(2)


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(devices=["/cpu:0", "/cpu:1"])

    with strategy.scope():
        model = Perceptron()
        momenta = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]
        global_step = tf.Variable(
            0, dtype=tf.int64, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA
        )
        seen = tf.Variable(
            0.0,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    def replica_step(inputs):
        x, y = inputs
        with tf.GradientTape() as tape:
            logits = model(x)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            loss = tf.reduce_sum(losses) / GLOBAL_BATCH
            decay = tf.add_n([tf.nn.l2_loss(w) for w in (model.w1, model.w2)])
            total = loss + 0.01 * decay / strategy.num_replicas_in_sync
        gradients = tape.gradient(total, model.trainable_variables)
        context = tf.distribute.get_replica_context()
        gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)

        def update(strategy, gradients):
            for variable, momentum, gradient in zip(model.trainable_variables, momenta, gradients):
                strategy.extended.update(momentum, lambda m, g: m.assign(0.9 * m + g), args=(gradient,))
                strategy.extended.update(variable, lambda v, m: v.assign_sub(0.1 * m), args=(momentum,))

        context.merge_call(update, args=(gradients,))
        seen.assign_add(tf.cast(tf.shape(y)[0], tf.float32))
        global_step.assign_add(1)
        correct = tf.cast(tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), y), tf.float32)
        return total, tf.reduce_sum(correct)

    @tf.function
    def train_step(inputs):
        losses, correct = strategy.run(replica_step, args=(inputs,))
        return (
            strategy.reduce("SUM", losses, axis=None),
            strategy.reduce(tf.distribute.ReduceOp.SUM, correct, axis=None),
        )

    results = []
    for batch in strategy.experimental_distribute_dataset(make_dataset()):
        loss, correct = train_step(batch)
        results += [loss.numpy(), correct.numpy() / GLOBAL_BATCH]
    results += [seen.numpy(), global_step.numpy(), np.sum(model.w1.numpy() ** 2)]
    return [float(result) for result in results]


if __name__ == "__main__":
    print(main())

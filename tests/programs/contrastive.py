"""Contrastive learning: the embeddings of all replicas are gathered, and gradients flow back through the gathering."""

import numpy as np
import tensorflow as tf

GLOBAL_BATCH, TEMPERATURE = 8, 0.5


def encoder():
    model = tf.keras.Sequential(
        [tf.keras.Input(shape=(6,)), tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(4)]
    )
    random = np.random.RandomState(0)
    model.set_weights([random.normal(0, 0.5, weight.shape).astype("float32") for weight in model.get_weights()])
    return model


def views():
    random = np.random.RandomState(1)
    x = random.normal(size=(32, 6)).astype("float32")
    first = x + random.normal(0, 0.1, x.shape).astype("float32")
    second = x + random.normal(0, 0.1, x.shape).astype("float32")
    return tf.data.Dataset.from_tensor_slices((first, second)).batch(GLOBAL_BATCH)


def contrastive_loss(first, second, context):
    """Tell for each embedding in this replica which one among all of the other view belongs to it."""
    first = tf.math.l2_normalize(first, axis=1)
    second = tf.math.l2_normalize(second, axis=1)
    all_second = context.all_gather(second, axis=0)
    size = tf.shape(first)[0]
    offset = tf.cast(context.replica_id_in_sync_group, tf.int32) * size
    labels = tf.range(size) + offset
    logits = tf.matmul(first, all_second, transpose_b=True) / TEMPERATURE
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    hits = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), labels), tf.float32))
    return tf.reduce_sum(losses) / GLOBAL_BATCH, hits


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = encoder()
        optimizer = tf.keras.optimizers.SGD(learning_rate=0.5, momentum=0.9)
        optimizer.build(model.trainable_variables)

    def train_step(first, second):
        context = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            loss, hits = contrastive_loss(model(first, training=True), model(second, training=True), context)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return {"loss": loss, "hits": hits, "norm": tf.linalg.global_norm(gradients)}

    @tf.function
    def distributed_step(first, second):
        outputs = strategy.run(train_step, args=(first, second))
        return {name: strategy.reduce("SUM", value, axis=None) for name, value in outputs.items()}

    results = []
    for first, second in strategy.experimental_distribute_dataset(views()):
        outputs = distributed_step(first, second)
        results += [outputs["loss"].numpy(), outputs["hits"].numpy(), outputs["norm"].numpy()]
    return [float(result) for result in results]


if __name__ == "__main__":
    print(main())

"""A residual network with batch normalization: statistics of each replica alone, and of all replicas together."""

import numpy as np
import tensorflow as tf

BATCH_SIZE = 8


def residual_block(x, filters, synchronized):
    shortcut = x
    x = tf.keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = tf.keras.layers.BatchNormalization(momentum=0.8, synchronized=synchronized)(x)
    x = tf.keras.layers.ReLU()(x)
    x = tf.keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = tf.keras.layers.BatchNormalization(momentum=0.8, synchronized=synchronized)(x)
    x = tf.keras.layers.Add()([x, shortcut])
    return tf.keras.layers.ReLU()(x)


def build_model(synchronized):
    inputs = tf.keras.Input(shape=(6, 6, 3))
    x = tf.keras.layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    x = residual_block(x, 4, synchronized)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    outputs = tf.keras.layers.Dense(3)(x)
    return tf.keras.Model(inputs, outputs)


def set_initial_weights(model):
    random = np.random.RandomState(1)
    for weight in model.trainable_weights:
        if len(weight.shape) > 1:
            weight.assign(random.normal(0, 0.3, weight.shape).astype("float32"))


def train(strategy, dataset, synchronized):
    with strategy.scope():
        model = build_model(synchronized)
        set_initial_weights(model)
        optimizer = tf.keras.optimizers.SGD(learning_rate=0.1, momentum=0.9, nesterov=True)
        optimizer.build(model.trainable_variables)
        loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)  # a mean, divided by the replicas
        train_loss = tf.keras.metrics.Mean()

    @tf.function
    def train_step(inputs):
        def step_fn(images, labels):
            with tf.GradientTape() as tape:
                logits = model(images, training=True)
                loss = loss_fn(labels, logits)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            train_loss.update_state(loss * strategy.num_replicas_in_sync)
            return loss

        per_replica = strategy.run(step_fn, args=inputs)
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

    @tf.function
    def eval_step(inputs):
        logits = strategy.run(lambda images, labels: model(images, training=False), args=inputs)
        return tf.concat(strategy.experimental_local_results(logits), axis=0)

    results = []
    for inputs in strategy.experimental_distribute_dataset(dataset):
        results.append(float(train_step(inputs)))
    results.append(float(train_loss.result()))
    for inputs in strategy.experimental_distribute_dataset(dataset.take(1)):
        results += [float(value) for value in eval_step(inputs)[:, 0]]
    for weight in model.non_trainable_weights:
        results.append(float(np.sum(weight.numpy())))
    return results


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    random = np.random.RandomState(0)
    images = random.normal(size=(24, 6, 6, 3)).astype("float32")
    labels = random.randint(0, 3, 24)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(BATCH_SIZE)
    return train(strategy, dataset, synchronized=False) + train(strategy, dataset, synchronized=True)


if __name__ == "__main__":
    print(main())

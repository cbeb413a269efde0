"""Several steps in one call, in a loop over tf.range, as programs for TPUs have them; without a TPU on other devices."""

import numpy as np
import tensorflow as tf

BATCH_SIZE, STEPS_PER_CALL, CALLS = 8, 3, 2


def choose_strategy():
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except ValueError:
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def get_dataset(batch_size):
    random = np.random.RandomState(0)
    x = random.rand(48, 6).astype("float32")
    y = random.randint(0, 4, 48).astype("int32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch_size, drop_remainder=True)


def create_model():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((6,)),
            tf.keras.layers.Dense(8, activation="relu"),
            tf.keras.layers.Dense(4),
        ]
    )
    random = np.random.RandomState(1)
    model.set_weights([random.normal(0, 0.4, weight.shape).astype("float32") for weight in model.get_weights()])
    return model


def main():
    strategy = choose_strategy()
    with strategy.scope():
        model = create_model()
        optimizer = tf.keras.optimizers.Adam(learning_rate=0.02)
        optimizer.build(model.trainable_variables)
        training_loss = tf.keras.metrics.Mean("training_loss", dtype=tf.float32)
        training_accuracy = tf.keras.metrics.SparseCategoricalAccuracy("training_accuracy", dtype=tf.float32)

    per_replica_batch_size = BATCH_SIZE // strategy.num_replicas_in_sync
    train_dataset = strategy.distribute_datasets_from_function(lambda _: get_dataset(per_replica_batch_size))

    @tf.function
    def train_multiple_steps(iterator, steps):
        def step_fn(inputs):
            images, labels = inputs
            with tf.GradientTape() as tape:
                logits = model(images, training=True)
                per_example_loss = tf.keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
                loss = tf.nn.compute_average_loss(per_example_loss)
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(list(zip(grads, model.trainable_variables)))
            training_loss.update_state(loss * strategy.num_replicas_in_sync)
            training_accuracy.update_state(labels, logits)

        for _ in tf.range(steps):
            strategy.run(step_fn, args=(next(iterator),))

    results = []
    train_iterator = iter(train_dataset)
    for _ in range(CALLS):
        train_multiple_steps(train_iterator, tf.convert_to_tensor(STEPS_PER_CALL))
        print(f"Current step: {optimizer.iterations.numpy()}, training loss: {float(training_loss.result()):.4f}")
        results += [float(optimizer.iterations.numpy()), training_loss.result().numpy()]
        results.append(training_accuracy.result().numpy())
        training_loss.reset_state()
        training_accuracy.reset_state()
    return [float(result) for result in results]


if __name__ == "__main__":
    print(main())

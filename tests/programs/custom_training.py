"""A custom training loop with a Keras model, as in the tutorial on custom training."""

import numpy as np
import tensorflow as tf

BATCH_SIZE = 8
EPOCHS = 2


def make_data():
    random = np.random.RandomState(0)
    images = random.rand(40, 8, 8, 1).astype("float32")
    labels = random.randint(0, 3, 40).astype("int64")
    return (images[:24], labels[:24]), (images[24:], labels[24:])


def create_model():
    regularizer = tf.keras.regularizers.L2(1e-3)
    return tf.keras.Sequential(
        [
            tf.keras.Input(shape=(8, 8, 1)),
            tf.keras.layers.Conv2D(4, 3, activation="relu", kernel_regularizer=regularizer),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(8, activation="relu", kernel_regularizer=regularizer),
            tf.keras.layers.Dense(3),
        ]
    )


def set_initial_weights(model):
    random = np.random.RandomState(1)
    model.set_weights([random.normal(0, 0.2, weight.shape).astype("float32") for weight in model.get_weights()])


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    train_data, test_data = make_data()
    train_dataset = tf.data.Dataset.from_tensor_slices(train_data).batch(BATCH_SIZE)
    test_dataset = tf.data.Dataset.from_tensor_slices(test_data).batch(BATCH_SIZE)
    train_dist_dataset = strategy.experimental_distribute_dataset(train_dataset)
    test_dist_dataset = strategy.experimental_distribute_dataset(test_dataset)

    with strategy.scope():
        loss_object = tf.keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction=tf.keras.losses.Reduction.NONE
        )
        test_loss = tf.keras.metrics.Mean(name="test_loss")
        train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
        test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")
        model = create_model()
        set_initial_weights(model)
        optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)
        optimizer.build(model.trainable_variables)

    def compute_loss(labels, predictions, model_losses):
        per_example_loss = loss_object(labels, predictions)
        loss = tf.nn.compute_average_loss(per_example_loss, global_batch_size=BATCH_SIZE)
        if model_losses:
            loss += tf.nn.scale_regularization_loss(tf.add_n(model_losses))
        return loss

    def train_step(inputs):
        images, labels = inputs
        with tf.GradientTape() as tape:
            predictions = model(images, training=True)
            loss = compute_loss(labels, predictions, model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        train_accuracy.update_state(labels, predictions)
        return loss

    def test_step(inputs):
        images, labels = inputs
        predictions = model(images, training=False)
        test_loss.update_state(loss_object(labels, predictions))
        test_accuracy.update_state(labels, predictions)

    @tf.function
    def distributed_train_step(dataset_inputs):
        per_replica_losses = strategy.run(train_step, args=(dataset_inputs,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)

    @tf.function
    def distributed_test_step(dataset_inputs):
        return strategy.run(test_step, args=(dataset_inputs,))

    results = []
    for _ in range(EPOCHS):
        for x in train_dist_dataset:
            results.append(float(distributed_train_step(x)))
        for x in test_dist_dataset:
            distributed_test_step(x)
        results += [float(metric.result()) for metric in (train_accuracy, test_loss, test_accuracy)]
        test_loss.reset_state()
        train_accuracy.reset_state()
        test_accuracy.reset_state()
    return results


if __name__ == "__main__":
    print(main())

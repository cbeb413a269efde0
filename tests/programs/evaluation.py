"""An evaluation loop with metrics, over a dataset whose last batch is not full."""

import numpy as np
import tensorflow as tf

BATCH_SIZE = 8


def create_model():
    model = tf.keras.Sequential(
        [tf.keras.Input(shape=(5,)), tf.keras.layers.Dense(6, activation="relu"), tf.keras.layers.Dense(2)]
    )
    random = np.random.RandomState(0)
    model.set_weights([random.normal(0, 0.6, weight.shape).astype("float32") for weight in model.get_weights()])
    return model


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    random = np.random.RandomState(1)
    x = random.normal(size=(27, 5)).astype("float32")
    y = random.randint(0, 2, 27).astype("int32")
    weights = random.uniform(0.5, 1.5, 27).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((x, y, weights)).batch(BATCH_SIZE)
    dist_dataset = strategy.experimental_distribute_dataset(dataset)

    with strategy.scope():
        model = create_model()
        eval_loss = tf.keras.metrics.Mean(name="eval_loss")
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")
        auc = tf.keras.metrics.AUC(num_thresholds=50, name="auc")
        loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    def eval_step(inputs):
        features, labels, sample_weight = inputs
        logits = model(features, training=False)
        eval_loss.update_state(loss_object(labels, logits), sample_weight=sample_weight)
        accuracy.update_state(labels, logits)
        auc.update_state(labels, tf.nn.softmax(logits)[:, 1])
        return tf.cast(tf.argmax(logits, axis=1), tf.int32), labels

    distributed_eval_step = tf.function(lambda inputs: strategy.run(eval_step, args=(inputs,)))

    def evaluate(step):
        for metric in (eval_loss, accuracy, auc):
            metric.reset_state()
        predictions, labels, progress = [], [], []
        for inputs in dist_dataset:
            predicted, expected = step(inputs)
            predictions += [part.numpy() for part in strategy.experimental_local_results(predicted)]
            labels += [part.numpy() for part in strategy.experimental_local_results(expected)]
            progress.append(accuracy.result().numpy())
        predictions, labels = np.concatenate(predictions), np.concatenate(labels)
        print(f"loss {eval_loss.result():.3f}, accuracy {accuracy.result():.3f}, AUC {auc.result():.3f}")
        totals = [eval_loss.result(), accuracy.result(), auc.result(), np.mean(predictions == labels), len(labels)]
        return [float(value) for value in progress + totals]

    staged = evaluate(distributed_eval_step)
    eager = evaluate(lambda inputs: strategy.run(eval_step, args=(inputs,)))
    return staged + eager


if __name__ == "__main__":
    print(main())

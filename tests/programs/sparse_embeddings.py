"""A recommender with embedding tables, whose gradients are slices of the tables."""

import numpy as np
import tensorflow as tf

USERS, ITEMS, WIDTH, BATCH_SIZE = 12, 20, 4, 8


class Recommender(tf.Module):
    """Predicts a rating from a user's and an item's embedding."""

    def __init__(self):
        super().__init__()
        random = np.random.RandomState(0)
        self.users = tf.Variable(random.normal(0, 0.4, (USERS, WIDTH)), dtype=tf.float32, name="users")
        self.items = tf.Variable(random.normal(0, 0.4, (ITEMS, WIDTH)), dtype=tf.float32, name="items")
        self.item_bias = tf.Variable(np.zeros(ITEMS, "float32"), name="item_bias")
        self.dense = tf.Variable(random.normal(0, 0.4, (WIDTH, WIDTH)), dtype=tf.float32, name="dense")

    def __call__(self, users, items):
        user_vectors = tf.nn.embedding_lookup(self.users, users)
        item_vectors = tf.nn.embedding_lookup(self.items, items)
        scores = tf.reduce_sum(tf.matmul(user_vectors, self.dense) * item_vectors, axis=1)
        return scores + tf.gather(self.item_bias, items)


def make_dataset():
    random = np.random.RandomState(1)
    users, items = random.randint(0, USERS, 32), random.randint(0, ITEMS, 32)  # some are in a batch twice
    ratings = random.uniform(1, 5, 32).astype("float32")
    columns = {"user": users, "item": items, "rating": ratings}
    return tf.data.Dataset.from_tensor_slices(columns).batch(BATCH_SIZE)


def train(strategy, make_optimizer):
    with strategy.scope():
        model = Recommender()
        optimizer = make_optimizer()
        optimizer.build(model.trainable_variables)
    kinds = []

    def step(batch):
        with tf.GradientTape() as tape:
            predicted = model(batch["user"], batch["item"])
            loss = tf.nn.compute_average_loss((predicted - batch["rating"]) ** 2, global_batch_size=BATCH_SIZE)
        gradients = tape.gradient(loss, model.trainable_variables)
        kinds[:] = [isinstance(gradient, tf.IndexedSlices) for gradient in gradients]
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function
    def distributed_step(batch):
        return strategy.reduce("SUM", strategy.run(step, args=(batch,)), axis=None)

    results = []
    for batch in strategy.experimental_distribute_dataset(make_dataset()):
        results.append(float(distributed_step(batch)))
    results += [float(kind) for kind in kinds]
    results += [float(np.sum(np.abs(variable.numpy()))) for variable in model.trainable_variables]
    return results


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    results = train(strategy, lambda: tf.keras.optimizers.SGD(0.1))
    results += train(strategy, lambda: tf.keras.optimizers.Adagrad(0.1))
    return results + train(strategy, lambda: tf.keras.optimizers.Adam(0.1))


if __name__ == "__main__":
    print(main())

"""Fine-tuning of a small transformer encoder: warm-up and decay of the learning rate, AdamW, gradients clipped by global norm."""

import numpy as np
import tensorflow as tf

VOCABULARY, LENGTH, WIDTH, CLASSES = 20, 6, 8, 2
BATCH_SIZE, STEPS = 8, 6


class WarmUp(tf.keras.optimizers.schedules.LearningRateSchedule):
    """Rises linearly to the initial learning rate, and then follows another schedule."""

    def __init__(self, initial_learning_rate, decay_schedule_fn, warmup_steps):
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.warmup_steps = warmup_steps
        self.decay_schedule_fn = decay_schedule_fn

    def __call__(self, step):
        global_step = tf.cast(step, tf.float32)
        warmup_steps = tf.cast(self.warmup_steps, tf.float32)
        warmup_rate = self.initial_learning_rate * (global_step + 1.0) / warmup_steps
        return tf.cond(
            global_step < warmup_steps,
            lambda: warmup_rate,
            lambda: tf.cast(self.decay_schedule_fn(step), tf.float32),
        )


class EncoderBlock(tf.keras.layers.Layer):
    """Self-attention and a feed-forward network, each with a residual connection and a normalization."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.attention = tf.keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)
        self.feed_forward = tf.keras.Sequential(
            [tf.keras.layers.Dense(16, activation="gelu"), tf.keras.layers.Dense(WIDTH)]
        )
        self.first_norm = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.second_norm = tf.keras.layers.LayerNormalization(epsilon=1e-6)

    def call(self, x, mask):
        attended = self.attention(x, x, attention_mask=mask[:, tf.newaxis, :])
        x = self.first_norm(x + attended)
        return self.second_norm(x + self.feed_forward(x))


def build_classifier():
    tokens = tf.keras.Input(shape=(LENGTH,), dtype="int32", name="input_word_ids")
    mask = tf.keras.Input(shape=(LENGTH,), dtype="bool", name="input_mask")
    embedded = tf.keras.layers.Embedding(VOCABULARY, WIDTH)(tokens)
    encoded = EncoderBlock()(embedded, mask)
    pooled = tf.keras.layers.Dense(WIDTH, activation="tanh")(encoded[:, 0])
    logits = tf.keras.layers.Dense(CLASSES, name="classifier")(pooled)
    return tf.keras.Model({"input_word_ids": tokens, "input_mask": mask}, logits)


def make_dataset():
    random = np.random.RandomState(0)
    tokens = random.randint(1, VOCABULARY, (BATCH_SIZE * STEPS, LENGTH)).astype("int32")
    lengths = random.randint(2, LENGTH + 1, len(tokens))
    mask = np.arange(LENGTH)[None, :] < lengths[:, None]
    labels = (tokens[:, 0] % CLASSES).astype("int32")
    features = {"input_word_ids": tokens * mask, "input_mask": mask}
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(BATCH_SIZE)


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = build_classifier()
        random = np.random.RandomState(1)
        model.set_weights([random.normal(0, 0.3, weight.shape).astype("float32") for weight in model.get_weights()])
        decay = tf.keras.optimizers.schedules.PolynomialDecay(0.02, decay_steps=STEPS, end_learning_rate=0.0)
        optimizer = tf.keras.optimizers.AdamW(WarmUp(0.02, decay, warmup_steps=3), weight_decay=0.01)
        optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma"])
        optimizer.build(model.trainable_variables)
        loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def train_step(iterator):
        def step_fn(inputs):
            features, labels = inputs
            with tf.GradientTape() as tape:
                logits = model(features, training=True)
                loss = tf.nn.compute_average_loss(loss_fn(labels, logits), global_batch_size=BATCH_SIZE)
            grads = tape.gradient(loss, model.trainable_variables)
            grads, norm = tf.clip_by_global_norm(grads, 0.14)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
            accuracy.update_state(labels, logits)
            return loss, norm

        losses, norms = strategy.run(step_fn, args=(next(iterator),))
        return strategy.reduce("SUM", losses, axis=None), strategy.reduce("MEAN", norms, axis=None)

    results = []
    iterator = iter(strategy.experimental_distribute_dataset(make_dataset()))
    for _ in range(STEPS):
        loss, norm = train_step(iterator)
        results += [loss.numpy(), norm.numpy(), float(optimizer.learning_rate)]
    results.append(accuracy.result().numpy())
    return [float(result) for result in results]


if __name__ == "__main__":
    print(main())

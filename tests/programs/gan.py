"""A generative adversarial network: two models, two optimizers, two tapes in one step."""

import numpy as np
import tensorflow as tf

BATCH_SIZE = 8
NOISE_DIM = 4


def make_generator_model():
    model = tf.keras.Sequential()
    model.add(tf.keras.layers.Input(shape=(NOISE_DIM,)))
    model.add(tf.keras.layers.Dense(4 * 4 * 4, use_bias=False))
    model.add(tf.keras.layers.LeakyReLU())
    model.add(tf.keras.layers.Reshape((4, 4, 4)))
    model.add(tf.keras.layers.Conv2DTranspose(1, (3, 3), strides=(2, 2), padding="same", activation="tanh"))
    return model


def make_discriminator_model():
    model = tf.keras.Sequential()
    model.add(tf.keras.layers.Input(shape=(8, 8, 1)))
    model.add(tf.keras.layers.Conv2D(4, (3, 3), strides=(2, 2), padding="same"))
    model.add(tf.keras.layers.LeakyReLU())
    model.add(tf.keras.layers.Flatten())
    model.add(tf.keras.layers.Dense(1))
    return model


def set_initial_weights(model, seed):
    random = np.random.RandomState(seed)
    model.set_weights([random.normal(0, 0.1, weight.shape).astype("float32") for weight in model.get_weights()])


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    random = np.random.RandomState(0)
    images = random.uniform(-1, 1, (32, 8, 8, 1)).astype("float32")
    noises = random.normal(size=(32, NOISE_DIM)).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((images, noises)).batch(BATCH_SIZE, drop_remainder=True)

    with strategy.scope():
        generator = make_generator_model()
        discriminator = make_discriminator_model()
        set_initial_weights(generator, 1)
        set_initial_weights(discriminator, 2)
        generator_optimizer = tf.keras.optimizers.Adam(1e-2, beta_1=0.5)
        discriminator_optimizer = tf.keras.optimizers.RMSprop(1e-2)
        generator_optimizer.build(generator.trainable_variables)
        discriminator_optimizer.build(discriminator.trainable_variables)
        cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True, reduction=tf.keras.losses.Reduction.NONE)

    def discriminator_loss(real_output, fake_output):
        real_loss = cross_entropy(tf.ones_like(real_output), real_output)
        fake_loss = cross_entropy(tf.zeros_like(fake_output), fake_output)
        return tf.reduce_sum(real_loss + fake_loss) * (1.0 / BATCH_SIZE)

    def generator_loss(fake_output):
        return tf.reduce_sum(cross_entropy(tf.ones_like(fake_output), fake_output)) * (1.0 / BATCH_SIZE)

    def train_step(images, noise):
        with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
            generated_images = generator(noise, training=True)
            real_output = discriminator(images, training=True)
            fake_output = discriminator(generated_images, training=True)
            gen_loss = generator_loss(fake_output)
            disc_loss = discriminator_loss(real_output, fake_output)
        gen_gradients = gen_tape.gradient(gen_loss, generator.trainable_variables)
        disc_gradients = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
        generator_optimizer.apply_gradients(zip(gen_gradients, generator.trainable_variables))
        discriminator_optimizer.apply_gradients(zip(disc_gradients, discriminator.trainable_variables))
        return gen_loss, disc_loss

    @tf.function
    def distributed_train_step(images, noise):
        per_replica_gen_loss, per_replica_disc_loss = strategy.run(train_step, args=(images, noise))
        gen_loss = strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_gen_loss, axis=None)
        disc_loss = strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_disc_loss, axis=None)
        return gen_loss, disc_loss

    results = []
    for image_batch, noise_batch in strategy.experimental_distribute_dataset(dataset):
        gen_loss, disc_loss = distributed_train_step(image_batch, noise_batch)
        results += [float(gen_loss), float(disc_loss)]
    sample = generator(noises[:2], training=False)
    results.append(float(tf.reduce_mean(sample)))
    return results


if __name__ == "__main__":
    print(main())

"""The model of custom_training.py in flax, trained with optax: it runs on refdist only, and has the losses of that program."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import refdist as tf

BATCH_SIZE = 8
EPOCHS = 2


def make_data():
    random = np.random.RandomState(0)
    images = random.rand(40, 8, 8, 1).astype("float32")
    labels = random.randint(0, 3, 40).astype("int32")
    return images[:24], labels[:24]


class Model(nnx.Module):
    """A convolution and two dense layers."""

    def __init__(self, rngs):
        self.convolution = nnx.Conv(1, 4, (3, 3), padding="VALID", rngs=rngs)
        self.hidden = nnx.Linear(36, 8, rngs=rngs)
        self.last = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.convolution(x)), (2, 2), strides=(2, 2))
        return self.last(nnx.relu(self.hidden(x.reshape(len(x), -1))))


def make_model():
    model, random = Model(nnx.Rngs(0)), np.random.RandomState(1)
    for layer in (model.convolution, model.hidden, model.last):
        for weight in (layer.kernel, layer.bias):
            weight[...] = jnp.asarray(random.normal(0, 0.2, weight.shape).astype("float32"))
    return nnx.split(model, nnx.Param)


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    graph, parameters = make_model()
    optimizer = optax.adam(0.01, eps=1e-7)
    with strategy.scope():
        held, state = tf.VariableTree(parameters), tf.VariableTree(optimizer.init(parameters))

    def loss(parameters, x, y):
        model = nnx.merge(graph, parameters)
        losses = optax.softmax_cross_entropy_with_integer_labels(model(x), y)
        penalty = sum(jnp.sum(layer.kernel[...] ** 2) for layer in (model.convolution, model.hidden))
        return jnp.sum(losses) / BATCH_SIZE + 1e-3 * penalty / strategy.num_replicas_in_sync

    def train_step(inputs):
        current = held.read()
        value, gradients = jax.value_and_grad(loss)(current, *inputs)
        total = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
        updates, new = optimizer.update(total, state.read(), current)
        held.assign(optax.apply_updates(current, updates))
        state.assign(new)
        return value

    @tf.function
    def distributed_train_step(inputs):
        return strategy.reduce("SUM", strategy.run(train_step, args=(inputs,)), axis=None)

    dataset = strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensor_slices(make_data()).batch(BATCH_SIZE)
    )
    return [float(distributed_train_step(inputs)) for _ in range(EPOCHS) for inputs in dataset]


if __name__ == "__main__":
    print(main())

"""Train a small perceptron: one program for virtual and for real devices, step by step or compiled.

python examples/mlp.py --backend simulator --replicas 4
python examples/mlp.py --backend jax --replicas 4 --eager

The losses are those of one replica, whatever the number of replicas and the mode.
"""

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import refdist as tf


class Epoch(NamedTuple):
    """The results of one pass over the data."""

    loss: float
    accuracy: float
    seconds: float


def made_data(examples: int, inputs: int, classes: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw points, and label each with the nearest of some directions."""
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(examples, inputs)).astype(np.float32)
    directions = generator.normal(size=(inputs, classes))
    return points, (points @ directions).argmax(1).astype(np.int32)


def initial_parameters(sizes: Sequence[int], *, seed: int = 1) -> list[np.ndarray]:
    """A matrix and a bias for each layer."""
    generator = np.random.default_rng(seed)
    parameters: list[np.ndarray] = []
    for inputs, outputs in itertools.pairwise(sizes):
        parameters.append(generator.normal(0.0, (2 / inputs) ** 0.5, (inputs, outputs)).astype(np.float32))
        parameters.append(np.zeros(outputs, np.float32))
    return parameters


def scores(parameters: Sequence[Any], x: Any) -> Any:
    """The score that the network gives to each class."""
    *hidden, weight, bias = parameters
    for inner_weight, inner_bias in zip(hidden[::2], hidden[1::2], strict=True):
        x = jax.nn.relu(x @ inner_weight + inner_bias)
    return x @ weight + bias


def total_loss(parameters: Sequence[Any], x: Any, y: Any) -> tuple[Any, Any]:
    """The summed cross entropy of some examples, and how many of them are classified correctly."""
    found = scores(parameters, x)
    likelihood = jnp.take_along_axis(jax.nn.log_softmax(found), y[:, None], axis=1)
    return -likelihood.sum(), (found.argmax(1) == y).sum().astype(jnp.float32)


# Compiled as a whole, because otherwise each operation would be compiled for each device; in tf.function it makes no difference.
loss_and_gradients = jax.jit(jax.value_and_grad(total_loss, has_aux=True))


def train(
    strategy: Any,
    data: tuple[np.ndarray, np.ndarray],
    sizes: Sequence[int],
    *,
    epochs: int,
    batch: int,
    rate: float = 0.2,
    eager: bool = False,
) -> Iterator[Epoch]:
    """Train with the replicas of a strategy; the global batch and the losses do not depend on how many there are."""
    with strategy.scope():
        variables = [tf.Variable(parameter) for parameter in initial_parameters(sizes)]
        right = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )

    def replica_step(x: Any, y: Any) -> Any:
        parameters = [variable.read_value() for variable in variables]
        (loss, hits), gradients = loss_and_gradients(parameters, x, y)
        # Sums, not means: the pieces of a last partial batch have different sizes, and some are empty.
        gradients = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(rate / batch * gradient)
        right.assign_add(hits)
        return loss

    def step(x: Any, y: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(replica_step, args=(x, y)), axis=None)

    train_step = step if eager else tf.function(step)
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(data).batch(batch))
    for _ in range(epochs):
        start = time.perf_counter()
        right.assign(0.0)
        loss = sum(float(train_step(x, y)) for x, y in dataset)
        yield Epoch(loss / len(data[0]), float(right.read_value()) / len(data[0]), time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small perceptron on the replicas of a strategy.")
    parser.add_argument("--backend", choices=["simulator", "jax"], default="simulator")
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--eager", action="store_true", help="run each step in Python, without tf.function")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64, help="size of the global batch")
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 32, 10], help="width of each layer")
    options = parser.parse_args()

    tf.use(options.backend, cpus=options.replicas)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(options.replicas)])
    data = made_data(options.examples, options.sizes[0], options.sizes[-1])
    epochs = train(strategy, data, options.sizes, epochs=options.epochs, batch=options.batch, eager=options.eager)
    print("epoch     loss  accuracy  seconds")
    for number, epoch in enumerate(epochs, 1):
        print(f"{number:5}  {epoch.loss:7.5f}  {epoch.accuracy:8.3f}  {epoch.seconds:7.3f}")


if __name__ == "__main__":
    main()

"""Train a flax model with an optax optimizer on the replicas of a strategy.

python examples/flax_optax.py --replicas 4

Parameters and the state of the optimizer are held in variables, one for each array. Needs `pip install refdist[examples]`.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import optax
from flax import nnx

import refdist as tf


class Classifier(nnx.Module):
    """Two dense layers."""

    def __init__(self, inputs: int, width: int, classes: int, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(inputs, width, rngs=rngs)
        self.last = nnx.Linear(width, classes, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.last(nnx.relu(self.first(x)))


def made_data(examples: int, inputs: int, classes: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw points around one centre for each class."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, examples).astype(np.int32)
    centres = generator.normal(size=(classes, inputs))
    return (centres[labels] + generator.normal(size=(examples, inputs))).astype(np.float32), labels


def made_optimizer() -> optax.GradientTransformation:
    return optax.adam(1e-2)


def train(
    strategy: Any, data: tuple[np.ndarray, np.ndarray], model: nnx.Module, *, epochs: int, batch: int
) -> Iterator[float]:
    """Train on the replicas of a strategy, and yield the mean loss of each epoch."""
    graph, parameters = nnx.split(model, nnx.Param)
    optimizer = made_optimizer()
    with strategy.scope():
        held, state = tf.VariableTree(parameters), tf.VariableTree(jax.jit(optimizer.init)(parameters))

    @jax.jit
    @jax.value_and_grad
    def loss_and_gradients(parameters: Any, x: Any, y: Any) -> Any:
        scores = nnx.merge(graph, parameters)(x)
        return optax.softmax_cross_entropy_with_integer_labels(scores, y).sum()

    @jax.jit
    def updated(parameters: Any, state: Any, total: Any) -> tuple[Any, Any]:
        mean = jax.tree.map(lambda gradient: gradient / batch, total)
        updates, state = optimizer.update(mean, state, parameters)
        return optax.apply_updates(parameters, updates), state

    def replica_step(x: Any, y: Any) -> Any:
        parameters = held.read()
        loss, gradients = loss_and_gradients(parameters, x, y)
        total = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
        parameters, moments = updated(parameters, state.read(), total)
        held.assign(parameters)
        state.assign(moments)
        return loss

    @tf.function
    def train_step(x: Any, y: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(replica_step, args=(x, y)), axis=None)

    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(data).batch(batch))
    for _ in range(epochs):
        yield sum(float(train_step(x, y)) for x, y in dataset) / len(data[0])


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a flax model with optax on the replicas of a strategy.")
    parser.add_argument("--backend", choices=["jax", "simulator"], default="jax")
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64, help="size of the global batch")
    parser.add_argument("--examples", type=int, default=960)
    options = parser.parse_args()

    tf.use(options.backend, cpus=options.replicas)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(options.replicas)])
    data = made_data(options.examples, 32, 10)
    model = nnx.jit(lambda: Classifier(32, 64, 10, nnx.Rngs(0)))()
    print("epoch     loss")
    for number, loss in enumerate(train(strategy, data, model, epochs=options.epochs, batch=options.batch), 1):
        print(f"{number:5}  {loss:7.5f}")


if __name__ == "__main__":
    main()

"""The last batch of a dataset, which does not divide by the replicas, gives staged what it gives eagerly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

ON_READ = tf.VariableSynchronization.ON_READ
AGGREGATION = tf.VariableAggregation


def mirrored(backend, count):
    device = "CPU" if backend == "jax" else "GPU"
    with tf.using(backend, **({"cpus": 8} if backend == "jax" else {"gpus": 8})):
        return tf.distribute.MirroredStrategy([f"{device}:{index}" for index in range(count)])


@pytest.mark.parametrize("backend", ["simulator", "jax"])
@given(
    count=generators.sampled_from([1, 2, 3]),
    size=generators.integers(1, 9),
    batch=generators.sampled_from([2, 4, 5]),
    op=generators.sampled_from(["SUM", "MEAN"]),
    mode=generators.sampled_from(["around", "inside"]),
)
@settings(max_examples=12)
def test_uneven_last_batches_give_what_eager_ones_give(backend, count, size, batch, op, mode):
    strategy = mirrored(backend, count)
    with strategy.scope():
        seen = [tf.Variable(0.0, synchronization=ON_READ, aggregation=AGGREGATION.SUM) for _ in range(2)]
    data = tf.data.Dataset.from_tensor_slices(np.arange(size, dtype=np.float32)).batch(batch)

    def body(variable, x):
        variable.assign_add(tf.reduce_sum(x))
        return x * 2.0

    def around(variable, x):
        return strategy.reduce(op, strategy.run(lambda y: body(variable, y), args=(x,)), axis=0)

    inside = tf.function(lambda x: body(seen[1], x))
    staged = {
        "around": tf.function(lambda x: around(seen[1], x)),
        "inside": lambda x: strategy.reduce(op, strategy.run(inside, args=(x,)), axis=0),
    }[mode]
    for x in strategy.experimental_distribute_dataset(data):
        assert float(staged(x)) == pytest.approx(float(around(seen[0], x)), rel=1e-4, nan_ok=True)

    assert float(seen[0].read_value()) == float(seen[1].read_value()) == sum(range(size))

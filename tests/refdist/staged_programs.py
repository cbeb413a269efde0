"""What the tests of staged execution share: backends that stage in their own ways, and values to give to programs."""

import numpy as np
import pytest

import refdist as tf

ctx = tf.distribute.get_replica_context
ON_READ = tf.VariableSynchronization.ON_READ
SUM, MEAN, NONE = tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN, tf.VariableAggregation.NONE
COUNTS = [1, 2, 3, 8]


@pytest.fixture(params=["simulator", "jax"])
def names(request):
    """Device names of a backend that stages programs in its own way."""
    options = {"cpus": 8} if request.param == "jax" else {"gpus": 8}
    kind = "CPU" if request.param == "jax" else "GPU"
    with tf.using(request.param, **options):
        yield [f"{kind}:{index}" for index in range(8)]


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:2])


def numbers(strategy, value):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(value)]


def numbered(strategy):
    return strategy.run(lambda: tf.constant([1.0, 2.0]) * (ctx().replica_id_in_sync_group + 1))

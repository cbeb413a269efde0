"""Meetings below functions that call the user's code: the order of the calls counts, however they are made."""

import pytest

import refdist as tf
from tests.zoo.ways import both_ways, mirrored, runner


def total(x):
    return tf.distribute.get_replica_context().all_reduce("SUM", x)


def keras_layer():
    class Total(tf.keras.layers.Layer):
        def call(self, x):
            return total(x)

    return Total()


CALLS = {
    "layer": keras_layer,
    "cond": lambda: lambda x: tf.cond(tf.constant(True), lambda: total(x), lambda: x),
    "map_structure": lambda: lambda x: tf.nest.map_structure(total, [x]),
    "custom_gradient": lambda: tf.custom_gradient(lambda x: (total(x), lambda upstream: upstream)),
    "function": lambda: tf.function(total),
    "recompute_grad": lambda: tf.recompute_grad(total),
    "while_loop": lambda: lambda x: tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, total(y)), (0, x)),
    "plain": lambda: lambda x: total(x),
}


@both_ways
@pytest.mark.parametrize("kind", CALLS)
def test_replicas_that_call_in_another_order_do_not_meet(kind, way):
    strategy, call = mirrored(2), CALLS[kind]()

    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        x = tf.ones([1, 1])
        if number == 0:
            call(x)
            call(x + 100.0)
        else:
            call(x + 100.0)
            call(x)

    with pytest.raises(tf.errors.MeetingError, match=r"do not meet(.|\n)*test_calls_back\.py"):
        runner(strategy, way)(replica)


@both_ways
@pytest.mark.parametrize("kind", CALLS)
def test_replicas_that_call_in_one_order_meet(kind, way):
    strategy, call = mirrored(2), CALLS[kind]()

    def replica():
        return call(tf.ones([1, 1])), call(tf.ones([1, 1]) + 100.0)

    found = [float(tf.reshape(tf.nest.flatten(one)[-1].values[1], [])) for one in runner(strategy, way)(replica)]
    assert [2.0, 202.0] == found

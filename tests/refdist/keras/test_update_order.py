"""Replicas that give an optimizer its gradients in another order: nothing is added up that does not belong together."""

import numpy as np
import pytest

import refdist as tf
from tests.zoo.ways import both_ways, mirrored, runner


def made(strategy, kind):
    with strategy.scope():
        pair = tf.Variable([0.0], name="a"), tf.Variable([0.0], name="b")
        if kind == "v1":
            return *pair, *(tf.compat.v1.train.MomentumOptimizer(1.0, 0.5, name=name) for name in ("one", "another"))
        optimizers = [tf.keras.optimizers.Adam(1.0, name=name) for name in ("one", "another")]
        for optimizer in optimizers:
            optimizer.build(list(pair))
        return *pair, *optimizers


def number():
    return tf.distribute.get_replica_context().replica_id_in_sync_group


@both_ways
@pytest.mark.parametrize(
    ("mistake", "kind"),
    [("order", "keras"), ("order", "v1"), ("one by one", "keras"), ("one by one", "v1"), ("optimizer", "keras")],
)
def test_replicas_that_update_something_else_do_not_meet(kind, mistake, way):
    strategy = mirrored(2)
    a, b, optimizer, other = made(strategy, kind)

    def replica():
        pairs = [(tf.constant([1.0]), a), (tf.constant([10.0]), b)]
        turned = pairs if number() == 0 else pairs[::-1]
        if mistake == "order":
            optimizer.apply_gradients(turned)
        elif mistake == "one by one":
            for pair in turned:
                optimizer.apply_gradients([pair])
        else:
            (optimizer if number() == 0 else other).apply_gradients(pairs)

    said = {
        "order": r"an update of 'a:0', 'b:0' by the optimizer '\w+' at .*(.|\n)*an update of 'b:0', 'a:0' by",
        "one by one": r"an update of 'a:0' by(.|\n)*an update of 'b:0' by",
        "optimizer": r"by the optimizer 'one' at .*test_update_order\.py(.|\n)*by the optimizer 'another'",
    }
    with pytest.raises(tf.errors.MeetingError, match=said[mistake]):
        runner(strategy, way)(replica)
    assert [0.0, 0.0] == [float(np.asarray(one)[0]) for one in (a, b)]


@both_ways
@pytest.mark.parametrize("kind", ["keras", "v1"])
def test_an_order_that_all_replicas_have_is_fine(kind, way):
    strategy = mirrored(3)
    a, b, optimizer, other = made(strategy, kind)

    def replica():
        optimizer.apply_gradients([(tf.constant([1.0]), b), (tf.constant([1.0]), a)])
        other.apply_gradients([(tf.constant([1.0]), a)])

    runner(strategy, way)(replica)
    assert float(a[0]) < float(b[0]) < 0.0


@both_ways
def test_each_replica_may_have_made_the_optimizer_in_its_first_run(way):
    strategy = mirrored(2)
    with strategy.scope():
        weight = tf.Variable([0.0])

    def replica():
        for optimizer in (tf.keras.optimizers.SGD(1.0), tf.compat.v1.train.GradientDescentOptimizer(1.0)):
            optimizer.apply_gradients([(tf.constant([1.0]), weight)])

    runner(strategy, way)(replica)
    assert -4.0 == float(weight[0])

import numpy as np
import pytest

import refdist as tf


@pytest.fixture
def strategy():
    with tf.using("simulator", cpus=2):
        yield tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


TRUE, GUESS = np.zeros((4, 1), "float32"), np.array([[1.0], [2.0], [3.0], [4.0]], "float32")


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [("sum_over_batch_size", 3.75), ("sum", 30.0), ("mean", 3.75), ("none", [1.0, 4.0, 9.0, 16.0])],
)
def test_a_mean_is_divided_by_the_number_of_replicas_as_in_tensorflow(strategy, reduction, expected):
    with strategy.scope():
        loss = tf.keras.losses.MeanSquaredError(reduction=reduction)
    results = strategy.experimental_local_results(strategy.run(lambda: loss(TRUE, GUESS)))

    for result in results:
        np.testing.assert_allclose(result, expected)
    with strategy.scope():
        np.testing.assert_allclose(loss(TRUE, GUESS), expected)
    alone = np.asarray(expected) * (1 if reduction in ("sum", "none") else 2)
    np.testing.assert_allclose(loss(TRUE, GUESS), alone)


def test_what_layers_add_to_the_loss_is_divided_too(strategy):
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.Input((1,)), tf.keras.layers.Dense(1, kernel_initializer="ones", kernel_regularizer="l2")]
        )
        model.compile(loss="mse")

    def replica():
        return model.compute_loss(x=GUESS, y=TRUE, y_pred=model(GUESS))

    # The mean square 7.5 and the penalty 0.01, each divided by two.
    assert [3.755, 3.755] == pytest.approx(
        [float(one) for one in strategy.experimental_local_results(strategy.run(replica))]
    )
    assert 7.51 == pytest.approx(float(model.compute_loss(x=GUESS, y=TRUE, y_pred=model(GUESS))))


def test_reductions_have_the_names_of_tensorflow():
    assert ("none", "sum") == (tf.keras.losses.Reduction.NONE, tf.keras.losses.Reduction.SUM)

import json

import numpy as np
import pytest

import refdist as tf
from tests.refdist.keras.optimizer_programs import ANSWERS, CASES, weights

EXPECTED = json.loads(ANSWERS.read_text())


@pytest.fixture(params=["simulator", "jax"])
def strategy(request):
    with tf.using(request.param, cpus=2):
        yield tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def replica_number():
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def made(strategy, make=lambda: tf.keras.optimizers.SGD(0.5)):
    with strategy.scope():
        return tf.Variable([1.0, 2.0]), make()


@pytest.mark.parametrize("case", CASES)
def test_replicas_take_the_steps_that_tensorflow_takes(case):
    # Half of the cases on each backend: the update is the same code on both.
    backend = ["simulator", "jax"][list(CASES).index(case) % 2]
    with tf.using(backend, cpus=2):
        np.testing.assert_allclose(weights(tf, case), EXPECTED[case], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "staged"])
def test_what_an_optimizer_keeps_is_made_in_the_first_step(strategy, staged):
    variable, optimizer = made(strategy, lambda: tf.keras.optimizers.SGD(0.5, momentum=0.5))

    def replica():
        return optimizer.apply_gradients([(tf.constant([1.0, 2.0]) * (replica_number() + 1.0), variable)])

    def step():
        strategy.run(replica)

    for _ in range(2):
        (tf.function(step) if staged else step)()

    # The sums are [3, 6]; the second step adds half of the first.
    assert [-2.75, -5.5] == variable.numpy().tolist()
    assert (2, 3) == (optimizer.iterations.numpy(), len(optimizer.variables))


def test_outside_of_replicas_gradients_are_applied_as_they_are(strategy):
    variable, optimizer = made(strategy)
    with strategy.scope():
        optimizer.apply_gradients([(tf.constant([1.0, 1.0]), variable)])
    plain, alone = tf.Variable([1.0, 2.0]), tf.keras.optimizers.SGD(0.5)
    tf.function(lambda: alone.apply_gradients([(tf.constant([1.0, 1.0]), plain)]))()

    assert [0.5, 1.5] == variable.numpy().tolist() == plain.numpy().tolist()


def test_gradients_that_are_summed_already_are_not_summed_again(strategy):
    variable, optimizer = made(strategy)

    def replica():
        total = tf.distribute.get_replica_context().all_reduce("SUM", tf.constant([1.0, 1.0]))
        optimizer.apply_gradients([(total, variable)], skip_gradients_aggregation=True)

    strategy.run(replica)

    assert [0.0, 1.0] == variable.numpy().tolist()


def test_the_learning_rate_can_be_changed_and_read(strategy):
    variable, optimizer = made(strategy)
    step = tf.function(lambda: strategy.run(lambda: optimizer.apply_gradients([(tf.constant([1.0, 1.0]), variable)])))
    step()
    optimizer.learning_rate = 0.25
    step()

    assert [-0.5, 0.5] == variable.numpy().tolist()
    assert 0.25 == float(optimizer.learning_rate) == optimizer.learning_rate.numpy()
    assert 3 == optimizer.iterations + 1


def test_missing_gradients_are_told_as_keras_does(strategy):
    variable, optimizer = made(strategy)
    with strategy.scope():
        other = tf.Variable([1.0], name="other")
    gradient = tf.constant([1.0, 1.0])
    with pytest.warns(UserWarning, match="do not exist for variables.*other"):
        strategy.run(lambda: optimizer.apply_gradients([(gradient, variable), (None, other)]))

    assert [0.0, 1.0] == variable.numpy().tolist()
    with pytest.raises(ValueError, match="No gradients provided"):
        strategy.run(lambda: optimizer.apply_gradients([(None, variable), (None, other)]))


def test_gradients_without_variables_are_refused(strategy):
    _, optimizer = made(strategy)

    with pytest.raises(ValueError, match="1 gradients for 0 variables"):
        strategy.run(lambda: optimizer.apply([tf.constant([1.0, 1.0])]))


def test_a_constraint_holds_after_a_step(strategy):
    with strategy.scope():
        layer = tf.keras.layers.Dense(1, kernel_constraint="non_neg", use_bias=False)
        layer.build((None, 2))
        layer.set_weights([np.array([[1.0], [0.5]])])
        optimizer = tf.keras.optimizers.SGD(1.0)
    strategy.run(lambda: optimizer.apply([tf.constant([[0.25], [0.5]])], layer.trainable_variables))

    assert [[0.5], [0.0]] == layer.kernel.numpy().tolist()

"""Models on several workers have the numbers that TensorFlow has, and each worker has all of them."""

import importlib
import json

import numpy as np
import pytest

import refdist as tf
from refdist._core.base.errors import MeetingError
from tests.refdist.keras.models import INPUTS, TARGETS, compiled, made
from tests.refdist.keras.worker_programs import ANSWERS, WORLDS, numbers

pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning",  # of Keras itself
    "ignore:Your input ran out of data:UserWarning",  # which it says of all data whose number it does not know
    "ignore:The dataset does not come from files alone:UserWarning",
)


def together(program, workers=2, devices=1, backend="simulator"):
    """Run `program(strategy)` on each of several workers."""
    with tf.using(backend, cpus=devices if backend == "simulator" else workers * devices):
        return tf.cluster.run_workers(lambda _: program(tf.distribute.MultiWorkerMirroredStrategy()), workers)


# Of those that were recorded, as many as it takes: every program, every world, and one on real devices.
CHECKED = [("arrays", "3 x 1"), ("dataset", "2 x 2"), ("files", "2 x 1"), ("unsharded", "2 x 1"), ("single", "2 x 1")]


@pytest.mark.parametrize(
    ("name", "world", "backend"),
    [*[(*case, "simulator") for case in CHECKED], ("arrays", "2 x 2", "jax")],
)
def test_every_worker_has_the_numbers_of_tensorflow(name, world, backend, tmp_path):
    expected = json.loads(ANSWERS.read_text())[f"{name} {world}"]
    workers, devices = WORLDS[world]
    for found in together(lambda strategy: numbers(tf, strategy, name, str(tmp_path)), workers, devices, backend):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_workers_shuffle_arrays_in_one_order():
    def program(strategy):
        tf.keras.utils.set_random_seed(strategy.extended.plan.worker)
        adapters = importlib.import_module("keras.src.trainers.data_adapters.array_data_adapter")
        with strategy.scope():
            batches = adapters.ArrayDataAdapter(np.arange(20), shuffle=True, batch_size=10).get_jax_iterator()
            return [row for batch in batches for row in np.ravel(batch).tolist()]

    first, second = together(program)

    assert first == second != sorted(first) == list(range(20))


def test_a_step_of_the_users_own_sums_over_all_workers():
    class Model(tf.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((self(x) - y) ** 2) / 4
            self.optimizer.apply_gradients(
                [(tape.gradient(loss, self.trainable_variables[0]), self.trainable_variables[0])]
            )
            return {"own": loss}

    def program(strategy):
        with strategy.scope():
            inputs = tf.keras.Input((3,))
            layer = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
            model = Model(inputs, layer(inputs))
            model.compile(tf.keras.optimizers.SGD(0.1))
        history = model.fit(INPUTS[:4], TARGETS[:4], batch_size=4, shuffle=False, verbose=0).history
        return [*history["own"], *model.get_weights()[0].ravel()]

    errors = INPUTS[:4].sum(1, keepdims=True) - TARGETS[:4]
    expected = [(errors**2).sum() / 8, *(1 - 0.1 * (INPUTS[:4] * errors).sum(0) / 2)]  # the mean of the workers' losses
    for found in together(program):
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_synchronized_layer_sees_the_rows_of_all_workers():
    def program(strategy):
        model = made(strategy, lambda: compiled(tf.keras.layers.BatchNormalization(synchronized=True)))
        history = model.fit(INPUTS, TARGETS, batch_size=10, shuffle=False, verbose=0).history
        return [*history["loss"], *np.concatenate([weight.ravel() for weight in model.get_weights()])]

    with tf.using("host"):
        expected = program(tf.distribute.get_strategy())
    for found in together(program):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def fitting(strategy, times=1, **options):
    model = made(strategy)
    for _ in range(times):
        model.fit(INPUTS, TARGETS, verbose=0, **options)
    return model


def test_workers_that_do_not_do_the_same_are_told_whose_lines_they_are_on():
    def number(strategy):
        return strategy.extended.plan.worker

    with pytest.raises(MeetingError) as error:
        together(lambda strategy: fitting(strategy, times=1 + number(strategy), batch_size=10))
    assert "worker 0 of 2: returned" in str(error.value)
    assert "waiting in training a model with the weights float32[3,1], float32[1]" in str(error.value)
    assert f"{__file__}:{fitting.__code__.co_firstlineno + 3}, in fitting" in str(error.value)

    def different(strategy):
        model = made(strategy)
        return model.predict(INPUTS, verbose=0) if number(strategy) else model.evaluate(INPUTS, TARGETS, verbose=0)

    with pytest.raises(MeetingError, match="predicting with a model"):
        together(different)


def test_workers_may_call_the_same_method_on_different_lines():
    def program(strategy):
        model = made(strategy)
        if strategy.extended.plan.worker == 0:
            return model.predict(INPUTS[:2], verbose=0)
        return model.predict(INPUTS[:2], verbose=1)

    first, second = together(program)
    np.testing.assert_array_equal(first, second)

"""Models train on the replicas of their strategies, with the same numbers as on one device."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.keras.models import INPUTS, TARGETS, alone, assert_close, compiled, made, numbers, trained
from tests.thorough import examples

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras itself
names = staged_programs.names  # fixture


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def measured():
    return compiled(metrics=["mae"])


@pytest.mark.parametrize(("count", "batch"), [(3, 4), (2, 5), (7, 4)][: examples(1, 3)])
def test_any_number_of_replicas_gives_the_numbers_of_one(names, count, batch):
    # Batches of 5 on two replicas are uneven; the last 2 rows on three, and every batch on seven, leave replicas empty.
    model = made(tf.distribute.MirroredStrategy(names[:count]), measured)

    assert_close(alone(measured, batch, numbers), numbers(model, batch))


STRATEGIES = {
    "one device": lambda names: tf.distribute.OneDeviceStrategy(names[1]),
    "central storage": lambda names: tf.distribute.experimental.CentralStorageStrategy(names[:2], "CPU:0"),
    "v1": lambda names: tf.compat.v1.distribute.MirroredStrategy(names[2:4]),
    "default": lambda names: tf.distribute.get_strategy(),
}


@pytest.mark.parametrize("kind", STRATEGIES)
def test_every_strategy_gives_the_same_numbers(kind):
    with tf.using("simulator", gpus=4):
        strategy = STRATEGIES[kind]([f"GPU:{index}" for index in range(4)])

    assert_close(alone(measured, 5, trained), trained(made(strategy, measured), 5))


def regularized(**options):
    return compiled(tf.keras.layers.Dense(2, kernel_regularizer="l2"), **options)


MODELS = {
    "a loss that is a sum": lambda: compiled(loss=tf.keras.losses.MeanSquaredError(reduction="sum")),
    "a loss that makes a scalar": lambda: regularized(loss=lambda y, z: tf.keras.ops.mean(tf.keras.ops.abs(y - z))),
    "accumulated and clipped gradients": lambda: compiled(
        optimizer=tf.keras.optimizers.Adam(0.01, global_clipnorm=0.1, gradient_accumulation_steps=2)
    ),
    "a scaled loss": lambda: compiled(
        optimizer=tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1), initial_scale=4.0)
    ),
    "several steps at once, and a metric with state of its own": lambda: compiled(
        steps_per_execution=2, metrics=[tf.keras.metrics.R2Score(name="r2")]
    ),
    "no compilation": lambda: compiled(run_eagerly=True),
}


@pytest.mark.parametrize("kind", MODELS)
def test_what_models_can_have_gives_the_same_numbers(strategy, kind):
    assert_close(alone(MODELS[kind], 5, trained), trained(made(strategy, MODELS[kind]), 5))


def test_weights_of_rows_and_classes_count_as_on_one_device(strategy):
    def fitted(model):
        model.fit(
            INPUTS, (TARGETS[:, 0] > 1) * 1, class_weight={0: 1.0, 1: 5.0}, batch_size=5, shuffle=False, verbose=0
        )
        model.fit(INPUTS, TARGETS, sample_weight=np.arange(10.0), batch_size=5, shuffle=False, verbose=0)
        return model.get_weights()[0]

    np.testing.assert_allclose(fitted(made(strategy)), fitted(compiled()), rtol=1e-4)


def masked(reduction):
    embedding = tf.keras.layers.Embedding(5, 2, mask_zero=True, embeddings_initializer="ones")
    model = tf.keras.Sequential([embedding, tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.01), loss=tf.keras.losses.MeanSquaredError(reduction=reduction))
    return model


def test_means_that_replicas_divide_by_themselves_are_told(strategy):
    rows = np.array([[1, 2, 3], [1, 0, 0], [4, 4, 0], [2, 0, 0]])

    def fitted(model):
        model.fit(rows, rows[..., None] * 1.0, batch_size=4, shuffle=False, verbose=0)
        return model.get_weights()[1]

    with pytest.warns(UserWarning, match="a mask and reduction='sum_over_batch_size' is computed on several replicas"):
        fitted(made(strategy, lambda: masked("sum_over_batch_size")))
    by_weight = tf.keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")
    model = made(strategy, lambda: compiled(loss=by_weight))
    with pytest.warns(UserWarning, match="weights and reduction='mean_with_sample_weight'"):
        model.fit(INPUTS, TARGETS, sample_weight=np.arange(10.0), batch_size=4, verbose=0)

    # On one replica there is nothing to tell, and sums are right on any number.
    made(tf.distribute.OneDeviceStrategy("CPU:0"), lambda: fitted(masked("sum_over_batch_size")))
    np.testing.assert_allclose(fitted(made(strategy, lambda: masked("sum"))), fitted(masked("sum")), rtol=1e-4)


def test_moving_averages_are_those_of_the_first_replica(strategy):
    model = made(strategy, lambda: compiled(tf.keras.layers.BatchNormalization(momentum=0.5)))
    mean = 0.0
    for rows in (8, 5, 1):  # on two replicas: even, uneven, and one replica without rows
        model.train_on_batch(INPUTS[:rows], TARGETS[:rows])
        mean = (mean + INPUTS[: (rows + 1) // 2].mean(0)) / 2
    model.test_on_batch(INPUTS, TARGETS)  # changes none

    np.testing.assert_allclose(model.layers[0].moving_mean.numpy(), mean, rtol=1e-4)


def test_two_models_train_side_by_side_each_with_its_own_strategy(strategy, names):
    other = tf.distribute.MirroredStrategy(names[1:4])
    models = [made(strategy), made(other)]
    for _ in range(2):
        for model in models:
            model.fit(INPUTS[:6], TARGETS[:6], batch_size=6, shuffle=False, verbose=0)

    assert [strategy, other] == [model.distribute_strategy for model in models]
    np.testing.assert_allclose(models[1].get_weights()[0], models[0].get_weights()[0], rtol=1e-4)


def test_a_saved_model_goes_on_where_it_was_in_another_scope(names, tmp_path):
    model = made(tf.distribute.MirroredStrategy(names[:2]))
    model.fit(INPUTS, TARGETS, batch_size=10, shuffle=False, verbose=0)
    model.save(tmp_path / "model.keras")
    with (other := tf.distribute.MirroredStrategy(names[:5])).scope():
        loaded = tf.keras.models.load_model(tmp_path / "model.keras")

    assert other is loaded.distribute_strategy
    assert 5 == len(other.experimental_local_results(loaded.trainable_variables[0].value))
    for one in (model, loaded):
        one.fit(INPUTS, TARGETS, batch_size=10, shuffle=False, verbose=0)
    np.testing.assert_allclose(loaded.get_weights()[0], model.get_weights()[0], rtol=1e-4)


def test_an_error_in_a_callback_leaves_the_weights_of_the_steps_before_it(strategy):
    class Interrupting(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                raise KeyError("enough")

    model, expected = made(strategy), made(strategy)
    with pytest.raises(KeyError, match="enough"):
        model.fit(INPUTS, TARGETS, batch_size=4, shuffle=False, verbose=0, callbacks=[Interrupting()])
    expected.fit(INPUTS[:8], TARGETS[:8], batch_size=4, shuffle=False, verbose=0)

    for one, other in zip(model.trainable_variables, expected.trainable_variables, strict=True):
        for copy in strategy.experimental_local_results(one.value):
            np.testing.assert_array_equal(np.asarray(copy), np.asarray(other))
    model.fit(INPUTS, TARGETS, batch_size=4, verbose=0)


def test_a_model_first_called_outside_the_scope_trains_all_the_same(strategy):
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])
        model.compile(optimizer="sgd", loss="mse")
    model(INPUTS)
    for batch in (4, 5):
        model.fit(INPUTS, TARGETS, batch_size=batch, shuffle=False, verbose=0)

    assert type(model.trainable_variables[0].value) is tf.Variable
    assert np.abs(model.get_weights()[0]).min() > 0


def test_a_model_cannot_train_inside_a_replica_or_another_scope(strategy):
    with tf.using("simulator", gpus=3):
        other = tf.distribute.MirroredStrategy()
    model = made(strategy)

    with pytest.raises(RuntimeError, match="cross-replica"):
        strategy.run(lambda: model.predict(INPUTS, verbose=0))
    with other.scope(), pytest.raises(RuntimeError, match="one strategy at a time"):
        model.predict(INPUTS, verbose=0)


class _Alone(tf.keras.Model):
    """Its step takes a batch, and calls a part of the model, but never the model itself."""

    def __init__(self, *, calls):
        super().__init__()
        self.calls, self.part = calls, tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(3)])

    def call(self, x):
        if not self.calls:
            raise NotImplementedError
        return self.part(x)

    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.part(x) - x) ** 2)
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        return {"loss": loss}


@pytest.mark.parametrize("calls", [True, False])
def test_a_model_whose_step_never_calls_it_is_built_if_it_can_be(strategy, tmp_path, calls):
    model = made(strategy, lambda: _Alone(calls=calls))
    model.compile("sgd")
    kept = tf.keras.callbacks.ModelCheckpoint(str(tmp_path / "kept.weights.h5"), save_weights_only=True)
    model.fit(np.ones((8, 3), np.float32), batch_size=4, verbose=0, callbacks=[kept] if calls else [])

    assert calls == (tmp_path / "kept.weights.h5").exists()

"""Models train on the replicas of their strategies, with the same numbers as on one device."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.keras.models import INPUTS, TARGETS, alone, assert_close, compiled, made, numbers, trained

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras itself
names = staged_programs.names  # fixture


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def measured():
    return compiled(metrics=["mae"])


@pytest.mark.parametrize(("count", "batch"), [(2, 5), (3, 4), (7, 4)])
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


def test_datasets_and_nests_of_arrays_are_cut_too(strategy):
    def model():
        given = {name: tf.keras.Input((size,), name=name) for name, size in (("a", 1), ("b", 2))}
        made = tf.keras.Model(given, tf.keras.layers.Dense(1, kernel_initializer="ones")(given["b"] * given["a"]))
        made.compile(optimizer="sgd", loss="mse")
        return made

    nest = {"a": INPUTS[:, :1], "b": INPUTS[:, 1:]}
    dataset = tf.data.Dataset.from_tensor_slices((nest, TARGETS)).batch(4)
    models = [made(strategy, model) for _ in range(2)]
    histories = [
        models[0].fit(nest, TARGETS, batch_size=4, shuffle=False, validation_data=dataset, verbose=0).history,
        models[1].fit(dataset, validation_data=(nest, TARGETS), validation_batch_size=4, verbose=0).history,
    ]

    assert_close(*histories)
    np.testing.assert_allclose(models[0].predict(nest, verbose=0), models[1].predict(dataset, verbose=0), rtol=1e-4)


def test_a_dataset_without_end_or_targets_is_read_as_far_as_asked(strategy):
    endless = tf.data.Dataset.from_tensor_slices(INPUTS).repeat().batch(4)

    assert (12, 1) == made(strategy).predict(endless, steps=3, verbose=0).shape


def test_single_batches_are_cut_too(strategy):
    def trained(model):
        return [
            model.train_on_batch(INPUTS[:5], TARGETS[:5]),
            model.test_on_batch(INPUTS, TARGETS),
            *model.get_weights(),
        ]

    model = made(strategy)
    for expected, actual in zip(trained(compiled()), trained(model), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4)

    np.testing.assert_allclose(model.predict(INPUTS, verbose=0), model.predict_on_batch(INPUTS), rtol=1e-4)


def test_moving_averages_are_those_of_the_first_replica(strategy):
    model = made(strategy, lambda: compiled(tf.keras.layers.BatchNormalization(momentum=0.5)))
    mean = 0.0
    for rows in (8, 5, 1):  # on two replicas: even, uneven, and one replica without rows
        model.train_on_batch(INPUTS[:rows], TARGETS[:rows])
        mean = (mean + INPUTS[: (rows + 1) // 2].mean(0)) / 2
    model.test_on_batch(INPUTS, TARGETS)  # changes none

    np.testing.assert_allclose(model.layers[0].moving_mean.numpy(), mean, rtol=1e-4)


def test_a_step_of_ones_own_runs_on_the_replicas(names):
    import jax

    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
            self.mean = tf.keras.metrics.Mean(name="mean")

        def call(self, x):
            return self.dense(x)

        metrics = property(lambda self: [self.mean])

        def train_step(self, state, data):
            weights, others, slots, totals = state
            gradient = jax.value_and_grad(self.compute_loss_and_updates, has_aux=True)
            (_, (loss, *_)), gradients = gradient(
                weights, others, totals, *data, None, training=True, optimizer_variables=slots
            )
            weights, slots = self.optimizer.stateless_apply(slots, gradients, weights)
            totals = self.mean.stateless_update_state(totals, loss, sample_weight=len(data[0]))
            return {"own": loss}, (weights, others, slots, totals)

    def trained(count):
        model = made(tf.distribute.MirroredStrategy(names[:count]), Own)
        model.compile(optimizer="sgd", loss="mse")
        history = model.fit(INPUTS, TARGETS, batch_size=8, shuffle=False, verbose=0).history
        return [history["own"], model.mean.result(), *model.get_weights()]

    for one, two in zip(trained(1), trained(2), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4)


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


@pytest.mark.parametrize("batch", [4, 5])
def test_an_error_in_a_step_changes_no_weight(strategy, batch):
    class Failing(tf.keras.layers.Layer):
        failing = False

        def call(self, x, training=False):
            if self.failing and training:
                raise ZeroDivisionError
            return x * 1.0

    with strategy.scope():
        layer = Failing()
        model = compiled(layer)
    before = model.get_weights()
    layer.failing = True
    with pytest.raises(ZeroDivisionError):
        model.fit(INPUTS, TARGETS, batch_size=batch, verbose=0)
    layer.failing = False

    for was, now in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(was, now)
    model.fit(INPUTS, TARGETS, batch_size=batch, verbose=0)


def test_replicas_that_do_not_sum_their_gradients_are_told_so(strategy):
    class Forgetful(tf.keras.Sequential):
        def train_step(self, state, data):
            weights = [weight + data[0].sum() for weight in state[0]]
            return {}, (weights, *state[1:])

    with strategy.scope():
        model = Forgetful([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")

    for batch in (4, 5):
        with pytest.raises(ValueError, match="different values"):
            model.fit(INPUTS, TARGETS, batch_size=batch, verbose=0)


def test_a_model_first_called_outside_the_scope_trains_all_the_same(strategy):
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])
        model.compile(optimizer="sgd", loss="mse")
    model(INPUTS)
    for batch in (4, 5):
        model.fit(INPUTS, TARGETS, batch_size=batch, shuffle=False, verbose=0)

    assert type(model.trainable_variables[0].value) is tf.Variable
    assert np.abs(model.get_weights()[0]).min() > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda s: (s.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2)),), "DistributedDataset"),
        (lambda s: (tf.data.Dataset.from_tensor_slices((INPUTS, TARGETS)).batch(2).map(lambda x, y: (x, y[:1])),), "the same"),
        (lambda s: (INPUTS, TARGETS[:3]), "cardinality"),
        (lambda s: (tf.data.Dataset.from_tensor_slices(INPUTS).batch(2), TARGETS), "the dataset alone"),
    ],
)  # fmt: skip
def test_wrong_data_are_refused(strategy, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        made(strategy).fit(*given(strategy), verbose=0)


def test_a_model_cannot_train_inside_a_replica_or_another_scope(strategy):
    with tf.using("simulator", gpus=3):
        other = tf.distribute.MirroredStrategy()
    model = made(strategy)

    with pytest.raises(RuntimeError, match="cross-replica"):
        strategy.run(lambda: model.predict(INPUTS, verbose=0))
    with other.scope(), pytest.raises(RuntimeError, match="one strategy at a time"):
        model.predict(INPUTS, verbose=0)


def test_several_workers_are_refused():
    def worker(index):
        model = made(tf.distribute.MultiWorkerMirroredStrategy())
        with pytest.raises(NotImplementedError, match="2 workers"):
            model.predict(INPUTS, verbose=0)

    with tf.using("simulator", gpus=1):
        tf.cluster.run_workers(worker, count=2)

"""Global batches become pieces for the replicas, and the rows of all replicas one array again."""

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.keras.keras_batches import DatasetAdapter, adapt, cut, joined
from refdist._core.replicas.values import PerReplica
from tests.refdist.keras.models import INPUTS, TARGETS, assert_close, compiled, made

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras itself


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


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


def test_a_distributed_dataset_gives_what_its_dataset_gives(strategy):
    dataset = tf.data.Dataset.from_tensor_slices((INPUTS[:8], TARGETS[:8])).batch(4)
    both = [dataset, strategy.experimental_distribute_dataset(dataset)]
    models = [made(strategy) for _ in both]
    count = {"steps_per_epoch": 2, "validation_steps": 2}  # of which a distributed dataset says nothing
    histories = [
        model.fit(data, validation_data=data, verbose=0, **count).history
        for model, data in zip(models, both, strict=True)
    ]

    assert_close(*histories)
    predictions = [m.predict(data, steps=2, verbose=0) for m, data in zip(models, both, strict=True)]
    np.testing.assert_allclose(*predictions, rtol=1e-4)


def test_a_distributed_dataset_without_end_is_read_as_far_as_asked(strategy):
    endless = tf.data.Dataset.from_tensor_slices((INPUTS, TARGETS)).repeat().batch(2)
    distributed = strategy.distribute_datasets_from_function(lambda _: endless)

    assert 2 == len(made(strategy).fit(distributed, steps_per_epoch=2, epochs=2, verbose=0).history["loss"])


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda s: (tf.data.Dataset.from_tensor_slices((INPUTS, TARGETS)).batch(2).map(lambda x, y: (x, y[:1])),), "the same"),
        (lambda s: (INPUTS, TARGETS[:3]), "cardinality"),
        (lambda s: (tf.data.Dataset.from_tensor_slices(INPUTS).batch(2), TARGETS), "the dataset alone"),
    ],
)  # fmt: skip
def test_wrong_data_are_refused(strategy, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        made(strategy).fit(*given(strategy), verbose=0)


@drawn(rows=generators.integers(1, 13), count=generators.integers(1, 5))
@settings(max_examples=40)
def test_pieces_cover_all_rows_in_order_and_differ_by_at_most_one(rows, count):
    with tf.using("host", gpus=count):
        strategy = tf.distribute.MirroredStrategy()
    (pieces, nothing), shares = cut(strategy, (np.arange(rows), None))
    parts = strategy.experimental_local_results(pieces)
    each = shares.values if isinstance(shares, PerReplica) else [shares] * count
    kept = [part.numpy().tolist() if share > 0 else [] for part, share in zip(parts, each, strict=True)]

    assert list(range(rows)) == [row for part in kept for row in part]
    assert nothing is None
    assert len(kept[0]) == max(map(len, kept)), "the first replica always has rows"
    assert len(kept[0]) - min(map(len, kept)) <= 1
    assert [len(part) / rows for part in kept] == list(each)
    assert isinstance(shares, PerReplica) == (rows % count > 0)
    assert all(len(part) for part in parts), "a replica without rows gets one, so that it can take part"
    assert list(range(rows)) == np.asarray(joined(strategy, pieces, shares)).tolist()


def test_pieces_lie_on_the_devices_of_the_replicas(strategy):
    pieces, _ = cut(strategy, {"x": np.ones((4, 3))})

    assert list(strategy.extended.worker_devices) == [part.device for part in pieces["x"].values]
    assert np.float32 == pieces["x"].values[0].dtype, "as wide as JAX's numbers are"


@pytest.mark.parametrize("data", [(np.ones(3), np.ones(2)), np.ones(()), np.ones((0, 2)), (np.ones(2), np.ones(()))])
def test_a_batch_without_rows_or_with_unequal_ones_is_refused_with_its_shapes(strategy, data):
    with pytest.raises(ValueError, match=r"arrays of the shapes \(.*\); expected one or more rows, and the same"):
        cut(strategy, data)


def test_a_dataset_is_adapted_and_other_data_are_left_alone():
    data = tf.data.Dataset.from_tensor_slices(INPUTS).batch(4)
    given = {"x": data, "y": None, "validation_data": (INPUTS, TARGETS), "epochs": 3}
    validation = given["validation_data"]
    adapt(given)

    assert isinstance(given["x"], DatasetAdapter)
    assert given["validation_data"] is validation
    (first,), *_ = given["x"].get_jax_iterator()
    np.testing.assert_array_equal(INPUTS[:4], first)


@pytest.mark.parametrize(
    ("change", "number"),
    [(lambda data: data, 3), (lambda data: data.repeat(), None), (lambda data: data.filter(lambda x: True), None)],
)
def test_the_number_of_batches_is_told_where_it_is_known(change, number):
    assert number == DatasetAdapter(change(tf.data.Dataset.range(9).batch(3))).num_batches

import numpy as np
import pytest

import refdist as tf


@pytest.fixture(params=["simulator", "jax"])
def strategy(request):
    with tf.using(request.param, cpus=2):
        yield tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "staged"])
def test_the_gradient_of_an_embedding_is_slices(strategy, staged):
    with strategy.scope():
        layer = tf.keras.layers.Embedding(4, 2)
        layer.build()
    found = []

    def replica():
        with tf.GradientTape() as tape:
            rows = layer(tf.constant([[1, 3], [1, 1]]))
            loss = tf.reduce_sum(rows * tf.constant([1.0, 2.0]))
        (gradient,) = tape.gradient(loss, layer.trainable_variables)
        found.append(type(gradient))
        return tf.convert_to_tensor(gradient)

    def step():
        return strategy.run(replica)

    result = (tf.function(step) if staged else step)()

    assert {tf.IndexedSlices} == set(found)
    for part in strategy.experimental_local_results(result):
        assert [[0, 0], [3, 6], [0, 0], [1, 2]] == np.asarray(part).tolist()


def test_without_a_tape_an_embedding_is_that_of_keras():
    layer = tf.keras.layers.Embedding(4, 2, embeddings_initializer="ones")

    assert (2, 3, 2) == layer(np.zeros((2, 3))).shape
    assert (None, 5, 2) == layer(tf.keras.Input((5,))).shape


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "staged"])
@pytest.mark.parametrize(
    ("limit", "expected"),
    [  # as Keras on TensorFlow 2.21: of slices, what is clipped are the values, before equal rows are added up
        ({"clipnorm": 0.5}, [0.2929, 0.6464, 0.6464]),
        ({"global_clipnorm": 0.5}, [0.2929, 0.6464, 0.6464]),
        ({"clipvalue": 0.3}, [0.4, 0.7, 0.7]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_replicas_clip_the_values_of_slices(strategy, staged, limit, expected):
    with strategy.scope():
        layer = tf.keras.layers.Embedding(3, 1, embeddings_initializer="ones")
        layer.build()
        optimizer = tf.keras.optimizers.SGD(1.0, **limit)
        optimizer.build(layer.trainable_variables)

    def replica(rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(rows))
        gradients = tape.gradient(loss, layer.trainable_variables)
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))

    def step(rows):
        strategy.run(replica, args=(rows,))

    data = tf.data.Dataset.from_tensor_slices(np.array([[0], [0], [1], [2]])).batch(4)
    for rows in strategy.experimental_distribute_dataset(data):
        (tf.function(step) if staged else step)(rows)

    np.testing.assert_allclose(expected, np.asarray(layer.embeddings.value).ravel(), atol=1e-4)

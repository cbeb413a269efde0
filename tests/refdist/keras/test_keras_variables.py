"""The variables of Keras are held by those of the strategy, and its scopes are those of each replica."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.keras.models import INPUTS, compiled, made

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras itself
names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


def test_the_value_of_a_variable_is_a_tensor_where_code_computes_and_else_a_variable(strategy):
    import jax

    variable = made(strategy, lambda: tf.keras.Variable(np.float32([1, 2])))
    inside = []
    strategy.run(lambda: inside.append(variable.value))

    assert isinstance(variable.value, tf.Variable)
    assert 2 == len(strategy.experimental_local_results(variable.value))
    assert all(isinstance(value, jax.Array) for value in inside)
    assert [3.0, 6.0] == np.asarray(variable * 3).tolist()


def test_a_layer_made_in_a_traced_function_has_its_weights_once(strategy):
    with strategy.scope():
        layer = tf.keras.layers.Dense(1, kernel_initializer="ones", use_bias=False)

    @tf.function
    def step(x):
        return strategy.run(layer, args=(x,))

    for _ in range(2):
        results = strategy.experimental_local_results(step(tf.constant(INPUTS)))

    assert 1 == len(layer.weights)
    for result in results:
        np.testing.assert_allclose(np.asarray(result), INPUTS.sum(1, keepdims=True), rtol=1e-5)


def test_replicas_may_pause_in_the_middle_of_a_layer():
    # Dropout counts the numbers that it has drawn, in a variable that all replicas write together.
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = compiled(tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(2))
    results = strategy.run(lambda: model(INPUTS, training=True))
    first, second = (np.asarray(part) for part in strategy.experimental_local_results(results))

    assert not np.array_equal(first, second)  # each draws numbers of its own
    assert not np.array_equal(first, np.asarray(strategy.experimental_local_results(model(INPUTS))[0]))


@pytest.mark.parametrize("kind", ["mirrored", "central storage"])
def test_metrics_that_assign_their_sums_add_up_over_replicas(names, kind):
    central = tf.distribute.experimental.CentralStorageStrategy
    strategy = tf.distribute.MirroredStrategy(names[:2]) if kind == "mirrored" else central(names[:2], "CPU:0")
    with strategy.scope():
        metric = tf.keras.metrics.TruePositives()
    for _ in range(2):
        strategy.run(lambda: metric.update_state([1.0, 0.0], [1.0, 1.0]))

    assert 4.0 == float(metric.result())


def test_clearing_the_session_keeps_replicas_apart():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
    tf.keras.utils.clear_session(free_memory=False)
    with strategy.scope():
        layer = tf.keras.layers.Dropout(0.5)

    masked = strategy.run(lambda: layer(INPUTS, training=True))

    first, second = (np.asarray(part) for part in strategy.experimental_local_results(masked))
    assert first.tolist() != second.tolist()  # each replica draws a mask of its own


def test_a_model_of_several_workers_is_built_in_its_first_step():
    def worker(_):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)])
        results = strategy.experimental_local_results(strategy.run(lambda: model(tf.ones((1, 2)))))
        return [float(one[0, 0]) for one in results], len(model.variables)

    with tf.using("simulator", gpus=2):
        (first, count), (second, _) = tf.cluster.run_workers(worker, count=2)
    assert 4 == count
    assert 1 == len({*first, *second})


def test_a_layer_of_a_model_in_a_scope_uses_its_weights_in_functions_of_tensors(strategy):
    class Cosine(tf.keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(name="w", shape=[shape[-1], 4])

        def call(self, x):
            return tf.matmul(tf.nn.l2_normalize(x, axis=1), tf.nn.l2_normalize(self.w, axis=0))

    with strategy.scope():
        inputs = tf.keras.Input([3])
        model = tf.keras.Model(inputs, Cosine()(inputs))

    assert (2, 4) == tuple(model(tf.ones([2, 3])).shape)


def test_an_optimizer_is_built_for_a_model_whose_call_is_a_function():
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(2)

        @tf.function
        def call(self, inputs):
            return self.dense(inputs)

    with tf.using("simulator", gpus=2), tf.distribute.MirroredStrategy().scope():
        model, optimizer = Model(), tf.keras.optimizers.Adam()
        model(tf.zeros((1, 3)))
        optimizer.build(model.trainable_variables)

        assert [(3, 2), (2,)] == [tuple(one.shape) for one in model.get_weights()]


def test_shapes_of_variables_are_those_of_tensors():
    layer = tf.keras.layers.Dense(3)
    layer.build((None, 2))

    assert ([2, 3], 2, (2, 3)) == (layer.kernel.shape.as_list(), layer.kernel.shape.rank, layer.kernel.shape)
    assert [3] == layer.bias.get_shape().as_list()

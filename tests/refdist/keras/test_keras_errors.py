"""`if` over a tensor in a layer is refused, as on TensorFlow 2.21, with what to do; in a tf.function it is converted."""

import numpy as np
import pytest

import refdist as tf

X = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)


def branching(x):
    if tf.reduce_sum(x) > 0.0:
        return x * 2.0
    return -x


class Branching(tf.keras.layers.Layer):
    def call(self, x):
        return branching(x)


class Staged(tf.keras.layers.Layer):
    @tf.function
    def call(self, x):
        return branching(x)


class Chosen(tf.keras.layers.Layer):
    def call(self, x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: -x)


def fitted(layer, loss="mse"):
    model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", loss)
    return model.fit(X, np.ones((2, 1), np.float32), verbose=0).history["loss"][0]


def made_of(layer):
    inputs = tf.keras.Input((2,))
    return tf.keras.Model(inputs, layer(inputs))(X)


USES = {"function": lambda layer: tf.function(lambda x: layer(x))(X), "functional": made_of, "fit": fitted}


@pytest.mark.parametrize("use", USES)
def test_it_is_refused_in_a_layer_and_says_where(use):
    with pytest.raises(TypeError, match="boolean conversion of traced array") as raised:
        USES[use](Branching())

    (note,) = raised.value.__notes__
    assert "test_keras_errors.py" in note
    assert "`call` of a Keras layer is not: use tf.cond or tf.while_loop there, or make it a tf.function" in note


def test_it_is_refused_in_a_loss():
    def loss(expected, predicted):
        return branching(tf.reduce_mean(expected - predicted))

    with pytest.raises(TypeError, match="boolean conversion") as raised:
        fitted(Chosen(), loss)
    assert "use tf.cond" in raised.value.__notes__[-1]


# TensorFlow's numbers.
@pytest.mark.parametrize("kind", [Staged, Chosen])
@pytest.mark.parametrize(("use", "expected"), [("function", 2 * X), ("functional", 2 * X), ("fit", 17.0)])
def test_it_is_part_of_the_program_in_a_function_and_in_cond(kind, use, expected):
    np.testing.assert_allclose(USES[use](kind()), expected)


def test_other_errors_are_those_of_keras():
    class Failing(tf.keras.layers.Layer):
        def call(self, x):
            raise ValueError("a layer fails")

    with pytest.raises(ValueError, match=r"(?s)calling Failing\.call\(\).*a layer fails.*Arguments received"):
        Failing()(X)


def test_variables_that_a_failed_build_has_left_do_not_stop_others():
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            return {"loss": branching(tf.reduce_sum(self(data[0])))}

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = Model()
        model.compile("sgd")
    with pytest.raises(TypeError, match="boolean conversion"):
        model.fit(X, X[:, :1], verbose=0)

    assert 17.0 == pytest.approx(fitted(Chosen()))


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("inside", [lambda x: x, lambda x: [x]], ids=["value", "list"])
def test_a_model_called_with_the_values_of_all_replicas_names_run(mode, inside):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        x = strategy.experimental_distribute_values_from_function(lambda _: tf.ones([2, 3]))

        with pytest.raises(
            ValueError, match=r"called at .*test_keras_errors\.py.*of 2 components; .*strategy\.run\(model, args="
        ):
            mode(lambda: model(inside(x)))()
        with pytest.raises(ValueError, match="Only input tensors may be passed as positional"):
            model("text")
        assert 2 == len(strategy.experimental_local_results(mode(lambda: strategy.run(model, args=(x,)))()))

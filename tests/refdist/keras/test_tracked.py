"""Checkpoints find the variables of Keras, and give them back."""

import numpy as np
import pytest

import refdist as tf
from tests.children import run_python

INPUTS, TARGETS = np.ones((4, 2), "float32"), np.ones((4, 2), "float32")


def layers():
    keras = tf.keras
    return [keras.layers.Dense(2), keras.layers.BatchNormalization(), keras.layers.Dropout(0.5), keras.layers.Dense(2)]


def sequential():
    return tf.keras.Sequential([tf.keras.Input((2,)), *layers()])


def unbuilt():
    return tf.keras.Sequential(layers())


def functional():
    inputs = value = tf.keras.Input((2,))
    for layer in layers():
        value = layer(value)
    return tf.keras.Model(inputs, value)


def subclassed():
    class Lazy(tf.keras.layers.Layer):
        def build(self, shape):
            self.dense = tf.keras.layers.Dense(2)
            self.scale = self.add_weight(shape=(2,), initializer="ones", name="scale")
            self.dense.build(shape)

        def call(self, x):
            return self.dense(x) * self.scale

    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.second, self.first = Lazy(), Lazy()
            self.more, self.ours = [tf.keras.layers.Dense(2)], tf.Variable(1.0)

        def build(self, shape):
            for layer in (self.first, self.second, *self.more):
                layer.build(shape)

        def call(self, x):
            return self.more[0](self.second(self.first(x)))

    return Model()


MAKERS = [sequential, unbuilt, functional, subclassed]


def compiled(make):
    model = make()
    model.compile(optimizer=tf.keras.optimizers.Adam(0.1), loss="mse")
    return model


def built(make):
    model = compiled(make)
    model.build((None, 2))
    model.optimizer.build(model.trainable_variables)
    return model


def filled(make):
    """A model in which every variable has a value of its own."""
    model = built(make)
    for index, variable in enumerate([*model.variables, *model.optimizer.variables]):
        variable.assign(np.full(variable.shape, index + 1, variable.dtype))
    return model


def numbers(model):
    return [np.asarray(one.value).tolist() for one in [*model.variables, *model.optimizer.variables]]


def in_module(model):
    module = tf.Module()
    module.model = model
    return module


HOLDERS = {
    "by name": lambda model: model,
    "in a module": in_module,
    "in a list": lambda model: [3, model],
    "in a dict": lambda model: {"a": {"b": model}},
    "in a layer of a list": lambda model: [in_module([model])],
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_model_and_its_optimizer_are_saved_wherever_they_are_held(tmp_path, holder):
    model, other = filled(functional), built(functional)
    path = tf.train.Checkpoint(it=HOLDERS[holder](model)).save(str(tmp_path / "p"))
    tf.train.Checkpoint(it=HOLDERS[holder](other)).restore(path).assert_consumed()

    assert numbers(model) == numbers(other)


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_not_built_yet_gets_its_values_when_it_is(tmp_path, make):
    model, other = filled(make), compiled(make)
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "p"))
    status = tf.train.Checkpoint(model=other).restore(path)
    with pytest.raises(AssertionError, match="found no variable"):
        status.assert_consumed()
    other.build((None, 2))
    other.optimizer.build(other.trainable_variables)
    status.assert_consumed()

    assert numbers(model) == numbers(other)


@pytest.mark.parametrize("make", [unbuilt, subclassed])
def test_a_model_that_is_built_by_training_goes_on_where_it_was(tmp_path, make):
    with tf.using("simulator", gpus=2), tf.distribute.MirroredStrategy().scope():
        model, other = compiled(make), compiled(make)
    model.fit(INPUTS, TARGETS, verbose=0)
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "p"))
    status = tf.train.Checkpoint(model=other).restore(path)
    for one in (model, other):
        one.fit(INPUTS, TARGETS, verbose=0)
    status.assert_consumed()

    assert numbers(model) == numbers(other)
    assert 2 == int(np.asarray(other.optimizer.iterations.value))


def test_an_optimizer_alone_a_metric_and_a_variable_are_saved(tmp_path):
    keras = tf.keras

    def made(value):
        inner = keras.optimizers.SGD(value, momentum=0.5)
        metric, variable = keras.metrics.Mean(), keras.Variable([value])
        metric.update_state([value])
        return {"optimizer": keras.optimizers.LossScaleOptimizer(inner), "metric": metric, "variable": variable}

    saved, other = made(0.5), made(0.25)
    path = tf.train.Checkpoint(**saved).save(str(tmp_path / "p"))
    tf.train.Checkpoint(**other).restore(path).assert_consumed()

    assert 0.5 == float(other["optimizer"].learning_rate.value.numpy()) == float(other["metric"].result())
    assert [0.5] == other["variable"].value.numpy().tolist()


def test_a_value_for_which_a_model_has_no_variable_is_told(tmp_path):
    path = tf.train.Checkpoint(model=functional()).save(str(tmp_path / "p"))
    inputs = tf.keras.Input((2,))
    smaller = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))
    status = tf.train.Checkpoint(model=smaller).restore(path)
    with pytest.raises(AssertionError, match="model/_layers/1/_trainable_variables/0"):
        status.assert_consumed()
    status = tf.train.Checkpoint(model=functional()).restore(
        tf.train.Checkpoint(model=smaller).save(str(tmp_path / "q"))
    )
    with pytest.raises(AssertionError, match="got no value"):
        status.assert_existing_objects_matched()


def test_the_variables_of_a_module_are_without_those_of_keras():
    # As with TensorFlow and Keras 3.
    assert () == in_module(functional()).variables


def test_a_module_that_holds_a_model_is_saved_whole(tmp_path):
    model = filled(functional)
    tf.saved_model.save(in_module(model), str(tmp_path))

    assert len(numbers(model)) == len(tf.saved_model.load(str(tmp_path)).variables)


def test_models_that_were_made_before_refdist_was_imported_are_found_too(tmp_path):
    program = f"""
import keras
model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
import refdist as tf
path = tf.train.Checkpoint(model=[model]).save({str(tmp_path / "p")!r})
other = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
tf.train.Checkpoint(model=[other]).restore(path).assert_consumed()
print(model.get_weights() == other.get_weights())
"""
    done = run_python(program, KERAS_BACKEND="jax")

    assert ("True\n", "") == (done.stdout, done.stderr)


def test_a_model_is_saved_as_what_it_computes_outside_of_training(tmp_path):
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    with tf.using("simulator", gpus=2):
        with tf.distribute.MirroredStrategy().scope():
            model = sequential()
        tf.saved_model.save(model, str(tmp_path))
        loaded = tf.saved_model.load(str(tmp_path))
        with pytest.raises(ValueError, match=r"says nothing of its inputs.*model\.save"):
            tf.saved_model.save(unbuilt(), str(tmp_path / "late"))

        assert np.allclose(np.asarray(model(rows)), np.asarray(loaded(rows)), atol=1e-6)
        assert ["output_0"] == list(loaded.signatures["serving_default"](rows[:1]))


@pytest.mark.parametrize(
    ("shapes", "names"),
    [([(3, 2)], ["inputs"]), ([(3, 2), (3, 1)], ["inputs", "inputs_1"])],
)
def test_a_model_of_a_class_of_its_own_is_saved_for_what_it_was_called_with(shapes, names, tmp_path):
    class Joining(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")

        def call(self, inputs, training=None):
            return self.dense(tf.concat(inputs, 1) if isinstance(inputs, list) else inputs)

    given = [np.ones(shape, np.float32) for shape in shapes]
    model = Joining()
    expected = model(given if len(given) > 1 else given[0])
    tf.saved_model.save(model, str(tmp_path))
    serving = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]

    # TensorFlow 2.21 names and shapes the inputs so.
    assert dict(zip(names, shapes, strict=True)) == {
        name: tuple(spec.shape) for name, spec in serving.structured_input_signature[1].items()
    }
    answer = serving(**dict(zip(names, given, strict=True)))
    assert np.allclose(np.asarray(expected), np.asarray(answer["output_0"]))

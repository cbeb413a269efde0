"""Keras is loaded when it is asked for, and what is missing or wrong is said plainly."""

import sys

import pytest

import refdist as tf
from tests.children import run_python


def output(program, **environment):
    done = run_python(program, **environment)
    return done.stdout + done.stderr


def test_keras_itself_is_reached_from_refdist():
    assert tf.keras.Model is sys.modules["keras"].Model
    assert tf.keras is tf.keras


def test_the_modules_of_keras_are_imported_from_refdist():
    program = """
from refdist.keras import layers
from refdist.keras.optimizers.schedules import CosineDecay
import refdist.keras.backend as K
import refdist.compat.v2 as tf
import sys

print(tf is sys.modules["refdist"] is tf.compat.v2, layers is tf.keras.layers, K is tf.keras.backend)
print(CosineDecay is tf.keras.optimizers.schedules.CosineDecay)
"""

    assert "True True True\nTrue\n" == output(program)


def test_what_keras_makes_before_the_first_strategy_leaves_the_devices_that_were_asked_for():
    program = """
import refdist as tf
tf.keras.optimizers.Adam(0.1)
print(len(tf.config.list_logical_devices("CPU")))
"""

    assert "2\n" == output(program, REFDIST_BACKEND="jax:cpus=2")


def test_without_keras_the_error_says_how_to_get_it():
    text = output("import sys; sys.modules['keras'] = None\nimport refdist\nrefdist.keras")

    assert "ImportError: tf.keras" in text
    assert "pip install 'refdist[keras]'" in text


def test_another_backend_of_keras_is_refused():
    text = output("import refdist\nrefdist.keras", KERAS_BACKEND="numpy")

    assert "RuntimeError: tf.keras was asked for, and Keras runs on numpy; expected its JAX backend" in text


def test_without_keras_the_suite_says_what_it_needs():
    program = """
import sys
sys.modules["keras"] = None
from conformance.case import run_case
from conformance.checks import checks
from conformance.implementations import find

for name in ("host", "simulator", "jax"):
    result = run_case(find(name), checks()["KERAS-01"], 2)
    print(result.status.name, result.detail)
"""

    assert "UNSUPPORTED needs keras: pip install 'refdist[keras]'\n" * 3 == output(program)


def test_models_that_are_older_than_the_hooks_train_too():
    program = """
import keras, numpy

model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
import refdist as tf
tf.keras.Sequential
model.compile(optimizer="sgd", loss="mse")
model.fit(numpy.ones((4, 1)), numpy.ones((4, 1)), verbose=0)
print(model.distribute_strategy, type(model.trainable_variables[0].value).__name__)
"""

    assert "<DefaultStrategy on CPU:0> Variable\n" == output(program, KERAS_BACKEND="jax")


@pytest.mark.parametrize(
    ("imports", "chosen"),
    [
        ("import keras; import refdist as tf", "jax"),
        (
            "import refdist as tf; from keras import layers; import keras",
            "tensorflow",
        ),  # as guides of Keras say, without it
    ],
)
def test_keras_that_the_program_imports_itself_knows_strategies(imports, chosen):
    program = f"""
{imports}
tf.use("simulator", gpus=2)
with tf.distribute.MirroredStrategy().scope():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="ones")])
print(len(model.trainable_variables[0].value.all_copies), keras.config.backend(), type(keras.__loader__).__name__)
"""

    assert "2 jax SourceFileLoader\n" == output(program, KERAS_BACKEND=chosen)


def test_another_backend_that_the_program_has_chosen_is_left_alone():
    assert "numpy\n" == output("import refdist, keras; print(keras.config.backend())", KERAS_BACKEND="numpy")


@pytest.mark.parametrize("wrong", ["mirrored", object()])
def test_an_estimator_takes_strategies_only(wrong):
    with pytest.raises(TypeError, match="expected a strategy"):
        tf.estimator.RunConfig(train_distribute=wrong)


def test_the_configuration_of_an_estimator_keeps_both_strategies():
    strategy = tf.distribute.get_strategy()
    config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)

    assert strategy is config.train_distribute is config.eval_distribute
    assert tf.estimator.RunConfig().train_distribute is None


@pytest.mark.parametrize("name", ["initializers", "losses", "metrics", "optimizers"])
def test_some_names_of_keras_are_names_of_the_whole_too(name):
    assert getattr(tf.keras, name) is getattr(tf, name)

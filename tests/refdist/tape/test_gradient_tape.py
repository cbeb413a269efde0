"""Gradients are those of TensorFlow, on every backend, eagerly and in functions."""

import functools
import gc
import json
import pathlib
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refdist as tf
from tests.refdist.tape.tape_programs import PROGRAMS

ANSWERS = json.loads((pathlib.Path(__file__).parents[2] / "fixtures/gradients.json").read_text())["answers"]
BACKENDS = {"simulator": {"gpus": 2}, "jax": {"cpus": 2}}


class Kept:
    """refdist for programs in functions: the variables that a program makes are made once, and found again."""

    def __init__(self):
        self.variables = []

    def begun(self):
        self.count = 0
        return self

    def __getattr__(self, name):
        return getattr(tf, name)

    def Variable(self, *args, **kwargs):  # noqa: N802
        if self.count == len(self.variables):
            self.variables.append(tf.Variable(*args, **kwargs))
        self.count += 1
        return self.variables[self.count - 1]


def agree(result, answers):
    leaves = tf.nest.flatten(result)
    assert len(leaves) == len(answers)
    for leaf, answer in zip(leaves, answers, strict=True):
        if answer is None:
            assert leaf is None
        else:
            np.testing.assert_allclose(np.asarray(leaf), answer, rtol=2e-6, atol=1e-6)


# JAX carries out the operations under a tape on the simulator, too; so a part of the programs shows what is its own.
@pytest.mark.parametrize(
    ("name", "backend"), [*((name, "simulator") for name in PROGRAMS), *((name, "jax") for name in list(PROGRAMS)[::4])]
)
def test_gradients_are_those_of_tensorflow(name, backend):
    with tf.using(backend, **BACKENDS[backend]):
        agree(PROGRAMS[name](tf), ANSWERS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_in_functions_are_those_of_tensorflow(name):
    kept = Kept()
    agree(tf.function(lambda: PROGRAMS[name](kept.begun()))(), ANSWERS[name])


def test_a_tape_forgets_after_one_gradient():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)

    with pytest.raises(RuntimeError, match=r"A second gradient was asked of a GradientTape.*persistent=True"):
        tape.gradient(y, x)


def test_a_tape_gives_back_the_memory_of_what_it_has_recorded():
    x = tf.Variable(tf.ones([3]))
    with tf.GradientTape() as tape:
        inner = tf.exp(x)
        y = tf.reduce_sum(inner)
    gone = weakref.ref(inner)
    del inner
    tape.gradient(y, x)
    gc.collect()

    assert gone() is None


def test_an_operation_that_also_returns_what_it_was_given_is_recorded():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        double, same = jax.jit(lambda x: (x * 2.0, x))(x.read_value())
        y = double * same

    assert float(tape.gradient(y, x)) == 12.0


def test_indices_under_a_tape_have_the_dtype_of_tensorflow():
    v, labels = tf.Variable([[1.0, 3.0], [4.0, 2.0]]), tf.constant([1, 0], tf.int64)
    with tf.GradientTape() as tape:
        places = tf.argmax(v * 2.0, axis=1)
        right = tf.cast(tf.equal(places, labels), tf.float32)
        y = tf.reduce_sum(right * tf.gather(v, places)[:, 0])

    assert [tf.int64, tf.int64] == [places.dtype, tf.where(v > 2.0).dtype]
    np.testing.assert_allclose([[1.0, 0.0], [1.0, 0.0]], tf.convert_to_tensor(tape.gradient(y, v)))


def test_a_layer_with_a_tape_is_part_of_a_model():
    class Slope(tf.keras.layers.Layer):
        def call(self, x):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(x * x * x, axis=1, keepdims=True)
                slope = tape.batch_jacobian(y, x)[:, 0]
            return slope, tf.linalg.diag_part(outer.batch_jacobian(slope, x))

    inputs = tf.keras.Input((2,))
    model = tf.keras.Model(inputs, Slope()(inputs))
    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    first, second = model(x)

    assert [(None, 2), (None, 2)] == [one.shape for one in model.outputs]
    np.testing.assert_allclose(3 * x * x, first)
    np.testing.assert_allclose(6 * x, second)


def test_a_tape_is_entered_once():
    tape = tf.GradientTape()
    with tape, pytest.raises(ValueError, match="entered twice"):
        tape.__enter__()


def test_a_tape_that_was_left_can_be_entered_again_and_goes_on():
    x = tf.Variable(3.0)
    tape = tf.GradientTape()
    with tape:
        y = x * x
    with tape:
        z = y * 2.0

    assert float(tape.gradient(z, x)) == 12.0


def test_what_cannot_be_watched_is_told():
    with tf.GradientTape() as tape:
        with pytest.raises(ValueError, match=r"watch\(\) got 'text'; expected a tensor or a variable"):
            tape.watch("text")
        with pytest.raises(TypeError, match="dtype float64; expected numbers that JAX has"):
            tape.watch(tf.constant(1.0, tf.float64))


def test_wide_numbers_of_a_variable_are_refused_before_they_are_cut():
    v = tf.Variable(tf.constant(1.0, tf.float64))
    with (
        tf.GradientTape(),
        pytest.raises(TypeError, match="'Variable:0' of dtype float64 was read under a GradientTape"),
    ):
        v * v


def test_what_is_no_source_is_told():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x

    with pytest.raises(TypeError, match=r"with respect to 1\.0; expected a variable, or a tensor"):
        tape.gradient(y, 1.0)


def test_output_gradients_are_as_many_as_targets():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x

    with pytest.raises(ValueError, match="got 1 targets and 2 output_gradients"):
        tape.gradient(y, x, output_gradients=[tf.constant(1.0), tf.constant(1.0)])


def test_the_variables_that_were_read_are_known_in_their_order():
    a, b, c = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        b * a * c * b

    assert [one is other for one, other in zip(tape.watched_variables(), [b, a], strict=True)] == [True, True]


def test_stopping_to_record_needs_a_tape_that_records():
    with pytest.raises(ValueError, match="while the tape does not record"):
        tf.GradientTape().stop_recording()


def test_rows_of_a_batch_must_fit():
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x)

    with pytest.raises(ValueError, match="expected as many rows in both"):
        tape.batch_jacobian(y, x)


def test_a_tape_in_a_replica_of_keras_sees_its_layers():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
            layer.build((None, 3))

        def step(x):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(layer(x) ** 2)
            return tape.gradient(y, layer.trainable_variables)

        rows = strategy.experimental_distribute_values_from_function(
            lambda context: tf.ones([2, 3]) * (context.replica_id_in_sync_group + 1.0)
        )
        kernel, bias = strategy.run(step, args=(rows,))

        assert [part.numpy().ravel().tolist() for part in strategy.experimental_local_results(kernel)] == [
            [12.0] * 3,
            [48.0] * 3,
        ]
        assert [part.numpy().tolist() for part in strategy.experimental_local_results(bias)] == [[12.0], [24.0]]


@given(
    st.lists(st.sampled_from(["sin", "tanh", "square", "exp"]), min_size=1, max_size=4),
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=3),
)
@settings(max_examples=25, deadline=None)
def test_a_chain_of_operations_has_the_gradient_that_jax_computes(names, numbers):
    of_jax = {"sin": jnp.sin, "tanh": jnp.tanh, "square": jnp.square, "exp": jnp.exp}
    x = tf.Variable(np.array(numbers, np.float32))

    def chain(value):
        return functools.reduce(lambda one, name: of_jax[name](one), names, value).sum()

    with tf.GradientTape() as tape:
        y = tf.reduce_sum(functools.reduce(lambda one, name: getattr(tf, name)(one), names, x))

    np.testing.assert_allclose(
        np.asarray(tape.gradient(y, x)), jax.grad(chain)(jnp.array(numbers)), rtol=1e-4, atol=1e-5
    )

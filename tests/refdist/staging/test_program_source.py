"""Where programs come from: about which strategy they are, how often bodies are called for them, and who has none."""

import jax
import numpy as np
import pytest

import refdist as tf

ctx = tf.distribute.get_replica_context


@pytest.fixture(autouse=True)
def simulator():
    with tf.using("simulator", gpus=4):
        yield


def counting(calls, body=lambda x: x):
    return tf.function(lambda *args: calls.append(1) or body(*args))


def test_a_program_is_about_the_strategy_that_its_body_uses_without_a_scope_around():
    strategy, calls = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"]), []
    found = [strategy]  # not named by the function itself, so it is found while the body is called

    step = counting(calls, lambda x: found[0].reduce("SUM", found[0].run(lambda: x + 1), axis=None))

    assert 4.0 == float(step(tf.constant(1.0)))
    before = len(calls)
    assert [4.0, 6.0] == [float(step(tf.constant(x))) for x in (1.0, 2.0)]
    assert before == len(calls), "what was found is known in further calls"


def test_what_needs_room_for_64_bits_is_begun_anew_once():
    calls = []
    step = counting(calls, lambda x: tf.cast(x, tf.float64) + 1e-12)

    assert (1 + 1e-12, np.float64) == (float(step(tf.constant(1.0))), step(tf.constant(1.0)).dtype)
    assert 2 == len(calls)


def test_a_variable_is_made_in_a_first_call_which_is_followed_by_the_one_that_writes_the_program():
    made, calls = [], []

    def body(x):
        if not made:
            made.append(tf.Variable(10.0))
        return made[0] + x

    step = counting(calls, body)

    assert [11.0, 12.0] == [float(step(tf.constant(x))) for x in (1.0, 2.0)]
    assert (2, 1) == (len(calls), len(made))


def test_a_variable_in_every_call_is_refused_by_its_name():
    with pytest.raises(
        ValueError, match=r"made the variable 'again:0' at .* when it was traced a second time; .*first call only"
    ):
        tf.function(lambda x: tf.Variable(1.0, name="again") + x)(tf.constant(1.0))


def test_replicas_whose_tensors_differ_in_shape_have_no_program_and_the_right_answer():
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    step = tf.function(lambda x: strategy.run(lambda: x[: ctx().replica_id_in_sync_group + 1]))
    result = strategy.experimental_local_results(step(tf.constant([1.0, 2.0])))

    assert [[1.0], [1.0, 2.0]] == [np.asarray(part).tolist() for part in result]


def test_a_function_in_a_transformation_of_jax_becomes_a_part_of_that():
    calls = []
    double = counting(calls, lambda x: x * 2.0)

    assert (2.0, 6.0) == (float(jax.grad(double)(3.0)), float(jax.jit(double)(3.0)))
    assert 6.0 == float(double(tf.constant(3.0)))


def test_an_error_of_a_body_leaves_the_function_usable():
    fail = [True]

    @tf.function
    def step(x):
        if fail:
            raise KeyError("once")
        return x + 1

    with pytest.raises(KeyError, match="once"):
        step(tf.constant(1.0))
    fail.clear()

    assert 2.0 == float(step(tf.constant(1.0)))


def test_a_variable_may_begin_with_what_the_first_call_computes():
    calls, made = [], []

    def body(x):
        if not made:
            made.append(tf.Variable(x * 2.0 + tf.random.normal([]) * 0.0))
        return made[0].assign_add(1.0) + x

    step = counting(calls, body)

    assert [4.0, 15.0, 16.0] == [float(step(tf.constant(x))) for x in (1.0, 11.0, 11.0)]
    assert 3 == len(calls)  # an attempt, the first call in Python, and the program of the others


def test_replicas_begin_with_the_same_computed_value():
    strategy, made = tf.distribute.MirroredStrategy(), []

    def body():
        if not made:
            made.append(tf.Variable(tf.random.normal([])))
        return made[0].assign_add(1.0)

    step = tf.function(lambda: strategy.run(body))
    first, second = (strategy.experimental_local_results(step()) for _ in range(2))

    assert (1, 1) == (len(set(map(float, first))), len(set(map(float, second))))
    assert pytest.approx(float(first[0]) + 1.0) == float(second[0])


def test_a_function_that_makes_a_variable_from_a_tensor_in_every_call_is_told():
    step = tf.function(lambda x: tf.Variable(x * 2.0) + x)
    step(tf.constant(1.0))

    with pytest.raises(ValueError, match="made a variable when it was traced a second time"):
        step(tf.constant(1.0))


def test_a_program_cannot_be_written_before_a_call_has_computed_what_its_variables_begin_with():
    made = []
    step = tf.function(lambda x: (made or made.append(tf.Variable(x * 2.0)) or made)[0] + x)

    with pytest.raises(ValueError, match="before its first call"):
        step.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert 3.0 == float(step(tf.constant(1.0)))
    assert 5.0 == float(step.get_concrete_function(tf.TensorSpec([], tf.float32))(tf.constant(3.0)))

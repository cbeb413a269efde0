"""Python's control flow in functions beyond what TensorFlow has, and conditions that decide nothing."""

import pytest

import refdist as tf


@pytest.mark.parametrize("value", [[True, False], 3, 2.5])
def test_a_condition_is_one_truth_value(value):
    def step(x):
        if x:
            return 1
        return 2

    with pytest.raises(ValueError, match="expected a single truth value") as caught:
        tf.function(step)(tf.constant(value))

    assert f"{__file__}:{step.__code__.co_firstlineno + 1}, in step" in str(caught.value)


def test_one_truth_value_in_a_tensor_of_one_element_decides():
    assert 1 == int(tf.function(lambda x: 1 if x else 2)(tf.constant([True])))


def test_a_scalar_has_no_rows_to_loop_over():
    @tf.function
    def step(x):
        for _ in x:
            pass

    with pytest.raises(ValueError, match="goes over a scalar"):
        step(tf.constant(1.0))


def test_a_loop_goes_on_in_the_program_when_its_condition_becomes_a_tensor():
    @tf.function
    def until(x):
        while True:
            x = x * 2
            if x > 100:
                break
        return x

    assert 160 == int(until(tf.constant(5)))


def test_a_break_that_a_tensor_decides_ends_a_loop_over_python_values():
    @tf.function
    def step(x):
        for factor in [1, 2, 3, 4]:
            if x > 10:
                break
            x = x * factor
        return x

    assert [18, 24] == [int(step(tf.constant(x))) for x in (3, 1)]


def test_an_assertion_is_looked_at_when_the_program_runs():
    written = tf.Variable(0.0)

    @tf.function
    def step(x):
        assert x > 0, "negative"
        written.assign(x)
        return x

    assert 1.0 == float(step(tf.constant(1.0)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="failed: negative"):
        step(tf.constant(-1.0))
    assert 1.0 == written.numpy()


def test_an_assertion_about_python_values_is_pythons():
    @tf.function
    def step(x, kind):
        assert kind == "a", "no such kind"
        return x

    with pytest.raises(AssertionError, match="no such kind"):
        step(tf.constant(1.0), "b")


def test_a_function_that_calls_itself_until_a_tensor_says_stop_is_refused():
    def factorial(n):
        if n <= 1:
            return tf.constant(1)
        return n * factorial(n - 1)

    with pytest.raises(RecursionError, match="Use a `while` loop") as caught:
        tf.function(factorial)(tf.constant(3))

    assert f"{__file__}:{factorial.__code__.co_firstlineno + 1}, in factorial" in str(caught.value)


def test_a_function_that_calls_itself_until_a_python_value_says_stop_ends():
    @tf.function
    def power(x, n):
        if n == 0:
            return tf.constant(1.0)
        return power(x, n - 1) * (x if x > 0 else -x)

    assert 8.0 == float(power(tf.constant(-2.0), 3))


def test_a_chain_of_conditions():
    @tf.function
    def size(x):
        if x < 1:
            return 0
        elif x < 2:  # noqa: RET505
            return 1
        elif x < 3:
            return 2
        return 3

    assert [0, 1, 2, 3] == [int(size(tf.constant(x))) for x in range(4)]


def test_eager_code_is_pythons_own():
    def step(x):
        return [1] if x > 0 else "text"

    assert ([1], "text") == (step(tf.constant(1.0)), step(tf.constant(-1.0)))

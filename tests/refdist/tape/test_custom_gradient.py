"""What authors of gradients write, and what is wrong with it; the numbers are compared with TensorFlow's in test_gradient_tape."""

import pytest

import refdist as tf


def test_without_a_tape_only_the_result_is_returned():
    @tf.custom_gradient
    def doubled(x):
        return 2.0 * x, lambda upstream: upstream

    assert float(doubled(tf.constant(3.0))) == 6.0


def test_a_function_without_a_gradient_is_told():
    @tf.custom_gradient
    def plain(x):
        return x

    with pytest.raises(
        TypeError, match=r"'plain' with a custom gradient returned .* expected its result, and a function"
    ):
        plain(tf.constant(1.0))


def test_a_gradient_that_leaves_out_an_argument_is_told():
    @tf.custom_gradient
    def product(a, b):
        return a * b, lambda upstream: upstream

    a, b = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = product(a, b)

    with pytest.raises(
        ValueError, match="'product' returned 1 gradients of arguments and 0 of variables; expected 2 and 0"
    ):
        tape.gradient(y, a)


def test_a_gradient_that_knows_nothing_of_variables_is_told():
    v = tf.Variable(2.0, name="scale")

    @tf.custom_gradient
    def scaled(x):
        return x * v, lambda upstream: upstream

    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = scaled(x)

    with pytest.raises(TypeError, match="has no argument `variables`, and the function uses 'scale:0'"):
        tape.gradient(y, x)


def test_the_decorator_may_be_called_without_a_function():
    assert float(tf.custom_gradient()(lambda x: (x, lambda upstream: upstream))(tf.constant(1.0))) == 1.0


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="custom_gradient"):
        tf.custom_gradient(3)


def test_a_stopped_tensor_has_the_same_numbers():
    assert tf.stop_gradient([1.0, 2.0]).numpy().tolist() == [1.0, 2.0]


def test_a_function_to_be_recomputed_stays_itself():
    def square(x):
        return x * x

    assert tf.recompute_grad(square) is square

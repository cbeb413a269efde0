import numpy as np
import pytest

import refdist as tf

EITHER = pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])


@EITHER
@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (lambda x: tf.debugging.assert_less(x, 3.0), 1.0, 5.0),
        (lambda x: tf.debugging.assert_equal(x, 2.0), 2.0, 5.0),
        (lambda x: tf.debugging.assert_positive(x, message="a price"), 2.0, -1.0),
        (lambda x: tf.debugging.check_numerics(x, "a price"), 2.0, np.inf),
        (lambda x: tf.debugging.assert_near(x, 2.0), 2.0, 2.1),
        (lambda x: tf.Assert(x > 0, [x]), 2.0, -1.0),
    ],
)
def test_what_does_not_hold_is_told_and_nothing_is_written(around, check, good, bad):
    variable = tf.Variable(0.0)

    def step(x):
        check(x)
        variable.assign_add(x)

    run = around(step)
    run(tf.constant(good))

    assert good == float(variable)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected"):
        run(tf.constant(bad))
    assert good == float(variable)


@EITHER
def test_a_python_function_is_called_each_time(around):
    seen = []

    def double(x):
        seen.append(type(x))
        return x * 2

    run = around(lambda x: tf.numpy_function(double, [x], tf.float32))

    assert [2.0, 4.0] == np.asarray(run(tf.constant([1.0, 2.0]))).tolist()
    assert [2.0, 4.0] == np.asarray(run(tf.constant([1.0, 2.0]))).tolist()
    assert [np.ndarray] * 2 == seen

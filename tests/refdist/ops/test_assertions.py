"""What TensorFlow 2.21 accepts and refuses."""

import numpy as np
import pytest

import refdist as tf

check, INVALID = tf.debugging, tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    "accepted",
    [
        lambda: check.assert_equal([1, 1], 1),
        lambda: check.assert_equal([], []),
        lambda: check.assert_equal(1, tf.constant(1.0)),
        lambda: check.assert_none_equal([1, 2], 3),
        lambda: check.assert_less([1], 2),
        lambda: check.assert_near(1.0, 1.0 + 1e-7),
        lambda: check.assert_near([1.0], [1.2], atol=0.3),
        lambda: check.assert_rank([1], 1),
        lambda: check.assert_rank_in([1], (1, 2)),
        lambda: check.assert_rank_at_least([[1]], 1),
        lambda: check.assert_shapes([(tf.zeros([2, 3]), ("N", "D")), (tf.zeros([2]), "N"), (tf.zeros([4]), (None,))]),
        lambda: check.assert_integer(1),
        lambda: check.assert_type(1, tf.int32),
        lambda: check.assert_proper_iterable([1]),
        lambda: check.Assert(True, []),
    ],
)
def test_what_holds_is_accepted(any_backend, accepted):
    assert accepted() is None


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (lambda: check.assert_equal(1, 2, message="hello"), INVALID),
        (lambda: check.assert_equal(tf.constant(1), tf.constant(1.0)), INVALID),
        (lambda: check.assert_none_equal([1, 2], 2), INVALID),
        (lambda: check.assert_less([1, 3], 2), INVALID),
        (lambda: check.assert_less_equal(3, 2), INVALID),
        (lambda: check.assert_greater(1, 1), INVALID),
        (lambda: check.assert_greater_equal(1, 2), INVALID),
        (lambda: check.assert_near(1.0, 1.1), INVALID),
        (lambda: check.assert_positive([0]), INVALID),
        (lambda: check.assert_negative(1), INVALID),
        (lambda: check.assert_non_negative([-1]), INVALID),
        (lambda: check.assert_non_positive(1), INVALID),
        (lambda: check.check_numerics([1.0, np.nan], "message"), INVALID),
        (lambda: check.assert_all_finite([np.inf], "message"), INVALID),
        (lambda: check.Assert(False, ["x", 1]), INVALID),
        (lambda: check.assert_rank([1], 0), ValueError),
        (lambda: check.assert_rank_in([1], (0, 2)), ValueError),
        (lambda: check.assert_rank_at_least(1, 1), ValueError),
        (lambda: check.assert_scalar([1]), ValueError),
        (lambda: check.assert_shapes([(tf.zeros([2, 3]), ("N", 3)), (tf.zeros([3]), ("N",))]), ValueError),
        (lambda: check.assert_type(1, tf.float32), TypeError),
        (lambda: check.assert_integer(1.0), TypeError),
        (lambda: check.assert_proper_iterable(3), TypeError),
    ],
)
def test_what_does_not_hold_is_refused_in_three_parts(refused, error):
    with pytest.raises(error, match=r"; expected .*\. \w"):
        refused()


def test_a_message_comes_first():
    with pytest.raises(INVALID, match=r"^hello x is 1 and y is 2; expected x == y\. "):
        check.assert_equal(1, 2, message="hello")


def test_values_are_returned():
    assert [1.0] == check.check_numerics([1.0], "message").tolist()
    assert 2 == check.assert_scalar(2)
    assert [True, False] == [check.is_numeric_tensor(tf.constant(1)), check.is_numeric_tensor("a")]


def test_a_program_ends_where_a_condition_does_not_hold(any_backend):
    count = tf.Variable(0)

    @tf.function
    def step(x):
        check.assert_positive(x, message="hello")
        count.assign_add(1)
        return x

    assert 1 == step(tf.constant(1))
    with pytest.raises(INVALID, match="hello"):
        step(tf.constant(-1))
    assert 1 == int(count)


def test_a_shape_is_ensured_size_by_size():
    x = tf.zeros([2, 3])

    assert tf.ensure_shape(x, [None, 3]) is x
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"ensure_shape\(\) got a tensor of shape \(2, 3\); expected \(3, 2\)"
    ):
        tf.ensure_shape(x, (3, 2))

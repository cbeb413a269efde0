"""Rates of TensorFlow 2.21 at the steps 0, 3, 7, 12 and 25."""

import pytest

import refdist as tf

train = tf.compat.v1.train
STEPS = (0, 3, 7, 12, 25)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            lambda step: train.exponential_decay(0.1, step, 10, 0.9),
            (0.1, 0.096888617, 0.092890166, 0.088123351, 0.076843344),
        ),
        (lambda step: train.exponential_decay(0.1, step, 10, 0.9, True), (0.1, 0.1, 0.1, 0.09, 0.081)),
        (
            lambda step: train.natural_exp_decay(0.1, step, 10, 0.5),
            (0.1, 0.086070798, 0.070468806, 0.054881163, 0.028650481),
        ),
        (lambda step: train.inverse_time_decay(0.1, step, 10, 0.5, True), (0.1, 0.1, 0.1, 0.066666670, 0.05)),
        (lambda step: train.cosine_decay(0.1, step, 10, 0.1), (0.1, 0.081450336, 0.028549666, 0.01, 0.01)),
        (lambda step: train.polynomial_decay(0.1, step, 10, 0.01, 2.0), (0.1, 0.0541, 0.0181, 0.01, 0.01)),
        (
            lambda step: train.polynomial_decay(0.1, step, 10, 0.01, 0.5, cycle=True),
            (0.1, 0.085299402, 0.059295036, 0.066921003, 0.046742350),
        ),
        (lambda step: train.piecewise_constant(step, [3, 12], [0.1, 0.2, 0.3]), (0.1, 0.1, 0.2, 0.2, 0.3)),
    ],
)
def test_rates_are_those_of_tensorflow(made, expected):
    step = tf.Variable(0, dtype=tf.int64)
    rate = made(step)
    compiled = tf.function(rate)
    for number, wanted in zip(STEPS, expected, strict=True):
        step.assign(number)

        assert [pytest.approx(wanted, rel=1e-6)] * 2 == [float(rate()), float(compiled())]


def test_there_is_one_value_more_than_boundaries():
    with pytest.raises(ValueError, match="one value more"):
        train.piecewise_constant(1, [1], [0.1])

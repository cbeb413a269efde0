"""`tf.signal` answers as TensorFlow has answered."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist.ops import comparison
from tests.refdist.ops.answers import answers_of, expressions_of
from tests.refdist.ops.comparison import differences, evaluated, staged_together

WIDE = ("float64", "complex128")  # JAX has no room for these


@pytest.fixture(autouse=True)
def rounding(monkeypatch):
    for dtype, near in {"float32": 2e-5, "complex64": 2e-5, "complex128": 1e-12}.items():
        monkeypatch.setitem(comparison.TOLERANCE, dtype, near)  # sums of many numbers, in another order


def test_the_answers_are_those_of_the_expressions():
    assert set(expressions_of("signals")) == set(answers_of("signals"))


def test_signals_answer_as_tensorflow():
    assert [] == list(filter(None, differences(answers_of("signals"), lambda one: evaluated(one, tf.constant), False)))


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_signals_in_a_function_answer_as_tensorflow(backend):
    narrow = backend == "jax"
    answers = {one: answer for one, answer in answers_of("signals").items() if isinstance(answer, list)}
    answers = {one: answer for one, answer in answers.items() if not (narrow and any(map(one.__contains__, WIDE)))}
    with tf.using(backend, cpus=1):
        results = staged_together(list(answers))

    assert [] == list(filter(None, differences(answers, results.__getitem__, narrow)))


def test_a_gradient_goes_through_a_spectrogram():
    signal = tf.constant(np.sin(np.arange(32)).astype("float32"))
    with tf.GradientTape() as tape:
        tape.watch(signal)
        energy = tf.reduce_sum(tf.abs(tf.signal.stft(signal, 8, 8, window_fn=None)) ** 2)

    # What TensorFlow answers.
    expected = [-0.25384092330932617, 8.093073844909668, 7.020537376403809, 2.490267276763916]
    np.testing.assert_allclose(tape.gradient(energy, signal)[:4], expected, rtol=1e-5)


def test_what_is_missing_says_what_to_use():
    with pytest.raises(AttributeError, match=r"jax\.numpy\.fft"):
        tf.signal.mdct  # noqa: B018


def test_a_window_of_integers_is_refused():
    with pytest.raises(ValueError, match=r"tf\.float32"):
        tf.signal.hann_window(4, dtype=tf.int32)


def test_an_axis_that_is_not_the_last_is_refused():
    with pytest.raises(NotImplementedError, match=r"tf\.transpose"):
        tf.signal.dct(tf.ones([2, 2]), axis=0)

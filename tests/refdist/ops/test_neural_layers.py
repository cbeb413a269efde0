"""What the recorded answers, which test_more_operations.py compares, do not say."""

import jax
import numpy as np
import pytest

import refdist as tf


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_dropout_drops_a_share_and_scales_the_others(any_backend, around):
    drop = around(lambda x: tf.nn.dropout(x, 0.25))
    first, second = (np.asarray(drop(tf.ones([4000]))) for _ in range(2))

    assert {0.0, np.float32(1 / 0.75)} == set(first.tolist())
    assert 0.2 < (first == 0).mean() < 0.3
    assert first.tolist() != second.tolist()


def test_gradients_flow_through_a_convolution(any_backend):
    image = np.ones((1, 3, 3, 1), np.float32)

    @tf.function
    def gradient(filters):
        return jax.grad(lambda one: tf.reduce_sum(tf.nn.relu6(tf.nn.conv2d(image, one, 1, "SAME"))))(filters)

    assert [[4.0, 6.0], [6.0, 9.0]] == np.asarray(gradient(tf.constant(np.full((2, 2, 1, 1), 0.1, np.float32))))[
        ::-1, ::-1, 0, 0
    ].tolist()


def test_convolutions_run_on_the_devices_of_replicas(any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    pooled = strategy.run(lambda: tf.nn.max_pool(tf.ones([1, 2, 2, 1]), 2, 2, "VALID"))
    found = strategy.experimental_local_results(pooled)

    assert names[:2] == [tf.device_name(one)[-5:] for one in found]
    assert all(isinstance(one, any_backend.tensor_type) for one in found)


def test_what_does_not_fit_is_told():
    image = tf.ones([1, 4, 4, 1])
    for call, text in [
        (lambda: tf.nn.max_pool(image, [1, 2, 2], 1, "VALID"), "expected 1, 2 or 4"),
        (lambda: tf.nn.max_pool(image, 2, 1, "CENTER"), "'SAME' or 'VALID'"),
        (lambda: tf.nn.space_to_depth(image, 2, data_format="NCHW"), "Transpose it"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="expected floats"):
        tf.nn.elu([1])

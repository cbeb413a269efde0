"""What the tests of the simulator share."""

import pytest

import refdist as tf
from tests.simulator.star import STAR


@pytest.fixture
def strategy():
    """A strategy on the four devices of a star, which stays chosen during the test."""
    with tf.using("simulator", cluster=STAR):
        yield tf.distribute.MirroredStrategy()

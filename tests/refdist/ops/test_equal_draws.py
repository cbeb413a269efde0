"""What `randomness="check"` says about numbers that are equal on all replicas, and about what it is silent."""

import warnings

import pytest

import refdist as tf

MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


def replica_id():
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def run(mode, body, **options):
    with tf.using("simulator", gpus=2, **options):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            generator = tf.random.Generator.from_seed(1)
        mode(lambda: strategy.run(lambda: body(generator)))()


EQUAL = {
    "uniform(seed=5)": lambda _: tf.random.uniform((2,), seed=5),
    "normal(seed=5)": lambda _: tf.random.normal((2,), seed=5),
    "stateless_uniform": lambda _: tf.random.stateless_uniform((2,), seed=(1, 2)),
    "stateless_random_flip": lambda _: tf.image.stateless_random_flip_left_right(tf.ones((2, 2, 1)), seed=(1, 2)),
}
OTHER = {
    "uniform()": lambda _: tf.random.uniform((2,)),
    "a generator": lambda generator: generator.uniform((2,)),
    "the replica in the seed": lambda _: tf.random.stateless_uniform((2,), seed=(1, replica_id())),
    "folded in": lambda _: tf.random.stateless_uniform(
        (2,), seed=tf.random.experimental.stateless_fold_in((1, 2), tf.constant(replica_id()))
    ),
    "twice on one replica": lambda _: [tf.random.stateless_uniform((2,), seed=(7, replica_id())) for _ in range(2)],
}


@MODES
@pytest.mark.parametrize("draw", EQUAL)
def test_one_line_that_draws_the_same_numbers_on_all_replicas_is_told(mode, draw):
    with pytest.warns(
        tf.errors.RandomnessWarning, match=r"test_equal_draws.py:\d+.*the same numbers on the replicas 0 and 1"
    ):
        run(mode, EQUAL[draw], randomness="check")


@MODES
@pytest.mark.parametrize("draw", OTHER)
def test_other_numbers_on_each_replica_are_silent(mode, draw):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(mode, OTHER[draw], randomness="check")


@pytest.mark.parametrize("draw", EQUAL)
def test_equal_numbers_are_silent_unless_asked_for(draw):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(lambda body: body, EQUAL[draw])

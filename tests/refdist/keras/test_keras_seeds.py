"""Random numbers of Keras and of `tf.random` on replicas: where they differ, and where they are equal."""

import numpy as np
import pytest

import refdist as tf

MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:2])


def calls(strategy, mode, body, count=3):
    """What each replica gets in each of several calls."""
    run = mode(lambda: strategy.run(body))
    return [[np.asarray(value) for value in strategy.experimental_local_results(run())] for _ in range(count)]


def all_differ(found):
    flat = [value.tobytes() for one in found for value in one]
    return len(set(flat)) == len(flat)


@MODES
@pytest.mark.parametrize("seed", [None, 7])
def test_dropout_drops_other_units_on_each_replica_and_in_each_call(strategy, mode, seed):
    with strategy.scope():
        layer = tf.keras.layers.Dropout(0.5, seed=seed)

    assert all_differ(calls(strategy, mode, lambda: layer(tf.ones((64,)), training=True)))


@MODES
def test_a_seed_generator_has_other_numbers_on_each_replica_and_one_state_for_all(strategy, mode):
    with strategy.scope():
        generator = tf.keras.random.SeedGenerator(1)
    found = calls(strategy, mode, lambda: tf.keras.random.uniform((4,), seed=generator))

    assert all_differ(found)
    assert int(np.asarray(generator.state.value)[1]) == 3


@MODES
def test_the_first_replica_gets_what_one_replica_alone_would_get(names, mode):
    def first(count):
        strategy = tf.distribute.MirroredStrategy(names[:count])
        with strategy.scope():
            generator = tf.keras.random.SeedGenerator(1)
        return calls(strategy, mode, lambda: tf.keras.random.uniform((4,), seed=generator), 1)[0][0]

    assert first(1).tolist() == first(2).tolist()


@MODES
def test_tf_random_differs_between_replicas_unless_the_operation_has_a_seed(strategy, mode):
    assert all_differ(calls(strategy, mode, lambda: tf.random.uniform((4,))))
    for both in calls(strategy, mode, lambda: tf.random.uniform((4,), seed=5)):
        assert both[0].tolist() == both[1].tolist()


@MODES
def test_a_generator_made_in_the_scope_has_its_own_stream_on_each_replica(strategy, mode):
    with strategy.scope():
        generator = tf.random.Generator.from_seed(1)

    assert all_differ(calls(strategy, mode, lambda: generator.uniform((4,))))


def test_replicas_with_dropout_share_one_program(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    with strategy.scope():
        layer = tf.keras.layers.Dropout(0.5)
    step = tf.function(lambda x: strategy.run(lambda x: layer(x, training=True), args=(x,)))

    assert "conditional" not in step.experimental_get_compiler_ir(tf.ones((64,)))(stage="hlo")

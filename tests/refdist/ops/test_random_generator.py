import numpy as np
import pytest

import refdist as tf

# What TensorFlow draws with a generator of seed 1 that was made in the scope of two replicas: four steps, two numbers each.
OF_REPLICAS = [
    [[-0.87930447, 1.4680789], [0.02066157, 1.9473345]],
    [[-0.5039703, -0.17300826], [0.1251838, -0.25414044]],
    [[0.16718747, 0.30425787], [-0.35701847, -0.47952694]],
    [[0.32970926, -0.7461026], [0.3195979, -0.5985143]],
]
OUTSIDE = [0.9560716, 0.43019655]  # and then outside of replicas


def words(generator):
    """The state as three integers, in whichever form it is."""
    state = np.asarray(generator.state)
    return (state if len(state) == 3 else state.astype(np.uint32).view(np.int64)).tolist()


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_a_generator_of_a_strategy_draws_other_numbers_on_each_replica(any_backend, names, around):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    with strategy.scope():
        generator = tf.random.Generator.from_seed(1)
    step = around(lambda: strategy.run(lambda: generator.normal([2])))
    found = [[np.asarray(one) for one in strategy.experimental_local_results(step())] for _ in range(4)]

    assert np.allclose(OF_REPLICAS, found, atol=1e-6)
    assert [2049, 0, 0] == words(generator)
    assert np.allclose(OUTSIDE, np.asarray(around(lambda: generator.normal([2]))()), atol=1e-6)
    assert [2561, 0, 0] == words(generator)


def test_replicas_may_draw_different_amounts():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            generator = tf.random.Generator.from_seed(1)
        strategy.run(lambda: generator.uniform([1 + tf.distribute.get_replica_context().replica_id_in_sync_group]))
        states = [np.asarray(one).tolist() for one in strategy.experimental_local_results(generator.state)]

    assert [[257, 0, 0], [513, 0, 0]] == states


def test_the_state_advances_in_a_function_and_can_be_set(any_backend):
    generator = tf.random.Generator.from_seed(3)
    draw = tf.function(lambda: generator.uniform([3]))
    first, second = np.asarray(draw()), np.asarray(draw())
    generator.reset_from_seed(3)

    assert first.tolist() == np.asarray(generator.uniform([3])).tolist() != second.tolist()
    generator.reset_from_seed(3)
    generator.skip(3)
    copied = tf.random.Generator(copy_from=generator)
    shared = tf.random.Generator.from_state(generator.state, "philox")

    assert second.tolist() == np.asarray(shared.uniform([3])).tolist() == np.asarray(copied.uniform([3])).tolist()
    assert [1539, 0, 0] == words(generator) == words(shared) == words(copied)
    generator.reset_from_key_counter(5, [6, 7])

    assert [6, 7, 5] == words(generator)
    assert 1 == generator.algorithm


def test_seeds_for_stateless_operations_are_columns(any_backend):
    seeds = tf.random.Generator.from_seed(1).make_seeds(2)

    assert (2, 2) == seeds.shape
    assert [0, 0] == np.asarray(seeds[1]).tolist()
    assert (3,) == tf.random.stateless_uniform([3], seeds[:, 1]).shape


def test_the_global_generator_is_one_and_can_be_replaced(monkeypatch):
    monkeypatch.setattr("refdist._core.ops.random_generator._global", [])
    first = tf.random.get_global_generator()
    tf.random.set_global_generator(tf.random.Generator.from_seed(5))

    assert first is not tf.random.get_global_generator() is tf.random.get_global_generator()
    assert [5, 0, 0] == words(tf.random.get_global_generator())
    assert words(tf.random.Generator.from_non_deterministic_state()) != words(first)


def test_a_counter_carries_over_into_its_upper_half(any_backend):
    generator = tf.random.Generator.from_key_counter(9, [-256, 4], "philox")
    generator.skip(2)

    assert [256, 5, 9] == words(generator)


def test_the_state_is_saved_with_a_checkpoint(tmp_path):
    generator = tf.random.Generator.from_seed(3)
    path = tf.train.Checkpoint(generator=generator).save(tmp_path / "at")
    first = generator.normal([2]).tolist()
    tf.train.Checkpoint(generator=generator).restore(path).assert_consumed()

    assert first == generator.normal([2]).tolist()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf.random.Generator(), "expected one of them"),
        (lambda: tf.random.Generator.from_seed(1, alg="threefry"), "expected 'philox'"),
        (lambda: tf.random.Generator.from_state([1, 2], "philox"), "expected three integers"),
        (lambda: tf.random.Generator.from_key_counter(1, [1], "philox"), "expected one integer and two"),
    ],
)
def test_what_is_refused_says_what_is_expected(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_a_generator_of_another_strategy_is_refused():
    with tf.using("simulator", gpus=2):
        with tf.distribute.MirroredStrategy().scope():
            generator = tf.random.Generator.from_seed(1)
        with pytest.raises(RuntimeError, match="expected one strategy"):
            tf.distribute.OneDeviceStrategy("GPU:0").run(lambda: generator.normal([1]))

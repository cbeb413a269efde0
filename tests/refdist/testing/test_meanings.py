"""What a difference usually means, by its factor and by what replicas have brought."""

import numpy as np
import pytest

from refdist._core.testing.factors import Factor, factor_of
from refdist._core.testing.facts import Fact
from refdist._core.testing.meanings import cancels, meaning


def told(facts, *, draws=False):
    factor = factor_of(facts[0][1], facts[-1][1], facts[-1][0] / facts[0][0], 1e-6)
    return meaning(facts, factor, 1e-6, draws=draws)


def combined(kind, function, parts):
    return [
        (count, Fact("key", "meeting", kind, np.float64(function(brought)), brought=tuple(map(np.float64, brought))))
        for count, brought in parts.items()
    ]


def writes(function, *, dtype=np.float64, **options):
    return [
        (count, Fact("key", "write", "w:0", np.asarray(function(count), dtype), np.asarray(0, dtype), **options))
        for count in (1, 2, 4)
    ]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (combined("all_reduce(SUM)", sum, {1: [3.0], 2: [2.0, 4.0]}), "not divided by the global batch"),
        (combined("all_reduce(SUM)", sum, {1: [3.0], 2: [3.0, 3.0]}), "already equal on all replicas"),
        (combined("reduce(MEAN)", np.mean, {1: [2.4], 2: [7.0, 2.0]}), "different numbers of rows"),
        (writes(lambda n: n, dtype=np.int64), "a counter grows"),
        (writes(lambda n: 2.0 * n, own_copies="SUM"), "each replica keeps a mean or a ratio"),
        (writes(lambda n: 2.0 * n**2), "reduced twice"),
        (writes(lambda n: 2.0 / n), "divided once too often"),
        (writes(lambda n: [5.0 + 0.3 * n, 1.0 - n]), "a regulariser"),
        (writes(lambda n: [5.0 + np.sqrt(n), 1.0]), "clipping"),
    ],
)
def test_the_usual_mistakes_are_named(facts, words):
    assert words in told(facts)


def test_random_numbers_are_named_where_replicas_draw():
    assert "random numbers" in told(writes(lambda n: [5.0 + np.sqrt(n), 1.0]), draws=True)


def test_a_factor_is_named_though_replicas_draw():
    assert "not divided" in told(writes(lambda n: 2.0 * n), draws=True)


def test_statistics_are_known_by_their_names():
    facts = [(count, Fact("key", "write", "moving_mean:0", np.float64(count + 0.5))) for count in (1, 3)]

    assert "statistics of a batch" in meaning(facts, Factor("other", None), 1e-6, draws=False)


def test_sums_that_rounding_has_eaten_are_known():
    brought = (np.float32(1e8), np.float32(1.0), np.float32(-1e8))

    assert cancels(Fact("key", "meeting", "all_reduce(SUM)", np.float32(0.0), brought=brought))
    assert not cancels(Fact("key", "meeting", "all_reduce(SUM)", np.float32(3.0), brought=(np.float32(1),) * 3))


def test_below_an_optimizer_a_factor_of_n_may_also_be_a_gradient_that_was_reduced_before():
    import refdist as tf
    from refdist.testing import ReplicasDiffer, assert_same_on

    def program(strategy):
        with strategy.scope():
            w, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(0.1)
            optimizer.build([w])

        def step(x):
            context = tf.distribute.get_replica_context()
            gradient = context.all_reduce("SUM", tf.reduce_sum(x) * w)
            optimizer.apply_gradients([(gradient, w)])

        for x in strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensors(1.0).repeat(4).batch(4)):
            strategy.run(step, args=(x,))

    with pytest.raises(ReplicasDiffer) as caught:
        assert_same_on(program, replicas=(1, 2))

    assert "given some that were reduced before" in caught.value.meaning

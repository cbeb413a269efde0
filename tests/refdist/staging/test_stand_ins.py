"""What stands for values while a program is written."""

import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.staged_programs import numbered

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


def test_a_per_replica_value_prints_while_a_program_is_written(strategy):
    printed = []

    @tf.function
    def step(x):
        y = strategy.run(lambda x: x * 2, args=(x,))
        printed.append(f"{y} {y!r}")
        return y

    step(numbered(strategy))

    assert 2 == printed[0].count("PerReplica:{")


def test_a_per_replica_value_is_of_no_use_after_the_program_was_written(strategy):
    kept = []

    @tf.function
    def step(x):
        y = strategy.run(lambda x: x * 2, args=(x,))
        kept.append(y)
        return y

    step(numbered(strategy))

    with pytest.raises(RuntimeError, match="used after the function had been traced"):
        strategy.experimental_local_results(kept[0])


def test_text_for_each_replica_is_handed_on_and_cannot_be_taken_apart(strategy):
    if strategy.extended.backend.name == "jax":
        pytest.skip("JAX has no text")
    words = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant("ab"[context.replica_id_in_sync_group])
    )

    assert words is tf.function(lambda x: x)(words)
    with pytest.raises(ValueError, match="components of a per-replica value of 2 were asked for"):
        tf.function(lambda x: x.values)(words)

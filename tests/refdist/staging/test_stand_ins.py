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


def test_values_and_variables_can_be_printed_while_a_program_is_written(names, capsys):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    value = strategy.run(lambda: tf.constant(1.0))
    with strategy.scope():
        mirrored = tf.Variable(1.0)

    @tf.function
    def shown(x, plain, mirrored):
        print(x)
        print(f"{plain} {mirrored}")
        return plain + mirrored

    for _ in range(2):
        assert 3.0 == float(shown(value, tf.Variable(2.0), mirrored))
    printed = capsys.readouterr().out

    assert printed.startswith("PerReplica:{\n  0: Tensor(shape=(), dtype=float32),\n  1:")
    assert "<tf.Variable 'Variable:0' shape=() dtype=float32>" in printed
    assert 1 == printed.count("PerReplica:{\n  0: Tensor")

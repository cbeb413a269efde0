"""The choices that the API offers by name, and what is none of them."""

import pytest

import refdist as tf

SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


@pytest.fixture
def value():
    with tf.using("host", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
    return strategy, strategy.run(lambda: tf.constant(3.0))


@pytest.mark.parametrize("op", [SUM, "SUM", "sum", "Sum"])
def test_a_sum_has_several_spellings(value, op):
    strategy, parts = value

    assert 6.0 == float(strategy.reduce(op, parts, axis=None))


@pytest.mark.parametrize("op", [MEAN, "MEAN", "mean", "Mean"])
def test_so_has_a_mean(value, op):
    strategy, parts = value

    assert 3.0 == float(strategy.reduce(op, parts, axis=None))


@pytest.mark.parametrize("op", ["", "max", "sUm", " sum", "sum "])
def test_another_name_is_refused_with_those_that_there_are(value, op):
    strategy, parts = value
    with pytest.raises(ValueError, match="expected one of SUM, MEAN"):
        strategy.reduce(op, parts, axis=None)


@pytest.mark.parametrize("op", [None, 0, b"SUM", tf.VariableAggregation.SUM, ["SUM"], tf.distribute.ReduceOp])
def test_what_is_no_name_is_refused_with_its_type(value, op):
    strategy, parts = value
    with pytest.raises(TypeError, match=rf"a {type(op).__name__}; expected a ReduceOp or its name"):
        strategy.reduce(op, parts, axis=None)


def test_the_documented_members_are_there_in_order():
    assert ["SUM", "MEAN"] == [op.name for op in tf.distribute.ReduceOp]
    assert ["AUTO", "NONE", "ON_WRITE", "ON_READ"] == [one.name for one in tf.VariableSynchronization]
    assert ["NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"] == [one.name for one in tf.VariableAggregation]
    assert ["PER_WORKER", "PER_REPLICA"] == [one.name for one in tf.distribute.InputReplicationMode]


def test_members_have_the_documented_values():
    assert ("SUM", "MEAN") == (SUM.value, MEAN.value)
    assert [0, 1, 2, 3] == [one.value for one in tf.VariableAggregation]
    assert [0, 1, 2, 3] == [one.value for one in tf.VariableSynchronization]

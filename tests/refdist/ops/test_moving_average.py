"""Averages as in TensorFlow 2.21."""

import pytest

import refdist as tf


def test_averages_are_those_of_tensorflow(any_backend):
    average, variable = tf.train.ExponentialMovingAverage(0.9), tf.Variable([1.0, 2.0], name="weight")
    average.apply([variable])
    variable.assign([3.0, 4.0])
    average.apply([variable])

    assert pytest.approx([1.2, 2.2]) == average.average(variable).numpy().tolist()
    assert "weight/ExponentialMovingAverage:0" == average.average(variable).name
    assert {"weight/ExponentialMovingAverage": variable} == average.variables_to_restore()
    assert not average.average(variable).trainable
    assert average.average(tf.Variable(1.0)) is None
    assert "ExponentialMovingAverage" == average.name


def test_early_averages_move_faster():
    average, variable = tf.train.ExponentialMovingAverage(0.9, num_updates=tf.Variable(2)), tf.Variable(3.0)
    average.apply([variable])
    variable.assign(5.0)
    average.apply([variable])

    assert pytest.approx(4.5) == float(average.average(variable))


@pytest.mark.parametrize("wrong", [lambda: tf.constant(1.0), lambda: tf.Variable(1)])
def test_only_variables_of_floats_have_averages(wrong):
    with pytest.raises(TypeError):
        tf.train.ExponentialMovingAverage(0.9).apply([wrong()])


@pytest.mark.parametrize("wrap", [lambda function: function, tf.function])
def test_replicas_keep_one_average(names, wrap):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    with strategy.scope():
        average, variable = tf.train.ExponentialMovingAverage(0.5), tf.Variable(1.0)
        average.apply([variable])
    variable.assign(3.0)
    wrap(lambda: strategy.run(lambda: average.apply([variable])))()

    assert [2.0] * 2 == [float(copy) for copy in strategy.experimental_local_results(average.average(variable))]


@pytest.mark.parametrize("inside", [False, True])
def test_a_function_makes_averages_in_its_first_call(inside):
    average = tf.train.ExponentialMovingAverage(0.8)

    def body():
        average.apply([variable])
        variable.assign_sub([0.5])
        average.apply([variable])

    with tf.using("simulator", gpus=2), (strategy := tf.distribute.MirroredStrategy()).scope():
        variable = tf.Variable([1.0], aggregation=tf.VariableAggregation.MEAN)
        tf.function(lambda: strategy.run(body) if inside else body())()

        assert pytest.approx([0.9]) == average.average(variable).numpy().tolist()

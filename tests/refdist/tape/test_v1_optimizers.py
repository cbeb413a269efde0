"""The optimizers of v1 change variables as those of TensorFlow 2.21 do, whose answers are in a file."""

import json
import pathlib

import numpy as np
import pytest

import refdist as tf

train = tf.compat.v1.train
ANSWERS = json.loads((pathlib.Path(__file__).parents[2] / "fixtures/v1_optimizers.json").read_text())
MAKERS = {
    "sgd": lambda: train.GradientDescentOptimizer(0.1),
    "momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: train.AdamOptimizer(0.1),
    "adagrad": lambda: train.AdagradOptimizer(0.1),
    "rms": lambda: train.RMSPropOptimizer(0.1),
    "rms_c": lambda: train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
}


def equal(expected, variable):
    np.testing.assert_allclose(np.asarray(variable.numpy()), expected, rtol=2e-7)


@pytest.mark.parametrize("name", MAKERS)
def test_steps_are_those_of_tensorflow(name):
    optimizer, variable = MAKERS[name](), tf.Variable([1.0, 2.0])
    for number, expected in enumerate(ANSWERS[name], 1):
        optimizer.apply_gradients([(tf.constant([0.1, -0.2]) * number, variable)])
        equal(expected, variable)


@pytest.mark.parametrize("name", MAKERS)
def test_gradients_of_rows_are_applied_as_in_tensorflow(name):
    optimizer, variable = MAKERS[name](), tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    rows = tf.IndexedSlices(tf.constant([[0.1, 0.2], [0.1, 0.1]]), tf.constant([1, 1]), tf.constant([2, 2]))
    for _ in range(2):
        optimizer.apply_gradients([(rows, variable)])

    equal(ANSWERS[f"{name}_sparse"], variable)


@pytest.mark.parametrize("name", MAKERS)
def test_gradients_of_replicas_are_added_up(name):
    with tf.using("simulator", gpus=2):
        require_sums(name, lambda function: function, ["GPU:0", "GPU:1"])


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_gradients_of_replicas_are_added_up_in_a_program(name):
    with tf.using("jax", cpus=2):
        require_sums(name, tf.function, ["CPU:0", "CPU:1"])


def require_sums(name, wrap, devices):
    strategy = tf.distribute.MirroredStrategy(devices)
    with strategy.scope():
        optimizer, variable = MAKERS[name](), tf.Variable([1.0, 2.0])

    def step():
        number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
        optimizer.apply_gradients([(tf.constant([0.1, -0.2]) * (number + 1), variable)])

    run = wrap(lambda: strategy.run(step))
    run()
    run()

    equal(ANSWERS[f"{name}_rep"], variable)
    assert all(strategy.extended.variable_created_in_scope(slot) for slot in optimizer.variables())


def test_slots_have_names():
    optimizer, variable = train.AdamOptimizer(0.1), tf.Variable(1.0, name="weight")
    assert [] == optimizer.get_slot_names()
    optimizer.apply_gradients([(tf.constant(1.0), variable), (None, tf.Variable(1.0))])

    assert ["m", "v"] == optimizer.get_slot_names()
    assert ["weight/Adam:0", "weight/Adam_1:0", "beta1_power:0", "beta2_power:0"] == [
        one.name for one in optimizer.variables()
    ]
    assert pytest.approx(0.1, rel=1e-6) == float(optimizer.get_slot(variable, "m"))
    assert optimizer.get_slot(variable, "q") is optimizer.get_slot(tf.Variable(1.0), "m") is None
    assert "Adam" == optimizer.get_name()


def test_a_rate_may_be_a_function_and_steps_are_counted():
    optimizer, variable = train.GradientDescentOptimizer(lambda: 0.5), tf.Variable(1.0)
    step = train.get_or_create_global_step()
    optimizer.apply_gradients([(tf.constant(1.0), variable)], global_step=step)

    assert (0.5, 1) == (float(variable), int(step))
    assert step is train.get_or_create_global_step() is train.get_global_step()
    assert tf.int64 == step.dtype


@pytest.mark.parametrize(
    ("pairs", "error", "text"),
    [
        ([], ValueError, "no variables"),
        ([(None, "variable")], ValueError, "no gradient"),
        ([(1.0, 1.0)], NotImplementedError, "expected a tf.Variable"),
        ([([1.0, 2.0], "variable")], ValueError, "shape"),
    ],
)
def test_what_tensorflow_refuses_is_refused(pairs, error, text):
    variable = tf.Variable(1.0)
    given = [(gradient, variable if one == "variable" else one) for gradient, one in pairs]

    with pytest.raises(error, match=text):
        train.GradientDescentOptimizer(0.1).apply_gradients(given)


def test_only_replicas_bring_gradients():
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        variable = tf.Variable(1.0)
        with pytest.raises(RuntimeError, match="cross-replica"):
            train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant(1.0), variable)])


def test_a_loss_is_a_function():
    with pytest.raises(RuntimeError, match="lambda"):
        train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))


def test_a_loss_is_minimized():
    optimizer, variable = train.GradientDescentOptimizer(0.25), tf.Variable(3.0)
    step = train.get_or_create_global_step()
    optimizer.minimize(lambda: variable * variable, global_step=step, var_list=[variable])
    optimizer.minimize(lambda: variable * variable)

    assert (0.75, 1) == (float(variable), int(step))
    [(gradient, found)] = optimizer.compute_gradients(lambda: variable * variable)
    assert (1.5, variable) == (float(gradient), found)


def test_replicas_minimize_the_sum_of_their_losses(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    with strategy.scope():
        optimizer, variable = train.GradientDescentOptimizer(0.125), tf.Variable(3.0)
    strategy.run(lambda: optimizer.minimize(lambda: variable * variable, var_list=[variable]))

    assert 1.5 == float(variable)

"""In which form a variable keeps its value, and who writes it."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.replicas.values import Storage, state_of

MEAN, ON_READ, SUM = tf.VariableAggregation.MEAN, tf.VariableSynchronization.ON_READ, tf.VariableAggregation.SUM


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=3):
        yield tf.distribute.MirroredStrategy()


def state(variable):
    return state_of(variable.storage.held)


def test_a_variable_is_apart_compiled_or_both_as_it_is_used(strategy):
    with strategy.scope():
        variable = tf.Variable(1.0)
    seen = [state(variable)]
    doubled = tf.function(lambda: [variable.assign(variable * 2.0), None][1])
    read = tf.function(lambda: variable + 1.0)
    read()
    seen.append(state(variable))
    doubled()
    seen.append(state(variable))
    assert 2.0 == float(variable)
    seen.append(state(variable))
    variable.assign(5.0)
    seen.append(state(variable))

    assert ["apart", "both", "compiled", "both", "apart"] == seen
    assert 6.0 == float(read())


def test_one_copy_that_is_written_leaves_the_others_what_a_program_has_made(strategy):
    with strategy.scope():
        variable = tf.Variable(0.0, synchronization=ON_READ, aggregation=SUM)
    strategy.run(tf.function(lambda: [variable.assign_add(2.0), None][1]))
    assert "compiled" == state(variable)
    variable.values[1].assign(10.0)

    assert "apart" == state(variable)
    assert [2.0, 10.0, 2.0] == [float(copy) for copy in variable.values]


def test_copies_share_the_storage_of_their_variable(strategy):
    with strategy.scope():
        variable = tf.Variable([1.0, 2.0])

    assert all(copy.storage is variable.storage for copy in variable.values)
    assert tuple(copy.device for copy in variable.values) == variable.storage.homes


class Stop(BaseException):
    """What a Ctrl-C raises, wherever it comes."""


def test_a_write_of_several_that_is_interrupted_leaves_all_what_they_had():
    first, second = (Storage([np.float32(value)], ["CPU:0"]) for value in (1.0, 2.0))

    def write():
        first.replace(0, np.float32(10.0))
        raise Stop

    with pytest.raises(Stop):
        Storage.all_or_nothing([first, second], write)

    assert [1.0, 2.0] == [float(one.copies()[0]) for one in (first, second)]


def test_what_a_program_has_written_is_adopted_by_all_or_none():
    class Refusing(Storage):
        """Fails once, when it is to take a new value."""

        armed = False

        def __setattr__(self, name, value):
            if self.armed and name == "held":
                type(self).armed = False
                raise Stop
            super().__setattr__(name, value)

    first, second = Storage([np.float32(1.0)], ["CPU:0"]), Refusing([np.float32(2.0)], ["CPU:0"])
    Refusing.armed = True
    with pytest.raises(Stop):
        Storage.adopt(object(), [first, second], [np.float32(10.0), np.float32(20.0)])

    assert ["apart", "apart"] == [state_of(one.held) for one in (first, second)]
    assert [1.0, 2.0] == [float(one.copies()[0]) for one in (first, second)]

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
            if self.armed and name == "kept":
                type(self).armed = False
                raise Stop
            super().__setattr__(name, value)

    first, second = Storage([np.float32(1.0)], ["CPU:0"]), Refusing([np.float32(2.0)], ["CPU:0"])
    Refusing.armed = True
    with pytest.raises(Stop):
        Storage.adopt(object(), [first, second], [np.float32(10.0), np.float32(20.0)])

    assert ["apart", "apart"] == [state_of(one.held) for one in (first, second)]
    assert [1.0, 2.0] == [float(one.copies()[0]) for one in (first, second)]


@pytest.fixture
def shared():
    """Two variables that hold what a program has written to both."""
    storages = [Storage([np.float32(value)], ["CPU:0"]) for value in (1.0, 2.0)]
    compiler = object()
    return storages, Storage.adopt(compiler, storages, [np.float32(10.0), np.float32(20.0)]), compiler


def test_variables_find_what_the_next_run_has_written_where_that_of_the_last_one_was(shared):
    storages, adopted, compiler = shared
    adopted.arrays = [np.float32(30.0), np.float32(40.0)]

    assert adopted.whole
    assert [(None, compiler, 30.0), (None, compiler, 40.0)] == [one.held for one in storages]


def test_a_variable_that_is_written_leaves_the_others_what_they_share(shared):
    (first, second), adopted, compiler = shared
    first.replace_all([np.float32(5.0)])

    assert not adopted.whole
    assert ([5.0], None, None) == first.held
    assert (None, compiler, 20.0) == second.held


def test_a_value_that_was_left_is_not_kept_alive(shared):
    (first, _), adopted, _ = shared
    first.replace_all([np.float32(5.0)])

    assert [None, 20.0] == adopted.arrays


def test_an_interrupted_program_leaves_those_who_share_what_another_has_written_their_values(shared):
    (first, second), adopted, compiler = shared

    class Unwritable:
        """Stands for a variable whose turn the Ctrl-C comes in."""

        @property
        def held(self):
            raise Stop

    with pytest.raises(Stop):
        Storage.adopt(compiler, [first, Unwritable(), second], [np.float32(0.0)] * 3)

    assert not adopted.whole
    assert [10.0, 20.0] == [one.held[2] for one in (first, second)]


def test_a_variable_that_another_thread_writes_is_read_before_or_after():
    storage = Storage([np.float32(1.0)], ["CPU:0"])
    adopted = Storage.adopt(object(), [storage], [np.float32(2.0)])

    class Arrays(list[object]):
        """Has the variable written by somebody else, as soon as a reader has found where its value is."""

        def __getitem__(self, place):
            storage.replace_all([np.float32(3.0)])
            return super().__getitem__(place)

    adopted.arrays = Arrays(adopted.arrays)

    assert ([3.0], None, None) == storage.held

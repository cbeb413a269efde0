"""The one record that says where the code is, and the one way in and out."""

import contextlib

import pytest

import refdist as tf
from refdist._core.base.where import HERE, Where, entered, where_of


def test_a_block_is_somewhere_else_and_then_where_it_was():
    with entered(device="GPU:1", colocated="GPU:2"):
        assert Where(device="GPU:1", colocated="GPU:2") == HERE.get()

    assert Where() == HERE.get()


def test_a_block_that_fails_is_left_too():
    with contextlib.suppress(KeyError), entered(with_workers=(0, 1, {})):
        raise KeyError

    assert Where() == HERE.get()


def test_leaving_takes_back_what_the_block_has_changed_and_nothing_else():
    outer, inner = entered(device="GPU:0"), entered(colocated="GPU:1")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)

    assert Where(colocated="GPU:1") == HERE.get()
    inner.__exit__(None, None, None)
    assert Where() == HERE.get()


def test_a_strategy_that_is_set_for_good_in_a_device_block_stays():
    tf.use("simulator", gpus=2)
    strategy = tf.distribute.MirroredStrategy()
    try:
        with tf.device("GPU:1"):
            tf.distribute.experimental_set_strategy(strategy)
        assert strategy is tf.distribute.get_strategy()
        assert HERE.get().device is None
    finally:
        tf.distribute.experimental_set_strategy(None)


def test_what_no_record_has_cannot_be_entered():
    with pytest.raises(KeyError, match="planet"), entered(planet="Mars"):
        pass

    assert Where() == HERE.get()


def test_a_record_of_all_values_is_the_one_that_their_names_make():
    made = where_of((None, "GPU:3", *Where()[2:]))

    assert isinstance(made, Where)
    assert Where(device="GPU:3") == made

"""What Python's variables hold, taken apart into tensors and put together again."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.autograph.state import NotReturned, Undefined, held, is_missing, same_python
from refdist._core.replicas.values import PerReplica

SLICES = tf.IndexedSlices(np.ones(2), np.array([0, 1]), (4,))
CARRIED = {
    "a number": 3,
    "a truth value": True,
    "an array": np.zeros(2),
    "a nest": {"a": (1, [np.zeros(2)]), "b": 2.0},
    "slices": SLICES,
    "a value of replicas": PerReplica([np.zeros(2), np.ones(2)]),
    "nothing at all": (),
}


@pytest.mark.parametrize("name", CARRIED)
def test_tensors_and_numbers_are_carried(name):
    one = held(CARRIED[name])
    again = one.close(one.parts)

    assert one.carried
    assert type(again) is type(one.value)
    assert held(again).kind == one.kind
    assert all(a is b for a, b in zip(held(again).parts, one.parts, strict=True))


@pytest.mark.parametrize("value", [None, "text", b"text", object(), [1, None], np.array(["a"]), len])
def test_everything_else_is_not(value):
    assert not held(value).carried


def test_what_is_missing():
    assert [True, True, False, False] == [is_missing(one) for one in (Undefined("x"), NotReturned(), None, 0)]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        ([1, "a"], [1, "a"], True),
        ([1], (1,), False),
        (np.zeros(1), np.zeros(1), False),
        (Undefined("x"), NotReturned(), True),
        (None, None, True),
        (len, len, True),
    ],
)
def test_what_python_can_say_is_the_same(first, second, same):
    assert same == same_python(held(first), held(second))


def test_messages_show_shapes_where_there_are_no_values():
    assert "[<float64 of shape (2,)>, 'a']" == str(held([np.zeros(2), "a"]))
    assert "<float64 of shape (2,)>" == str(held(np.zeros(2)))
    assert "without a value" == str(held(Undefined("x")))

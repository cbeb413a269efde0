"""What one call takes from iterators."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.staging.elements import Elements


def loop(*values):
    return iter(tf.data.Dataset.from_tensor_slices(np.float32(values)))


def test_each_trace_begins_with_the_same_element(any_backend):
    elements, iterator = Elements(), loop(1, 2)
    for _ in range(2):
        elements.start(0)
        assert 1.0 == float(elements.next_of(iterator))


def test_what_is_put_back_comes_again_in_its_order(any_backend):
    elements, iterator = Elements(), loop(1, 2, 3)
    elements.start(0)
    assert [1.0, 2.0] == [float(elements.next_of(iterator)) for _ in range(2)]

    elements.put_back()

    assert [1.0, 2.0, 3.0] == [float(x) for x in iterator]


def test_leaves_have_places_after_the_arguments(any_backend):
    elements, iterator = Elements(), loop(1, 2)
    elements.start(3)

    assert [(3, ()), (4, ())] == [elements.place_of(elements.next_of(iterator)) for _ in range(2)]


def test_a_program_knows_what_it_takes(any_backend):
    first, second = loop(1, 2, 3), loop(4)
    elements = Elements([first])
    elements.start(0)
    with pytest.raises(RuntimeError, match="other elements"):
        elements.next_of(second)
    with pytest.raises(RuntimeError, match="other elements"):
        elements.finish()

    assert 1.0 == float(elements.next_of(first))
    elements.finish()
    with pytest.raises(RuntimeError, match="other elements"):
        elements.next_of(first)


def test_the_end_of_data_is_out_of_range(any_backend):
    with pytest.raises(tf.errors.OutOfRangeError, match="no more elements"):
        Elements([loop(1), iter(tf.data.Dataset.range(0))])

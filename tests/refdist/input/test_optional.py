import pytest

import refdist as tf


def test_an_iterator_says_at_its_end_that_there_is_no_element():
    loop = iter(tf.data.Dataset.range(2))
    first, second = loop.get_next_as_optional(), tf.data.experimental.get_next_as_optional(loop)
    last = loop.get_next_as_optional()

    assert (0, 1) == (int(first.get_value()), int(second.get_value()))
    assert (True, False) == (second.has_value(), last.has_value())
    assert tf.TensorSpec((), tf.int64) == first.element_spec
    with pytest.raises(tf.errors.OutOfRangeError, match=r"expected a value\. Ask has_value"):
        last.get_value()


def test_the_next_element_of_a_dataset_is_asked_for_by_name():
    loop = iter(tf.data.Dataset.range(1))

    assert 0 == int(loop.get_next())
    with pytest.raises(tf.errors.OutOfRangeError, match=r"at its end; expected a further element"):
        loop.get_next()


def test_values_may_be_put_in_a_box():
    spec = tf.TensorSpec((2,), tf.int32)

    assert spec == tf.data.experimental.Optional.empty(spec).element_spec
    assert 3 == tf.data.experimental.Optional.from_value(3).get_value()

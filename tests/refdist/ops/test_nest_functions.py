"""What TensorFlow 2.21 answers is written into the tests."""

import pytest

import refdist as tf


def test_containers_may_differ_where_types_are_not_checked():
    assert [4, 6] == tf.nest.map_structure(lambda a, b: a + b, [1, 2], (3, 4), check_types=False)
    tf.nest.assert_same_structure({"a": 1}, {"b": 1}, check_types=False)
    tf.nest.assert_same_structure({"a": [1, 2]}, [(1, 2)], check_types=False)
    for first, second in (([1, 2], (3,)), (1, [1])):
        with pytest.raises(ValueError, match="as many parts"):
            tf.nest.assert_same_structure(first, second, check_types=False)


def test_containers_are_the_same_where_types_are_checked():
    with pytest.raises(ValueError, match="Expected an instance of list"):
        tf.nest.map_structure(lambda a, b: a + b, [1, 2], (3, 4))
    with pytest.raises(ValueError, match="expected"):
        tf.nest.assert_same_structure([1], (2,), check_types=True)


def test_tensors_that_consist_of_others_are_told_when_they_are_to_be_taken_apart():
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))

    assert [slices] == tf.nest.flatten([slices])
    assert [1, 2] == tf.nest.flatten({"b": 2, "a": 1}, expand_composites=True)
    assert [3, 4] == tf.nest.pack_sequence_as([1, 2], [3, 4], expand_composites=True)
    for call in (tf.nest.flatten, lambda one, **options: tf.nest.map_structure(str, one, **options)):
        with pytest.raises(NotImplementedError, match="values and indices"):
            call([slices], expand_composites=True)

"""Elements become batches and batches elements: sizes, padding, remainders, and what does not fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf

Dataset = tf.data.Dataset


def plain(data):
    return [np.asarray(element).tolist() for element in data]


def lists(lengths, dtype=np.int64):
    """Arrays 1, 2, 3 and so on, of these lengths."""
    arrays = [np.arange(1, length + 1).astype(dtype) for length in lengths]
    return Dataset.from_generator(lambda: iter(arrays), output_signature=tf.TensorSpec([None], dtype))


@given(
    lengths=generators.lists(generators.integers(0, 4), min_size=1, max_size=7),
    size=generators.integers(1, 4),
    drop=generators.booleans(),
)
@settings(max_examples=40)
def test_padded_batches_are_as_wide_as_their_own_longest(lengths, size, drop):
    batches = plain(lists(lengths).padded_batch(size, drop_remainder=drop))

    expected = []
    for start in range(0, len(lengths), size):
        group = lengths[start : start + size]
        if len(group) == size or not drop:
            rows = [[*range(1, length + 1), *[0] * (max(group) - length)] for length in group]
            expected.append(rows)
    assert expected == batches


def test_padding_has_the_width_and_the_number_that_are_asked_for():
    padded = lists([1, 3]).padded_batch(2, padded_shapes=[4], padding_values=np.int64(-1))

    assert [[[1, -1, -1, -1], [1, 2, 3, -1]]] == plain(padded)
    assert (None, 4) == padded.element_spec.shape


@pytest.mark.parametrize("open_size", [None, -1])
def test_a_size_left_open_is_that_of_the_longest(open_size):
    assert [[[1, 0], [1, 2]]] == plain(lists([1, 2]).padded_batch(2, padded_shapes=[open_size]))


def test_an_element_of_just_the_size_that_is_asked_for_fits():
    assert [[[1, 2]]] == plain(lists([2]).padded_batch(1, padded_shapes=[2]))
    fixed = Dataset.from_tensor_slices(np.ones((1, 2)))
    assert [[[1.0, 1.0]]] == plain(fixed.padded_batch(1, padded_shapes=[2]))
    assert (None, 2) == fixed.padded_batch(1, padded_shapes=[2]).element_spec.shape


def test_an_element_longer_than_what_is_asked_for_is_refused():
    with pytest.raises(ValueError, match=r"element of shape \(3,\); expected at most \(2,\)"):
        plain(lists([3]).padded_batch(1, padded_shapes=[2]))
    with pytest.raises(ValueError, match=r"element of shape \(3,\); expected at most \(2,\)"):
        plain(Dataset.from_tensor_slices(np.ones((1, 3))).padded_batch(1, padded_shapes=[2]))


def test_a_shape_smaller_than_what_is_known_of_the_elements_has_no_spec():
    with pytest.raises(ValueError, match="expected at least its sizes"):
        Dataset.from_tensor_slices(np.ones((1, 3))).padded_batch(1, padded_shapes=[2]).element_spec  # noqa: B018


@pytest.mark.parametrize("shapes", [[], [1, 2], 2.5])
def test_a_shape_of_another_rank_is_refused(shapes):
    with pytest.raises((ValueError, TypeError)):
        plain(lists([1]).padded_batch(1, padded_shapes=shapes))


def test_parts_of_an_element_are_padded_each_in_its_own_way():
    data = Dataset.from_generator(
        lambda: iter([{"x": np.int64([1]), "y": np.float32(2)}, {"x": np.int64([1, 2]), "y": np.float32(3)}]),
        output_signature={"x": tf.TensorSpec([None], tf.int64), "y": tf.TensorSpec([], tf.float32)},
    )
    (batch,) = data.padded_batch(2, padding_values={"x": np.int64(9), "y": np.float32(0)})

    assert ([[1, 9], [1, 2]], [2.0, 3.0]) == (batch["x"].tolist(), batch["y"].tolist())


def test_text_is_padded_with_nothing():
    words = [["a", "bc"], ["d"]]
    data = Dataset.from_generator(lambda: iter(words), output_signature=tf.TensorSpec([None], tf.string))

    assert [[[b"a", b"bc"], [b"d", b""]]] == plain(data.padded_batch(2))


@pytest.mark.parametrize("size", [0, -1, 1.5, "2", None])
@pytest.mark.parametrize("method", ["batch", "padded_batch", "rebatch"])
def test_a_size_that_is_none_is_refused(method, size):
    with pytest.raises((ValueError, TypeError), match="expected"):
        getattr(lists([1, 2]), method)(size)


def test_elements_of_different_shape_need_padding():
    with pytest.raises(ValueError, match=r"shapes \(1,\), \(2,\); expected one shape. Use padded_batch\(\)"):
        plain(lists([2, 1]).batch(2))


@given(
    total=generators.integers(0, 14),
    first=generators.integers(1, 5),
    second=generators.integers(1, 5),
    drop=generators.booleans(),
)
def test_batches_of_another_size_have_the_same_rows(total, first, second, drop):
    rebatched = plain(Dataset.range(total).batch(first).rebatch(second, drop_remainder=drop))
    rows = list(range(total))
    expected = [rows[start : start + second] for start in range(0, total, second)]

    assert [batch for batch in expected if len(batch) == second or not drop] == rebatched


@pytest.mark.parametrize("method", [lambda data: data.unbatch(), lambda data: data.rebatch(2)])
def test_what_is_no_batch_cannot_be_taken_apart(method):
    with pytest.raises(ValueError, match="expected batches"):
        plain(method(Dataset.range(3)))


def test_parts_of_a_batch_of_different_length_cannot_be_taken_apart():
    data = Dataset.from_tensors((np.ones(2), np.ones(3)))
    with pytest.raises(ValueError, match="without a common first dimension"):
        list(data.unbatch())


def test_batches_cannot_be_changed(any_backend):
    (batch,) = Dataset.range(2).batch(2)
    with pytest.raises((ValueError, TypeError)):
        batch[0] = 9


@pytest.mark.parametrize(("drop", "shape"), [(True, (3, 2)), (False, (None, 2))])
def test_only_without_a_remainder_is_the_size_of_a_batch_known(drop, shape):
    assert shape == Dataset.from_tensor_slices(np.ones((9, 2))).batch(3, drop_remainder=drop).element_spec.shape

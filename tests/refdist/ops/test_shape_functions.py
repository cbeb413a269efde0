"""Operations that arrange elements: they lose none, and what is taken apart can be put together again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf

MODES = pytest.mark.parametrize("mode", [lambda step: step, tf.function], ids=["eager", "staged"])
InvalidArgumentError = tf.errors.InvalidArgumentError
sizes = generators.integers(1, 4)
cubes = generators.tuples(sizes, sizes, sizes).map(lambda shape: np.arange(np.prod(shape)).reshape(shape))
axes = generators.integers(-3, 2)


@pytest.fixture(autouse=True)
def host():
    with tf.using("host"):
        yield


@given(array=cubes, axis=axes, data=generators.data())
@settings(max_examples=30)
def test_parts_of_given_sizes_make_up_the_whole_and_one_size_may_be_left_open(array, axis, data):
    length = array.shape[axis]
    first = data.draw(generators.integers(0, length))
    for parts in ([first, length - first], [first, -1], [-1, length - first], length):
        cut = tf.split(array, parts, axis)
        assert array.tolist() == tf.concat(cut, axis).tolist()
    assert [first, length - first] == [part.shape[axis] for part in tf.split(array, [first, -1], axis)]


@given(array=cubes, axis=axes)
@settings(max_examples=30)
def test_what_lies_along_a_dimension_is_put_together_again(array, axis):
    apart = tf.unstack(array, axis=axis)

    assert array.shape[axis] == len(apart)
    assert array.tolist() == tf.stack(apart, axis=axis).tolist()


@given(array=cubes, axis=generators.integers(-4, 3))
@settings(max_examples=30)
def test_a_new_dimension_can_be_taken_away(array, axis):
    wider = tf.expand_dims(array, axis)

    assert 1 == wider.shape[axis]
    assert array.tolist() == tf.squeeze(wider, axis).tolist()


@given(array=cubes, order=generators.permutations(range(3)))
@settings(max_examples=30)
def test_dimensions_in_another_order_come_back(array, order):
    back = tf.transpose(tf.transpose(array, order), np.argsort(order))

    assert array.tolist() == back.tolist()
    assert array.tolist() == tf.transpose(tf.transpose(array)).tolist()


@given(array=cubes, data=generators.data())
@settings(max_examples=30)
def test_another_shape_has_the_same_elements_in_their_order(array, data):
    shape = data.draw(generators.permutations([*array.shape, 1]))
    open_size = [-1 if place == 0 else size for place, size in enumerate(shape)]

    assert tuple(shape) == tf.reshape(array, shape).shape == tf.reshape(array, open_size).shape
    assert (
        array.ravel().tolist() == tf.reshape(array, [-1]).tolist() == tf.reshape(array, shape).numpy().ravel().tolist()
    )


@given(array=cubes, before=generators.integers(0, 2), after=generators.integers(0, 2))
@settings(max_examples=20)
def test_what_was_surrounded_is_still_inside(array, before, after):
    padded = tf.pad(array, [[before, after]] * 3, constant_values=-1).numpy()
    inside = tuple(slice(before, before + size) for size in array.shape)

    assert array.tolist() == padded[inside].tolist()
    assert padded.size - array.size == (padded == -1).sum()


@given(array=cubes, counts=generators.tuples(sizes, sizes, sizes))
@settings(max_examples=20)
def test_each_repetition_of_a_tensor_is_the_tensor(array, counts):
    tiled = tf.tile(array, counts).numpy()

    assert tuple(np.multiply(array.shape, counts)) == tiled.shape
    assert array.tolist() == tiled[tuple(slice(-size, None) for size in array.shape)].tolist()


@given(indices=generators.lists(generators.integers(-1, 4), min_size=1, max_size=5))
@settings(max_examples=30)
def test_the_place_of_the_one_is_the_index_and_an_index_beyond_has_none(indices):
    rows = tf.one_hot(indices, 4)

    assert [1.0 if 0 <= index < 4 else 0.0 for index in indices] == tf.reduce_sum(rows, axis=1).tolist()
    assert [index for index in indices if 0 <= index < 4] == [
        place for place, row in zip(tf.argmax(rows, axis=1).tolist(), rows.tolist(), strict=True) if any(row)
    ]
    assert rows.tolist() == tf.transpose(tf.one_hot(indices, 4, axis=0)).tolist()


def test_a_row_of_ones_takes_the_values_and_the_dtype_that_it_is_given():
    assert [[5, -1]] == tf.one_hot([0], 2, on_value=5, off_value=-1).tolist()
    assert (np.int32, np.float32, np.int8) == (
        tf.one_hot([0], 2, 5).dtype,
        tf.one_hot([0], 2).dtype,
        tf.one_hot([0], 2, dtype=tf.int8).dtype,
    )


@given(array=cubes, axis=axes, data=generators.data())
@settings(max_examples=30)
def test_slices_at_indices_are_those_of_numpy(array, axis, data):
    indices = data.draw(generators.lists(generators.integers(0, array.shape[axis] - 1), max_size=4))

    assert (
        np.take(array, np.array(indices, int), axis).tolist()
        == tf.gather(array, np.array(indices, int), axis=axis).tolist()
    )


def test_each_batch_has_its_own_indices():
    table = np.arange(12).reshape(2, 3, 2)

    assert [[[4, 5]], [[6, 7]]] == tf.gather(table, [[2], [0]], batch_dims=1).tolist()
    with pytest.raises(
        NotImplementedError, match=r"axis=2 and batch_dims=1; expected an axis right behind the batches"
    ):
        tf.gather(table, [[1], [0]], axis=2, batch_dims=1)


@MODES
@pytest.mark.parametrize("index", [-1, 3])
def test_indices_beyond_the_end_are_refused(mode, index):
    with pytest.raises(InvalidArgumentError, match=r"gather\(\) got indices beyond 0 to 2"):
        mode(tf.gather)(tf.constant([1, 2, 3]), tf.constant([0, index]))


def test_elements_are_chosen_one_by_one_and_the_chosen_can_be_listed():
    truth = np.array([[True, False], [False, True]])

    assert [[1, 0], [0, 1]] == tf.where(truth, 1, tf.zeros([2, 2], tf.int32)).tolist()
    assert ([[0, 0], [1, 1]], np.int64) == (tf.where(truth).tolist(), tf.where(truth).dtype)
    assert [1.5, 2.0] == tf.where([True, False], 1.5, 2).tolist()
    assert [2.0, 1.5] == tf.where([True, False], 2, 1.5).tolist()


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: tf.where([True], 1), ValueError, "one of x and y; expected both, or none"),
        (lambda: tf.where([1], 1, 2), TypeError, "dtype int32; expected bool"),
        (lambda: tf.fill([2], [1, 2]), InvalidArgumentError, r"value of shape \(2,\); expected a scalar"),
        (lambda: tf.reshape(tf.ones([4]), [3]), InvalidArgumentError, r"shape .*3.*number of elements, 4"),
        (lambda: tf.reshape(tf.ones([4]), [-1, -1]), InvalidArgumentError, "or -1 for one of them"),
        (lambda: tf.reshape(tf.ones([4]), [-1, 3]), InvalidArgumentError, "the same number of elements"),
        (lambda: tf.expand_dims(tf.ones([2]), 3), InvalidArgumentError, r"expand_dims\(\) got axis=3; .* from -2 to 1"),
        (lambda: tf.squeeze(tf.ones([2, 1]), 0), InvalidArgumentError, r"axis=0 .* shape \(2, 1\); expected dimensions of size 1"),
        (lambda: tf.tile(tf.ones([2, 1]), [2]), InvalidArgumentError, "expected one for each dimension"),
        (lambda: tf.pad(tf.ones([2]), [[1, 1]], "WRAP"), ValueError, "mode='WRAP'; expected one of"),
        (lambda: tf.split(tf.ones([5]), 2), InvalidArgumentError, "dimension of size 5; expected a divisor"),
        (lambda: tf.split(tf.ones([5]), [2, 2]), InvalidArgumentError, "sizes that add up"),
        (lambda: tf.split(tf.ones([5]), [6, -1]), InvalidArgumentError, "sizes that add up"),
        (lambda: tf.unstack(tf.ones([3]), num=2), ValueError, "num=2 for 3 tensors"),
        (lambda: tf.add_n([tf.ones([2]), tf.ones([3])]), InvalidArgumentError, "of one shape and dtype"),
        (lambda: tf.add_n([]), InvalidArgumentError, "expected at least one"),
        (lambda: tf.ones_like(["a"]), TypeError, "got text; expected numbers"),
        (lambda: tf.argmax(tf.ones([2]), axis=1), InvalidArgumentError, r"argmax\(\) got axis=1"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_what_would(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


@given(low=generators.floats(-9, 9), width=generators.floats(0, 9), array=cubes)
@settings(max_examples=20)
def test_clipped_elements_lie_between_the_limits_and_others_stay(low, width, array):
    given_numbers, high = tf.cast(array, tf.float64), low + width
    clipped = tf.clip_by_value(given_numbers, low, high).numpy()

    assert np.clip(array, low, high).tolist() == clipped.tolist()


@given(start=generators.integers(-5, 5), stop=generators.integers(-5, 5), count=generators.integers(2, 6))
@settings(max_examples=20)
def test_numbers_at_equal_distances_have_both_ends(start, stop, count):
    numbers = tf.linspace(float(start), float(stop), count).numpy()

    assert (start, stop, count) == (numbers[0], numbers[-1], len(numbers))
    assert np.allclose(np.diff(numbers), (stop - start) / (count - 1), atol=1e-5)
    assert np.float64 == tf.linspace(start, stop, count).dtype


def test_tensors_like_others_take_their_shape_and_their_dtype_unless_told():
    like = tf.constant([[1, 2]], tf.int16)

    assert ([[0, 0]], [[1, 1]]) == (tf.zeros_like(like).tolist(), tf.ones_like(like).tolist())
    assert (np.int16, np.float32) == (tf.zeros_like(like).dtype, tf.ones_like(like, tf.float32).dtype)
    assert [b"", b""] == tf.zeros_like(["a", "b"]).tolist()


def test_a_batch_of_unit_matrices_has_one_in_each_place():
    assert (2, 3, 2, 4) == tf.eye(2, 4, batch_shape=[2, 3]).shape
    assert np.eye(2, 4).tolist() == tf.eye(2, 4, batch_shape=[2, 3])[1, 2].tolist()


@pytest.mark.parametrize(("name", "place"), [("argmax", 0), ("argmin", 1)])
def test_of_equal_elements_the_first_is_found_along_the_first_axis_unless_another_is_named(name, place):
    find = getattr(tf, name)
    array = [[3, 1, 3], [1, 1, 3]]

    assert [place, 0, 0] == find(array).tolist()
    assert find(array, axis=1).tolist() == getattr(np, name)(array, axis=1).tolist()
    assert (np.int64, np.int32) == (find(array).dtype, find(array, output_type=tf.int32).dtype)

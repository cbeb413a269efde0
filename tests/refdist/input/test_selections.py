"""What TensorFlow 2.21 says about its datasets is written into the tests."""

import pytest

import refdist as tf
from tests.refdist.input.test_rarer_methods import PAIR, bucketed, listed, numbers

Dataset, experimental = tf.data.Dataset, tf.data.experimental


@pytest.mark.parametrize(
    ("made", "spec", "cardinality"),
    [
        (lambda: Dataset.range(9).take_while(lambda x: x < 4), "shape=(), dtype=tf.int64", -2),
        (lambda: Dataset.range(5).scan(0.0, lambda state, x: (state, state)), "shape=(), dtype=tf.float32", 5),
        (lambda: Dataset.range(5).unique(), "shape=(), dtype=tf.int64", -2),
        (lambda: Dataset.choose_from_datasets(PAIR, Dataset.range(2)), "shape=(), dtype=tf.int64", -2),
        (
            lambda: Dataset.range(9).group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3),
            "shape=(None,), dtype=tf.int64",
            -2,
        ),
        (lambda: bucketed([3], [2, 2]), "shape=(None, None), dtype=tf.int64", -2),
        (lambda: Dataset.counter(dtype=tf.int32), "shape=(), dtype=tf.int32", -1),
        (lambda: Dataset.random(seed=4), "shape=(), dtype=tf.int64", -1),
        (lambda: Dataset.range(3).map(lambda x: x).ignore_errors(), "shape=(), dtype=tf.int64", -2),
        (lambda: Dataset.range(3).apply(experimental.assert_cardinality(3)), "shape=(), dtype=tf.int64", 3),
    ],
)
def test_specs_and_counts_are_those_of_tensorflow(made, spec, cardinality):
    assert f"TensorSpec({spec}, name=None)" == str(made().element_spec)
    assert cardinality == made().cardinality()


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (lambda: Dataset.range(10).take_while(lambda x: x), ValueError),
        (lambda: Dataset.range(3).scan(0, lambda state, x: state), TypeError),
        (lambda: Dataset.from_tensor_slices([1.0]).unique(), TypeError),
        (lambda: Dataset.choose_from_datasets(PAIR, numbers(5)), tf.errors.InvalidArgumentError),
        (lambda: Dataset.choose_from_datasets(PAIR, Dataset.from_tensor_slices([0])), TypeError),
        (lambda: Dataset.choose_from_datasets([], Dataset.range(2)), ValueError),
        (lambda: Dataset.choose_from_datasets([PAIR[0], Dataset.from_tensors("a")], Dataset.range(2)), TypeError),
        (lambda: Dataset.sample_from_datasets(PAIR, [1.0]), ValueError),
        (lambda: Dataset.range(9).group_by_window(lambda x: x, lambda key, window: window), ValueError),
        (lambda: Dataset.range(9).group_by_window(lambda x: x, lambda key, window: 3, 2), TypeError),
        (lambda: Dataset.range(9).group_by_window(lambda x: x, lambda key, w: w, 0), tf.errors.InvalidArgumentError),
        (lambda: bucketed([3, 5], [2, 2]), ValueError),
        (lambda: bucketed([3, 5], [1, 1, 1], pad_to_bucket_boundary=True), tf.errors.InvalidArgumentError),
        (lambda: Dataset.range(3).ignore_errors(), NotImplementedError),
        (lambda: Dataset.range(3).apply(experimental.assert_cardinality(4)), tf.errors.FailedPreconditionError),
        (lambda: Dataset.range(3).apply(experimental.assert_cardinality(2)), tf.errors.FailedPreconditionError),
    ],
)
def test_what_tensorflow_refuses_is_refused(made, error):
    with pytest.raises(error):
        listed(made())


def test_a_position_in_them_can_be_saved():
    data = Dataset.range(10).group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3)
    loop = iter(data)
    next(loop)
    state = loop.state()
    rest = [one.tolist() for one in loop]
    resumed = iter(data)
    resumed.restore(state)

    assert rest == [one.tolist() for one in resumed] == [[1, 3, 5], [6, 8], [7, 9]]

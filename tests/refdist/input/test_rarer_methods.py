"""What TensorFlow 2.21 delivers is written into the tests."""

import numpy as np
import pytest

import refdist as tf

Dataset, experimental = tf.data.Dataset, tf.data.experimental
WORDS = [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14, 15, 16, 19, 20], [21, 22]]
PAIR = [Dataset.range(2), Dataset.range(10, 15)]


def listed(dataset):
    return [one.tolist() for one in dataset.as_numpy_iterator()]


def numbers(*values):
    return Dataset.from_tensor_slices(np.array(values, np.int64))


def words():
    return Dataset.from_generator(lambda: iter(WORDS), tf.int64, output_shapes=[None])


def length(word):
    return tf.shape(word)[0]


def bucketed(boundaries, sizes, **options):
    return words().bucket_by_sequence_length(length, boundaries, sizes, **options)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: Dataset.range(10).take_while(lambda x: x < 4), [0, 1, 2, 3]),
        (lambda: Dataset.range(5).scan(np.int64(0), lambda state, x: (state + x, state + x)), [0, 1, 3, 6, 10]),
        (
            lambda: Dataset.from_tensor_slices((np.arange(3), np.arange(3))).scan(
                (np.int64(0),), lambda state, pair: ((state[0] + pair[0],), state[0])
            ),
            [0, 0, 1],
        ),
        (lambda: Dataset.from_tensor_slices([1, 2, 1, 3, 2]).unique(), [1, 2, 3]),
        (lambda: Dataset.from_tensor_slices([[1, 2], [1, 2], [2, 1]]).unique(), [[1, 2], [2, 1]]),
        (lambda: Dataset.choose_from_datasets(PAIR, numbers(0, 0, 0, 1, 1, 0, 1)), [0, 1]),
        (
            lambda: Dataset.choose_from_datasets(PAIR, numbers(0, 0, 0, 1, 1, 0, 1), stop_on_empty_dataset=False),
            [0, 1, 10, 11, 12],
        ),
        (lambda: Dataset.sample_from_datasets(PAIR, [1.0, 0.0], seed=1), [0, 1]),
        (
            lambda: Dataset.range(10).group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3),
            [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]],
        ),
        (
            lambda: Dataset.range(10).group_by_window(
                lambda x: x % 2, lambda key, window: window.batch(10), window_size_func=lambda key: key + 2
            ),
            [[0, 2], [1, 3, 5], [4, 6], [8], [7, 9]],
        ),
        (
            lambda: bucketed([3, 5], [2, 2, 2]),
            [
                [[1, 2, 3, 4], [5, 6, 7, 0]],
                [[7, 8, 9, 10, 11, 0], [13, 14, 15, 16, 19, 20]],
                [[0, 0], [21, 22]],
            ],
        ),
        (
            lambda: bucketed([3, 5, 9], [2, 2, 2, 2], pad_to_bucket_boundary=True),
            [
                [[1, 2, 3, 4], [5, 6, 7, 0]],
                [[7, 8, 9, 10, 11, 0, 0, 0], [13, 14, 15, 16, 19, 20, 0, 0]],
                [[0, 0], [21, 22]],
            ],
        ),
        (
            lambda: bucketed([3, 5], [2, 2, 2], padding_values=np.int64(-1)).take(1),
            [[[1, 2, 3, 4], [5, 6, 7, -1]]],
        ),
        (lambda: Dataset.counter(start=3, step=2).take(2), [3, 5]),
        (lambda: Dataset.from_tensor_slices([1, 2, 0, 4]).map(lambda x: 4 // x).ignore_errors(), [4, 2, 1]),
    ],
)
def test_elements_are_those_of_tensorflow(made, expected):
    assert expected == listed(made())
    assert expected == listed(made())


def test_strings_are_chosen():
    endless = [Dataset.from_tensors(word).repeat() for word in ("foo", "bar", "baz")]
    chosen = Dataset.choose_from_datasets(endless, Dataset.range(3).repeat(2))

    assert [b"foo", b"bar", b"baz"] * 2 == list(chosen.as_numpy_iterator())


def test_samples_come_from_a_seed_and_from_all_datasets():
    def sampled(seed=1, **options):
        return listed(Dataset.sample_from_datasets(PAIR, seed=seed, **options))

    assert [0, 1, 10, 11, 12, 13, 14] == sorted(sampled())
    assert sampled() == sampled()
    assert len(sampled(stop_on_empty_dataset=True)) < 7
    again = Dataset.random(4, rerandomize_each_iteration=True).take(3)
    assert listed(again) != listed(again)
    same = Dataset.random(4).take(3)
    assert listed(same) == listed(same)


def test_the_only_element_is_found():
    assert 3 == Dataset.from_tensors(3).get_single_element() == experimental.get_single_element(Dataset.from_tensors(3))
    for wrong in (Dataset.range(0), Dataset.range(3)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            wrong.get_single_element()

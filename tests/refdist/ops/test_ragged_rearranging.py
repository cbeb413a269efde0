"""Ragged tensors from others; that the numbers are TensorFlow's is told by test_ragged_operations.py, from recorded answers."""

import pytest

import refdist as tf

ROWS = [[1, 2], [], [3, 4, 5]]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda rows: tf.concat([rows, rows[:1]], axis=1), "of 3, 1 rows came together; expected one number of rows"),
        (lambda rows: tf.concat([rows, tf.constant([1])], axis=0), "expected one number of dimensions, at least 1"),
        (lambda rows: tf.stack([rows, rows], axis=2), "got axis=2; expected 0 or 1"),
        (lambda rows: tf.gather(rows, [[0]]), r"got indices of shape \(1, 1\).*; expected one dimension"),
        (lambda rows: tf.gather(rows, [3]), "got indices from 3 to 3; expected 0 to 2"),
        (lambda rows: tf.ragged.boolean_mask(rows, [[True, True]]), "expected one with rows of the same lengths"),
    ],
)
def test_what_does_not_fit_says_what_was_expected(made, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        made(tf.ragged.constant(ROWS))


def test_text_is_rearranged_too():
    rows = tf.ragged.constant([["a"], ["b", "c"]])

    # TensorFlow 2.21 answers the same.
    assert [[b"a"], [b"b", b"c"], [b"a"], [b"b", b"c"]] == tf.concat([rows, rows], axis=0).to_list()
    assert [[b"b", b"c"]] == tf.gather(rows, [1]).to_list()


def test_no_rows_at_all_stay_none():
    none = tf.ragged.constant(ROWS)[:0]

    assert [] == tf.concat([none, none], axis=1).to_list() == tf.gather(none, tf.constant([], tf.int32)).to_list()

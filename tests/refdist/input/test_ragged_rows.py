"""Ragged elements of datasets. All expected numbers and specs are what TensorFlow 2.21 answers."""

import pytest

import refdist as tf
from tests.refdist.input.uneven_elements import DEEP, LISTS, ROW, ROWS, ROWS_OF_ROWS, answer, ragged


@pytest.mark.parametrize(
    ("dataset", "spec", "elements"),
    [
        (lambda: ragged(), ROW, LISTS),
        (lambda: ragged().batch(2), ROWS, [("ragged", LISTS[:2]), ("ragged", LISTS[2:])]),
        (lambda: ragged().filter(lambda row: True).batch(3), ROWS, [("ragged", LISTS[:3]), ("ragged", LISTS[3:])]),
        (lambda: ragged().batch(3).unbatch(), ROW, LISTS),
        (lambda: ragged().batch(3).rebatch(2), ROWS, [("ragged", LISTS[:2]), ("ragged", LISTS[2:])]),
        (lambda: ragged().batch(2).batch(2), ROWS_OF_ROWS, [("ragged", [LISTS[:2], LISTS[2:]])]),
        (lambda: ragged().concatenate(ragged()).batch(8), ROWS, [("ragged", LISTS * 2)]),
        (lambda: ragged().skip(1).shard(2, 0).cache().batch(4), ROWS, [("ragged", [LISTS[1], LISTS[3]])]),
        (lambda: ragged().window(2).flat_map(lambda one: one.batch(2)).take(1), ROWS, [("ragged", LISTS[:2])]),
        (lambda: ragged().batch(2).map(lambda rows: rows * 2).take(1), ROWS, [("ragged", [[2, 4], []])]),
        (lambda: ragged(DEEP), ROWS, [("ragged", one) for one in DEEP]),
        (lambda: ragged(DEEP).batch(2), ROWS_OF_ROWS, [("ragged", DEEP[:2]), ("ragged", DEEP[2:])]),
        (lambda: ragged(DEEP).unbatch(), ROW, [[1], [2, 3], [4, 5, 6]]),
        (
            lambda: tf.data.Dataset.from_tensors(tf.ragged.constant(LISTS)),
            ROWS.replace("[None,", "[4,"),
            [("ragged", LISTS)],
        ),
        (
            lambda: tf.data.Dataset.from_tensors(tf.ragged.constant(LISTS)).batch(2),
            ROWS_OF_ROWS.replace("None, None, None", "None, 4, None"),
            [("ragged", [LISTS])],
        ),
        (
            lambda: ragged().enumerate().batch(3).skip(1),
            f"(TensorSpec(shape=(None,), dtype=tf.int64, name=None), {ROWS})",
            [([3], ("ragged", [[6]]))],
        ),
        (
            lambda: ragged().batch(2).map(lambda rows: rows.to_tensor()),
            "TensorSpec(shape=(None, None), dtype=tf.int32, name=None)",
            [[[1, 2], [0, 0]], [[3, 4, 5], [6, 0, 0]]],
        ),
        (
            lambda: ragged().map(lambda row: row).padded_batch(2, padding_values=-1),
            "TensorSpec(shape=(None, None), dtype=tf.int32, name=None)",
            [[[1, 2], [-1, -1]], [[3, 4, 5], [6, -1, -1]]],
        ),
    ],
)
def test_ragged_elements_stay_ragged_in_every_stage(dataset, spec, elements):
    assert (spec, elements) == answer(dataset())


def test_specs_say_what_fits():
    rows = tf.ragged.constant(LISTS)

    assert tf.RaggedTensorSpec([None, None], tf.int32).is_compatible_with(rows)
    assert not tf.RaggedTensorSpec([None, None], tf.float32).is_compatible_with(rows)
    assert not tf.RaggedTensorSpec([3, None], tf.int32).is_compatible_with(rows)
    assert ROWS.replace("[None,", "[4,") == str(tf.RaggedTensorSpec.from_value(rows))
    assert tf.SparseTensorSpec([2, 2], tf.int32) == tf.SparseTensorSpec.from_value(
        tf.sparse.from_dense([[1, 0], [0, 2]])
    )
    with pytest.raises(ValueError, match="expected 0 to 1"):
        tf.RaggedTensorSpec([None, None], tf.int32, ragged_rank=2)

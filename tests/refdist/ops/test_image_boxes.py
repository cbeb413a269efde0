import numpy as np
import pytest

import refdist as tf

BOXES = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0], [1.0, 3.0, 0.0, 2.05]]
SCORES = [0.9, 0.75, 0.6, 0.95]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"max_output_size": 3}, [3, 0]),
        ({"max_output_size": 1}, [3]),
        ({"max_output_size": 3, "iou_threshold": 0.99}, [3, 0, 1]),
        ({"max_output_size": 3, "score_threshold": 0.92}, [3]),
    ],
)
def test_boxes_that_overlap_a_better_one_are_left_out_as_in_tensorflow(any_backend, options, kept):
    assert tf.image.non_max_suppression(BOXES, SCORES, **options).numpy().tolist() == kept


def test_scores_of_boxes_that_overlap_are_lowered_as_in_tensorflow(any_backend):
    kept, scores = tf.image.non_max_suppression_with_scores(BOXES, SCORES, 3, 0.5, 0.1, 0.5)

    assert kept.numpy().tolist() == [3, 0, 1]
    np.testing.assert_allclose(scores, [0.95, 0.9, 0.384], rtol=1e-3)


def test_boxes_of_a_batch_are_refused():
    with pytest.raises(
        ValueError, match=r"boxes of shape \(1, 4, 4\) .*; expected \[n, 4\] and \[n\]\. Use tf\.map_fn"
    ):
        tf.image.non_max_suppression([BOXES], [SCORES], 3)

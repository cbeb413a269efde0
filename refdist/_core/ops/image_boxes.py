"""Boxes in images: which of several that overlap to keep."""

from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.ops.tensor_functions import convert_to_tensor, fresh
from refdist._core.seam.draft import leave_draft_for_shape


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: Any = None,
) -> Any:
    """The indices of boxes, best first, without those that overlap a better one too much.

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]]
    >>> print(non_max_suppression(boxes, [0.9, 0.8, 0.7], 3))
    tf.Tensor([0, 2], shape=(2,), dtype=int32)
    """
    return non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: Any = None,
) -> tuple[Any, Any]:
    """The same, and the scores of the boxes; with a sigma, overlapping boxes are not left out, their scores are lowered."""
    remedy = "Call it outside, or in Dataset.map()."
    for one in (boxes, scores):
        leave_draft_for_shape(one, "non_max_suppression() got a tensor", remedy)
    places, left = (np.asarray(convert_to_tensor(one)) for one in (boxes, scores))
    if places.ndim != 2 or places.shape[1] != 4 or left.shape != places.shape[:1]:
        raise InvalidArgumentError(
            f"non_max_suppression() got boxes of shape {places.shape} and scores of shape {left.shape}; expected [n, 4] and [n]. "
            f"Use tf.map_fn() or a loop over the images of a batch."
        )
    sigma, kept, left = float(soft_nms_sigma), list[int](), np.array(left)
    found, open_ = list[Any](), left > float(score_threshold)
    while open_.any() and len(kept) < int(max_output_size):
        best = int(np.argmax(np.where(open_, left, -np.inf)))
        kept.append(best)
        found.append(left[best])
        open_[best] = False
        overlap = _overlaps(places[best], places)
        if sigma > 0:
            left = np.where(open_, left * np.exp(-0.5 / sigma * overlap**2), left).astype(left.dtype)
            open_ &= left > float(score_threshold)
        else:
            open_ &= overlap <= float(iou_threshold)
    return fresh(np.array(kept, np.int32)), fresh(np.array(found, left.dtype))


def _overlaps(box: Any, boxes: Any) -> Any:
    """The intersection of a box with each of several, as a part of their union; corners may come in any order."""
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    own_low, own_high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    both = np.prod(np.maximum(np.minimum(high, own_high) - np.maximum(low, own_low), 0), axis=1)
    areas, own = np.prod(high - low, axis=1), np.prod(own_high - own_low)
    union = areas + own - both
    return np.where((areas > 0) & (own > 0), both / np.where(union > 0, union, 1), 0)

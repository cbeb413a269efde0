"""`tf.nn`: what losses are made of."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.neural_functions import (
    compute_average_loss,
    l2_loss,
    log_softmax,
    moments,
    relu,
    scale_regularization_loss,
    sigmoid_cross_entropy_with_logits,
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from refdist._core.ops.operation_table import (
    sigmoid,
    tanh,
)

__getattr__ = _lacking("nn")

__all__ = [
    "compute_average_loss",
    "l2_loss",
    "log_softmax",
    "moments",
    "relu",
    "scale_regularization_loss",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
    "tanh",
]

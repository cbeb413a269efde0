"""`tf.nn`: what losses are made of."""

from refdist._core.ops.late_names import late_names as _late_names
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
    softplus,
    softsign,
    tanh,
)

_LATE = {
    "refdist._core.ops.index_functions": "embedding_lookup in_top_k top_k",
    "refdist._core.ops.neural_layers": """
        avg_pool avg_pool1d avg_pool2d batch_normalization bias_add conv1d conv2d conv2d_transpose
        conv3d crelu depth_to_space depthwise_conv2d dropout elu gelu l2_normalize leaky_relu
        local_response_normalization lrn:local_response_normalization max_pool max_pool1d
        max_pool2d relu6 selu silu space_to_depth swish:silu weighted_cross_entropy_with_logits
        zero_fraction
    """,
}
__getattr__, __dir__ = _late_names("nn", globals(), _LATE)

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
    "softplus",
    "softsign",
    "sparse_softmax_cross_entropy_with_logits",
    "tanh",
]

"""`tf.nn`: what losses are made of, and how losses are averaged over all replicas."""

from typing import Any

import numpy as np

from refdist._core.base.errors import DtypeError, InvalidArgumentError
from refdist._core.devices.tensor import dtype_name
from refdist._core.ops.operation import operation
from refdist._core.ops.operation_table import abs, exp, log, log1p, pair, reduce_max, sqrt
from refdist._core.ops.shape_functions import require_indices, squeeze
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, reduce_mean, reduce_sum, square
from refdist._core.replicas import context


@operation
def relu(features: Any, name: Any = None) -> Any:
    """Replace negative elements by zero."""
    tensor, zero = pair(features, 0, "relu")
    return tensor.__array_namespace__().where(tensor <= zero, zero, tensor)  # so that the gradient at 0 is 0


@operation
def softmax(logits: Any, axis: Any = None, name: Any = None) -> Any:
    """Make probabilities of logits, along the last axis by default."""
    powers = exp(_shifted(logits, axis))
    return powers / reduce_sum(powers, axis=-1 if axis is None else axis, keepdims=True)


@operation
def log_softmax(logits: Any, axis: Any = None, name: Any = None) -> Any:
    """Make logarithms of probabilities of logits, along the last axis by default."""
    shifted = _shifted(logits, axis)
    return shifted - log(reduce_sum(exp(shifted), axis=-1 if axis is None else axis, keepdims=True))


@operation
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: Any = None) -> Any:
    """The loss of each example, whose label is the number of its class."""
    tensor, classes = convert_to_tensor(logits), convert_to_tensor(labels)
    if tuple(classes.shape) != tuple(tensor.shape[:-1]) or classes.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"sparse_softmax_cross_entropy_with_logits() got labels of shape {tuple(classes.shape)} and dtype "
            f"{dtype_name(classes.dtype)} for logits of shape {tuple(tensor.shape)}; expected one integer for each row. Use "
            f"softmax_cross_entropy_with_logits() for probabilities."
        )
    require_indices(classes, tensor.shape[-1], "sparse_softmax_cross_entropy_with_logits")
    logs, arrays = log_softmax(tensor), tensor.__array_namespace__()
    chosen = arrays.take_along_axis(logs, arrays.expand_dims(classes, axis=-1), axis=-1)
    return -squeeze(chosen, axis=-1)


@operation
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: Any = -1, name: Any = None) -> Any:
    """The loss of each example, whose label is a probability for each class."""
    tensor = convert_to_tensor(logits)
    return -reduce_sum(cast(labels, tensor.dtype) * log_softmax(tensor, axis), axis=axis)


@operation
def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: Any = None) -> Any:
    """The loss of each element, whose label is a probability."""
    wanted, tensor = pair(labels, logits, "sigmoid_cross_entropy_with_logits")
    if tuple(wanted.shape) != tuple(tensor.shape):
        raise ValueError(
            f"sigmoid_cross_entropy_with_logits() got labels of shape {tuple(wanted.shape)} and logits of shape "
            f"{tuple(tensor.shape)}; expected one shape. Reshape one of them."
        )
    return relu(tensor) - tensor * wanted + log1p(exp(-abs(tensor)))


@operation
def l2_loss(t: Any, name: Any = None) -> Any:
    """Half the sum of squares."""
    tensor = convert_to_tensor(t)
    if tensor.dtype.kind not in "fV":
        raise DtypeError(f"l2_loss() got a tensor of dtype {dtype_name(tensor.dtype)}; expected floats. Use tf.cast().")
    return reduce_sum(square(tensor)) / 2


@operation
def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: Any = None) -> tuple[Any, Any]:
    """The mean and the variance along axes."""
    tensor = convert_to_tensor(x)
    mean = reduce_mean(tensor, axes, keepdims=True)
    spread = reduce_mean(square(tensor - mean), axes, keepdims=True)
    return (mean, spread) if keepdims else (squeeze(mean, axes), squeeze(spread, axes))


@operation
def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """The mean square of the distance from the mean."""
    tensor = convert_to_tensor(input_tensor)
    if tensor.dtype.kind not in "fV":
        raise TypeError(
            f"reduce_variance() got a tensor of dtype {dtype_name(tensor.dtype)}; expected floats. Use tf.cast()."
        )
    return reduce_mean(square(tensor - reduce_mean(tensor, axis, keepdims=True)), axis, keepdims)


@operation
def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """The root of the variance."""
    return sqrt(reduce_variance(input_tensor, axis, keepdims))


@operation
def reduce_logsumexp(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """The logarithm of a sum of powers, without overflow."""
    tensor = convert_to_tensor(input_tensor)
    highest = reduce_max(tensor, axis, keepdims=True)
    total = log(reduce_sum(exp(tensor - highest), axis, keepdims=keepdims))
    return total + (highest if keepdims else highest.reshape(total.shape))


def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Any:
    """Divide the losses of a replica's examples by the number of examples of all replicas, so that their sum is the average.

    >>> import refdist as tf
    >>> with tf.using("host", gpus=2):
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     loss = strategy.run(lambda: tf.nn.compute_average_loss([1.0, 3.0]))
    ...     strategy.reduce("SUM", loss, axis=None)
    <tf.Tensor: shape=(), dtype=float32, numpy=2.0>
    """
    losses = convert_to_tensor(per_example_loss)
    if not losses.shape:
        raise ValueError(
            "compute_average_loss() got a scalar as per_example_loss; expected one loss for each example. Do not reduce before."
        )
    if sample_weight is not None:
        losses = losses * _weights(cast(sample_weight, losses.dtype), losses)
    if global_batch_size is None:
        return reduce_sum(losses) / (int(losses.shape[0]) * _replicas("compute_average_loss"))
    if np.ndim(global_batch_size) or not np.issubdtype(np.asarray(global_batch_size).dtype, np.integer):
        kind = ValueError if np.ndim(global_batch_size) else TypeError
        raise kind(
            f"compute_average_loss() got global_batch_size={global_batch_size!r}; expected one integer. Pass one."
        )
    if int(global_batch_size) <= 0:
        raise ValueError(
            f"compute_average_loss() got global_batch_size={global_batch_size}; expected a positive number. Pass the "
            f"number of examples of all replicas."
        )
    return reduce_sum(losses) / int(global_batch_size)


def scale_regularization_loss(regularization_loss: Any) -> Any:
    """Divide a loss that does not depend on examples by the number of replicas, so that it counts once in the sum."""
    return reduce_sum(regularization_loss) / _replicas("scale_regularization_loss")


def _replicas(name: str) -> int:
    if context.has_strategy() and context.in_cross_replica_context():
        raise RuntimeError(
            f"{name}() was called outside of replicas; expected a call in the function that strategy.run() takes. Call it there."
        )
    return context.get_strategy().num_replicas_in_sync


def _weights(weights: Any, losses: Any) -> Any:
    """Weights that broadcast over what each example has."""
    missing = len(losses.shape) - len(weights.shape)
    return weights.reshape((*weights.shape, *[1] * missing)) if weights.shape and missing > 0 else weights


def _shifted(logits: Any, axis: Any) -> Any:
    tensor = convert_to_tensor(logits)
    return tensor - reduce_max(tensor, axis=-1 if axis is None else axis, keepdims=True)

"""`tf.nn`: what layers are made of: activations, normalizations, convolutions, windows."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.errors import DtypeError, InvalidArgumentError
from refdist._core.devices.tensor import dtype_name
from refdist._core.ops.computed_with_jax import kernel
from refdist._core.ops.operation import operation
from refdist._core.ops.operation_table import beside, erfc, exp, expm1, log1p, maximum, minimum, rsqrt, sigmoid, tanh
from refdist._core.ops.random_numbers import uniform
from refdist._core.ops.shape_functions import where
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, reduce_mean, reduce_sum, sizes_of, square

_SELU = 1.0507009873554805, 1.6732632423543772  # a scale, and how far it goes below zero


def _activation(name: str, function: Callable[[Any], Any]) -> Any:
    """Make a function of each element of a tensor of floats."""

    def activate(features: Any, name: Any = None) -> Any:
        return function(_floats(features, label))

    label = activate.__name__ = activate.__qualname__ = name
    activate.__doc__ = f"Apply {name} to each element of a tensor."
    return operation(activate)


def _below(x: Any, below: Any) -> Any:
    return where(x > 0, x, below)


# name = (documented name, function of floats)
elu = _activation("elu", lambda x: _below(x, expm1(minimum(x, 0))))
relu6 = _activation("relu6", lambda x: minimum(maximum(x, 0), 6))
selu = _activation("selu", lambda x: _SELU[0] * _below(x, _SELU[1] * expm1(minimum(x, 0))))


@operation
def leaky_relu(features: Any, alpha: Any = 0.2, name: Any = None) -> Any:
    """Multiply negative elements by a small number."""
    tensor = convert_to_tensor(features)
    tensor = cast(tensor, np.float32) if tensor.dtype.kind in "iu" else tensor
    return where(tensor > 0, tensor, tensor * beside(np.float32(alpha), tensor.dtype))


@operation
def gelu(features: Any, approximate: bool = False, name: Any = None) -> Any:
    """Multiply elements by the probability that a normal number is below them, or by something near it."""
    x = _floats(features, "gelu")
    if approximate:
        return x * 0.5 * (1 + tanh(math.sqrt(2 / math.pi) * (x + _single(0.044715, x) * x * x * x)))
    return x * 0.5 * erfc(-x * _single(math.sqrt(0.5), x))


@operation
def silu(features: Any, beta: Any = 1.0) -> Any:
    """Multiply elements by their own sigmoid."""
    x = _floats(features, "silu")
    return x * sigmoid(x * beside(beta, x.dtype))


@operation
def crelu(features: Any, axis: int = -1, name: Any = None) -> Any:
    """Join the positive parts of a tensor and of its negative."""
    x = convert_to_tensor(features)
    return maximum(x.__array_namespace__().concat([x, -x], axis=axis), 0)


@operation
def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: Any = None) -> Any:
    """Replace a share of the elements by zero, and scale up the others."""
    tensor = _floats(x, "dropout")
    if isinstance(rate, (int, float)) and not 0 <= rate < 1:
        raise ValueError(f"dropout() got rate={rate}; expected a number from 0 up to 1. Correct it.")
    if isinstance(rate, (int, float)) and rate == 0:
        return tensor
    given = tuple(tensor.shape) if noise_shape is None else noise_shape
    sizes = [whole if size is None else int(size) for size, whole in zip(given, tensor.shape, strict=True)]
    share = beside(rate, tensor.dtype)
    kept = uniform(sizes, seed=seed, dtype=tensor.dtype) >= share
    return where(kept, tensor / (1 - share), 0)


@operation
def bias_add(value: Any, bias: Any, data_format: str | None = None, name: Any = None) -> Any:
    """Add a number to each channel, which is the last dimension, or in NC... the second."""
    tensor, added = convert_to_tensor(value), convert_to_tensor(bias)
    behind = len(tensor.shape) - 2 if data_format is not None and data_format.startswith("NC") else 0
    return tensor + added.reshape((*added.shape, *[1] * behind))


@operation
def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: Any = None) -> Any:
    """Divide by the root of the sum of squares along an axis."""
    tensor = convert_to_tensor(x)
    return tensor * rsqrt(maximum(reduce_sum(square(tensor), axis, keepdims=True), epsilon))


@operation
def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any, name: Any = None
) -> Any:
    """Subtract a mean, divide by a deviation, then scale and shift."""
    tensor = convert_to_tensor(x)
    factor = rsqrt(convert_to_tensor(variance) + variance_epsilon)
    factor = factor if scale is None else factor * convert_to_tensor(scale)
    shift = -convert_to_tensor(mean) * factor
    return tensor * cast(factor, tensor.dtype) + cast(shift if offset is None else offset + shift, tensor.dtype)


@operation
def weighted_cross_entropy_with_logits(labels: Any, logits: Any, pos_weight: Any, name: Any = None) -> Any:
    """The loss of each element, whose label is a probability; those that are true count so many times."""
    x = convert_to_tensor(logits)
    wanted = beside(labels, x.dtype)
    weight = 1 + (beside(pos_weight, x.dtype) - 1) * wanted
    return (1 - wanted) * x + weight * (log1p(exp(-abs(x))) + maximum(-x, 0))


@operation
def zero_fraction(value: Any, name: Any = None) -> Any:
    """The share of elements that are zero."""
    return reduce_mean(cast(convert_to_tensor(value) == 0, np.float32))


@operation
def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5, name: Any = None
) -> Any:
    """Divide by a power of the sum of squares of the channels nearby."""
    x = _floats(input, "local_response_normalization")
    width = [1, 1, 1, 2 * depth_radius + 1]
    nearby = kernel("mean_of_windows", _padded(square(x), depth_radius), window=width, strides=[1] * 4, padding="VALID")
    return x / (bias + alpha * nearby * width[-1]) ** beta


@operation
def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC", name: Any = None) -> Any:
    """Put blocks of places into channels."""
    x, size = _last("space_to_depth", input, data_format), int(block_size)
    count, rows, columns, channels = x.shape
    blocks = x.reshape((count, rows // size, size, columns // size, size, channels))
    return blocks.transpose((0, 1, 3, 2, 4, 5)).reshape((count, rows // size, columns // size, size * size * channels))


@operation
def depth_to_space(input: Any, block_size: int, data_format: str = "NHWC", name: Any = None) -> Any:
    """Put channels into blocks of places."""
    x, size = _last("depth_to_space", input, data_format), int(block_size)
    count, rows, columns, channels = x.shape
    blocks = x.reshape((count, rows, columns, size, size, channels // (size * size)))
    return blocks.transpose((0, 1, 3, 2, 4, 5)).reshape((count, rows * size, columns * size, channels // (size * size)))


def _convolution(name: str, default: str) -> Any:
    """Make a convolution over as many places as a layout has."""
    rank = len(default) - 2

    def convolve(
        input: Any,
        filters: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = None,
        dilations: Any = None,
        name: Any = None,
    ) -> Any:
        layout = data_format or default
        x, moved = _floats(input, label), _floats(filters, label)
        groups = x.shape[layout.index("C")] // moved.shape[-2]
        return kernel("convolved", x, moved, groups=groups, **_options(layout, strides, padding, dilations, rank))

    label = convolve.__name__ = convolve.__qualname__ = name
    convolve.__doc__ = f"Move filters over {rank} dimensions of tensors."
    return operation(convolve)


conv1d = _convolution("conv1d", "NWC")
conv2d = _convolution("conv2d", "NHWC")
conv3d = _convolution("conv3d", "NDHWC")


@operation
def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: Any = None,
    dilations: Any = None,
    name: Any = None,
) -> Any:
    """Move filters over each channel by itself."""
    layout, x, moved = data_format or "NHWC", convert_to_tensor(input), convert_to_tensor(filter)
    rows, columns, channels, times = moved.shape
    single = moved.reshape((rows, columns, 1, channels * times))
    return kernel("convolved", x, single, groups=channels, **_options(layout, strides, padding, dilations, 2))


@operation
def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: Any = None,
) -> Any:
    """The transpose of a convolution, whose filters have their channels out before those in."""
    x, moved = _floats(input, "conv2d_transpose"), _floats(filters, "conv2d_transpose")
    options = _options(data_format, strides, padding, dilations, 2)
    return kernel("spread", x, moved, output_shape=sizes_of(output_shape), **options)


def _pooling(name: str, function: str, default: str) -> Any:
    """Make an operation on windows over as many places as a layout has."""
    rank = len(default) - 2

    def pool(
        input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: Any = None
    ) -> Any:
        x = convert_to_tensor(input)
        layout = data_format or (
            default if len(x.shape) == len(default) else {3: "NWC", 5: "NDHWC"}.get(len(x.shape), default)
        )
        window, steps = (_spatial(given, layout, len(layout) - 2, whole=True) for given in (ksize, strides))
        return kernel(function, x, window=window, strides=steps, padding=_pads(padding, layout, whole=True))

    label = pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"Apply {label} to windows over {rank} dimensions of tensors."
    return operation(pool)


avg_pool = _pooling("avg_pool", "mean_of_windows", "NHWC")
avg_pool1d = _pooling("avg_pool1d", "mean_of_windows", "NWC")
avg_pool2d = _pooling("avg_pool2d", "mean_of_windows", "NHWC")
max_pool = _pooling("max_pool", "largest_in_windows", "NHWC")
max_pool1d = _pooling("max_pool1d", "largest_in_windows", "NWC")
max_pool2d = _pooling("max_pool2d", "largest_in_windows", "NHWC")


def _options(layout: str, strides: Any, padding: Any, dilations: Any, rank: int) -> dict[str, Any]:
    return {
        "strides": _spatial(strides, layout, rank),
        "padding": _pads(padding, layout),
        "layout": layout,
        "dilations": _spatial(1 if dilations is None else dilations, layout, rank),
    }


def _spatial(given: Any, layout: str, rank: int, whole: bool = False) -> tuple[int, ...]:
    """Sizes for each place, or for all dimensions, of what was given for one, for each place, or for all of them."""
    sizes = sizes_of(given)
    if len(sizes) not in (1, rank, rank + 2):
        raise ValueError(
            f"Sizes {sizes} were given for {rank} dimensions of places; expected 1, {rank} or {rank + 2}. Correct them."
        )
    if len(sizes) == rank + 2:
        sizes = tuple(size for size, letter in zip(sizes, layout, strict=True) if letter not in "NC")
    sizes = sizes * rank if len(sizes) == 1 else sizes
    places = iter(sizes)
    return tuple(1 if letter in "NC" else next(places) for letter in layout) if whole else sizes


def _pads(padding: Any, layout: str, whole: bool = False) -> Any:
    """A padding by its name, or what to add on both sides."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(
                f"padding={padding!r} was given; expected 'SAME' or 'VALID'. Use one of these, or pairs of sizes."
            )
        return padding.upper()
    pairs: Sequence[Any] = [tuple(int(size) for size in pair) for pair in padding]
    return pairs if whole else [pair for pair, letter in zip(pairs, layout, strict=True) if letter not in "NC"]


def _floats(value: Any, name: str) -> Any:
    tensor = convert_to_tensor(value)
    if tensor.dtype.kind not in "fV":
        raise DtypeError(f"{name}() got a tensor of dtype {dtype_name(tensor.dtype)}; expected floats. Use tf.cast().")
    return tensor


def _single(number: float, tensor: Any) -> Any:
    """A number with as many digits as TensorFlow has of it, in the dtype of a tensor."""
    return tensor.dtype.type(np.float32(number))


def _last(name: str, value: Any, data_format: str) -> Any:
    x = convert_to_tensor(value)
    if data_format != "NHWC" or len(x.shape) != 4:
        raise InvalidArgumentError(
            f"{name}() got a tensor of shape {tuple(x.shape)} as {data_format}; expected four dimensions as NHWC. Transpose it."
        )
    return x


def _padded(x: Any, radius: int) -> Any:
    return x.__array_namespace__().pad(x, [(0, 0)] * 3 + [(radius, radius)])

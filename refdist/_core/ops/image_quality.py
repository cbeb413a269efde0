"""`tf.image.ssim`: how alike the structures of two images are."""

from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.ops.image_functions import convert_image_dtype
from refdist._core.ops.neural_layers import depthwise_conv2d
from refdist._core.ops.operation import operation
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, reduce_mean


@operation
def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Any:
    """Compare means, variances and covariances of images in windows; equal images have 1."""
    top = convert_image_dtype(cast(max_val, convert_to_tensor(img1).dtype), np.float32)
    first, second = (convert_image_dtype(one, np.float32) for one in (img1, img2))
    height, width, channels = first.shape[-3:]
    if first.shape != second.shape or min(height, width) < filter_size:
        raise InvalidArgumentError(
            f"ssim() got images of the shapes {first.shape} and {second.shape}; expected one shape, and at least {filter_size} "
            f"pixels on each side. Resize them, or pass a smaller filter_size."
        )
    window = _window(filter_size, filter_sigma, channels)

    def averaged(images: Any) -> Any:
        flat = images.reshape(-1, height, width, channels)
        found = depthwise_conv2d(flat, window, strides=[1, 1, 1, 1], padding="VALID")
        return found.reshape(*images.shape[:-3], *found.shape[1:])

    small, smaller = (np.float32(k1) * top) ** 2, (np.float32(k2) * top) ** 2
    means, both = (averaged(first), averaged(second)), averaged(first * second)
    squares = averaged(first * first + second * second)
    product, sum_of_squares = means[0] * means[1] * 2, means[0] * means[0] + means[1] * means[1]
    luminance = (product + small) / (sum_of_squares + small)
    structure = (both * 2 - product + smaller) / (squares - sum_of_squares + smaller)
    found = luminance * structure
    return reduce_mean(found, -1) if return_index_map else reduce_mean(found, [-3, -2, -1])


def _window(size: int, sigma: float, channels: int) -> np.ndarray[Any, Any]:
    """The weights of a window, as the filter of a convolution: those of a normal distribution, which sum to 1."""
    distances = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (distances / sigma) ** 2)
    whole = np.outer(weights, weights) / weights.sum() ** 2
    return np.repeat(whole[:, :, None, None], channels, axis=2).astype(np.float32)

"""`tf.image`: colors of images, and how pipelines change them; the last dimension has red, green and blue."""

from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.ops.image_functions import adjust_brightness, adjust_contrast, convert_image_dtype
from refdist._core.ops.operation import operation
from refdist._core.ops.operation_table import maximum, minimum
from refdist._core.ops.random_numbers import stateless_uniform, uniform
from refdist._core.ops.tensor_functions import cast, convert_to_tensor

_YIQ = ((0.299, 0.59590059, 0.2115), (0.587, -0.27455667, -0.52273617), (0.114, -0.32134392, 0.31119955))
_FROM_YIQ = ((1.0, 1.0, 1.0), (0.95598634, -0.27201283, -1.10674021), (0.6208248, -0.64720424, 1.70423049))
_YUV = ((0.299, -0.14714119, 0.61497538), (0.587, -0.28886916, -0.51496512), (0.114, 0.43601035, -0.10001026))
_FROM_YUV = ((1.0, 1.0, 1.0), (0.0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0.0))


@operation
def rgb_to_hsv(images: Any, name: Any = None) -> Any:
    """Turn red, green and blue into hue, saturation and value, all from zero to one."""
    given = convert_to_tensor(images)
    arrays = given.__array_namespace__()
    red, green, blue = (given[..., place] for place in range(3))
    value = given.max(axis=-1)
    spread = value - given.min(axis=-1)
    saturation = arrays.where(value > 0, spread / arrays.where(value > 0, value, 1), 0)
    part = 1 / (6 * arrays.where(spread > 0, spread, 1))
    hue = arrays.where(
        red == value,
        part * (green - blue),
        arrays.where(green == value, part * (blue - red) + 2 / 6, part * (red - green) + 4 / 6),
    )
    hue = arrays.where(spread > 0, arrays.where(hue < 0, hue + 1, hue), 0)
    return arrays.stack([hue, saturation, value], axis=-1).astype(given.dtype)


@operation
def hsv_to_rgb(images: Any, name: Any = None) -> Any:
    """Turn hue, saturation and value into red, green and blue."""
    given = convert_to_tensor(images)
    arrays = given.__array_namespace__()
    hue, saturation, value = (given[..., place] for place in range(3))
    six = hue * 6
    shares = (abs(six - 3) - 1, 2 - abs(six - 2), 2 - abs(six - 4))
    colors = [((arrays.clip(share, 0, 1) - 1) * saturation + 1) * value for share in shares]
    return arrays.stack(colors, axis=-1).astype(given.dtype)


def _mixing(name: str, matrix: Any, text: str) -> Callable[..., Any]:
    def mix(images: Any) -> Any:
        given = convert_to_tensor(images)
        return given.__array_namespace__().matmul(given, np.array(matrix, given.dtype))

    mix.__name__, mix.__doc__ = name, text
    return operation(mix)


rgb_to_yiq = _mixing("rgb_to_yiq", _YIQ, "Turn red, green and blue into Y, I and Q.")
yiq_to_rgb = _mixing("yiq_to_rgb", _FROM_YIQ, "Turn Y, I and Q into red, green and blue.")
rgb_to_yuv = _mixing("rgb_to_yuv", _YUV, "Turn red, green and blue into Y, U and V.")
yuv_to_rgb = _mixing("yuv_to_rgb", _FROM_YUV, "Turn Y, U and V into red, green and blue.")


@operation
def adjust_hue(image: Any, delta: Any, name: Any = None) -> Any:
    """Turn the colors of images by a share of the whole circle."""
    if not -1 <= _number(delta) <= 1:
        raise InvalidArgumentError(f"adjust_hue() got delta={delta}; expected a number from -1 to 1. Correct it.")

    def turned(hue: Any, saturation: Any, value: Any) -> Any:
        return (hue + delta) % 1, saturation, value

    return _in_hsv(image, turned)


@operation
def adjust_saturation(image: Any, saturation_factor: Any, name: Any = None) -> Any:
    """Multiply the saturation of images."""

    def stronger(hue: Any, saturation: Any, value: Any) -> Any:
        return hue, minimum(maximum(saturation * saturation_factor, 0.0), 1.0), value

    return _in_hsv(image, stronger)


@operation
def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    """Raise images to a power, and multiply them; integers as shares of the largest."""
    if _number(gamma) < 0:
        raise ValueError(f"adjust_gamma() got gamma={gamma}; expected a number of at least 0. Correct it.")
    given = convert_to_tensor(image)
    floats = convert_image_dtype(given, np.float32) if given.dtype.kind in "iu" else given
    return convert_image_dtype(gain * floats**gamma, given.dtype, saturate=True)


def _number(value: Any) -> float:
    """A number that is known, or zero, which no check refuses."""
    return float(value) if isinstance(value, (int, float)) else 0.0


def _in_hsv(image: Any, change: Callable[..., Any]) -> Any:
    given = convert_to_tensor(image)
    if not given.shape or given.shape[-1] != 3:
        raise ValueError(
            f"A function of colors got an image of shape {tuple(given.shape)}; expected 3 channels. Use grayscale_to_rgb() first."
        )
    floats = convert_image_dtype(given, np.float32) if given.dtype.kind in "iu" else cast(given, np.float32)
    hsv = rgb_to_hsv(floats)
    changed = hsv.__array_namespace__().stack(change(*(hsv[..., place] for place in range(3))), axis=-1)
    return convert_image_dtype(hsv_to_rgb(changed), given.dtype, saturate=True)


def _bounds(name: str, lower: Any, upper: Any) -> tuple[Any, Any]:
    if upper <= lower or lower < 0:
        raise ValueError(
            f"{name}() got {lower} and {upper}; expected bounds from 0 on, the upper one larger. Correct them."
        )
    return lower, upper


def _delta(name: str, most: Any, largest: float) -> tuple[Any, Any]:
    if not 0 <= most <= largest:
        raise ValueError(f"{name}() got max_delta={most}; expected one from 0 to {largest}. Correct it.")
    return -most, most


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Turn the colors by one random share of the circle."""
    return adjust_hue(image, uniform([], *_delta("random_hue", max_delta, 0.5), seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Multiply the saturation by one random number."""
    return adjust_saturation(image, uniform([], *_bounds("random_saturation", lower, upper), seed=seed))


def stateless_random_hue(image: Any, max_delta: float, seed: Any) -> Any:
    """Turn the colors by the share of the circle that belongs to two seeds."""
    return adjust_hue(image, stateless_uniform([], seed, *_delta("stateless_random_hue", max_delta, 0.5)))


def stateless_random_saturation(image: Any, lower: float, upper: float, seed: Any) -> Any:
    """Multiply the saturation by the number that belongs to two seeds."""
    return adjust_saturation(image, stateless_uniform([], seed, *_bounds("stateless_random_saturation", lower, upper)))


def stateless_random_brightness(image: Any, max_delta: float, seed: Any) -> Any:
    """Add the number that belongs to two seeds."""
    bounds = _delta("stateless_random_brightness", max_delta, float("inf"))
    return adjust_brightness(image, stateless_uniform([], seed, *bounds))


def stateless_random_contrast(image: Any, lower: float, upper: float, seed: Any) -> Any:
    """Multiply the distance from the mean by the number that belongs to two seeds."""
    return adjust_contrast(image, stateless_uniform([], seed, *_bounds("stateless_random_contrast", lower, upper)))

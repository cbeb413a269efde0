"""`tf.image`: what pipelines do with images, which have rows, columns and channels; several images may be stacked."""

from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.ops.operation import operation
from refdist._core.ops.operation_table import maximum, minimum, round
from refdist._core.ops.random_numbers import stateless_uniform, uniform
from refdist._core.ops.shape_functions import where
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, reduce_mean, sizes_of, square

_GREY = (0.2989, 0.587, 0.114)


@operation
def flip_left_right(image: Any) -> Any:
    """Exchange left and right."""
    return _flipped(convert_to_tensor(image), -2)


@operation
def flip_up_down(image: Any) -> Any:
    """Exchange above and below."""
    return _flipped(convert_to_tensor(image), -3)


@operation
def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """Exchange left and right of half of the images."""
    return _flipped_by_chance(image, -2, lambda sizes: uniform(sizes, seed=seed))


@operation
def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """Exchange above and below of half of the images."""
    return _flipped_by_chance(image, -3, lambda sizes: uniform(sizes, seed=seed))


@operation
def stateless_random_flip_left_right(image: Any, seed: Any) -> Any:
    """Exchange left and right, if two seeds say so."""
    return _flipped_by_chance(image, -2, lambda sizes: stateless_uniform(sizes, seed))


@operation
def stateless_random_flip_up_down(image: Any, seed: Any) -> Any:
    """Exchange above and below, if two seeds say so."""
    return _flipped_by_chance(image, -3, lambda sizes: stateless_uniform(sizes, seed))


@operation
def rot90(image: Any, k: Any = 1, name: Any = None) -> Any:
    """Turn images by quarters, against the clock."""
    given = convert_to_tensor(image)
    return given.__array_namespace__().rot90(given, int(k) % 4, axes=(-3, -2))


@operation
def transpose(image: Any, name: Any = None) -> Any:
    """Exchange rows and columns."""
    given = convert_to_tensor(image)
    return given.__array_namespace__().swapaxes(given, -3, -2)


@operation
def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Take a part of images."""
    given = convert_to_tensor(image)
    top, left, height, width = (int(one) for one in (offset_height, offset_width, target_height, target_width))
    if min(top, left) < 0 or top + height > given.shape[-3] or left + width > given.shape[-2]:
        raise ValueError(
            f"crop_to_bounding_box() got rows {top} to {top + height} and columns {left} to {left + width} of an image of shape "
            f"{tuple(given.shape)}; expected such that it has. Correct them."
        )
    return given[..., top : top + height, left : left + width, :]


@operation
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Surround images by zeros."""
    given = convert_to_tensor(image)
    top, left = int(offset_height), int(offset_width)
    bottom, right = int(target_height) - top - given.shape[-3], int(target_width) - left - given.shape[-2]
    if min(top, left, bottom, right) < 0:
        raise ValueError(
            f"pad_to_bounding_box() got a size of {target_height} times {target_width} for an image of shape {tuple(given.shape)}; "
            f"expected at least its own. Crop it first."
        )
    widths = [(0, 0)] * (given.ndim - 3) + [(top, bottom), (left, right), (0, 0)]
    return given.__array_namespace__().pad(given, widths)


@operation
def central_crop(image: Any, central_fraction: float) -> Any:
    """Take a share of the rows and columns from the middle."""
    given = convert_to_tensor(image)
    if not 0 < central_fraction <= 1:
        raise ValueError(
            f"central_crop() got a fraction of {central_fraction}; expected one above 0, up to 1. Correct it."
        )
    starts = [int((size - size * central_fraction) / 2) for size in given.shape[-3:-1]]
    ends = [size - start for size, start in zip(given.shape[-3:-1], starts, strict=True)]
    return given[..., starts[0] : ends[0], starts[1] : ends[1], :]


@operation
def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """Cut off, or add zeros, around the middle."""
    given, wanted = convert_to_tensor(image), (int(target_height), int(target_width))
    over = [max(own - size, 0) // 2 for own, size in zip(given.shape[-3:-1], wanted, strict=True)]
    kept = [min(own, size) for own, size in zip(given.shape[-3:-1], wanted, strict=True)]
    under = [max(size - own, 0) // 2 for own, size in zip(given.shape[-3:-1], wanted, strict=True)]
    part = crop_to_bounding_box(given, over[0], over[1], kept[0], kept[1])
    return pad_to_bounding_box(part, under[0], under[1], wanted[0], wanted[1])


@operation
def random_crop(value: Any, size: Any, seed: int | None = None, name: Any = None) -> Any:
    """Take a part of a size from anywhere in a tensor."""
    return _cropped(value, size, lambda shape: uniform(shape, 0, np.iinfo(np.int32).max, np.int32, seed))


@operation
def stateless_random_crop(value: Any, size: Any, seed: Any, name: Any = None) -> Any:
    """Take the part of a tensor that belongs to two seeds."""
    return _cropped(value, size, lambda shape: stateless_uniform(shape, seed, 0, np.iinfo(np.int32).max, np.int32))


def _cropped(value: Any, size: Any, draw: Callable[[Any], Any]) -> Any:
    given, sizes = convert_to_tensor(value), sizes_of(size)
    room = [own - part + 1 for own, part in zip(given.shape, sizes, strict=True)]
    if min(room) < 1:
        raise InvalidArgumentError(
            f"random_crop() got size={sizes} for a tensor of shape {tuple(given.shape)}; expected at most its own. Correct it."
        )
    raw = draw([len(sizes)])
    arrays = given.__array_namespace__()
    for axis, part in enumerate(sizes):
        given = arrays.take(given, raw[axis] % room[axis] + np.arange(part, dtype=np.int32), axis=axis)
    return given


@operation
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: Any = None) -> Any:
    """Change the dtype of images: integers go up to the largest that they have, floats from zero to one."""
    given, wanted = convert_to_tensor(image), numpy_dtype(dtype)
    if given.dtype == wanted:
        return given
    if given.dtype.kind in "iu" and wanted.kind not in "iu":
        return cast(given, wanted) * wanted.type(1 / np.iinfo(given.dtype).max)
    if given.dtype.kind in "iu":
        raise InvalidArgumentError(
            f"convert_image_dtype() got integers as {given.dtype} for {wanted}; expected floats on one side. Use float32 first."
        )
    top = np.iinfo(wanted).max
    scaled = given * (top + 0.5)
    return cast(maximum(minimum(scaled, float(top)), float(np.iinfo(wanted).min)) if saturate else scaled, wanted)


@operation
def per_image_standardization(image: Any) -> Any:
    """Give each image a mean of zero and a variance of one."""
    given = cast(image, np.float32) if convert_to_tensor(image).dtype.kind in "iu" else convert_to_tensor(image)
    axes = [-3, -2, -1]
    centered = given - reduce_mean(given, axes, keepdims=True)
    spread = given.__array_namespace__().sqrt(reduce_mean(square(centered), axes, keepdims=True))
    least = 1 / np.sqrt(np.prod(given.shape[-3:]))
    return centered / maximum(spread, float(least))


@operation
def rgb_to_grayscale(images: Any, name: Any = None) -> Any:
    """Mix three channels into one."""
    given = convert_to_tensor(images)
    floats = convert_image_dtype(given, np.float32)
    grey = (floats * np.array(_GREY, np.float32)).sum(axis=-1, keepdims=True)
    return convert_image_dtype(grey, given.dtype)


@operation
def grayscale_to_rgb(images: Any, name: Any = None) -> Any:
    """Repeat one channel three times."""
    given = convert_to_tensor(images)
    return given.__array_namespace__().repeat(given, 3, axis=-1)


@operation
def adjust_brightness(image: Any, delta: Any) -> Any:
    """Add a number to images of floats, or a share of the largest to those of integers."""
    given = convert_to_tensor(image)
    floats = convert_image_dtype(given, np.float32) if given.dtype.kind in "iu" else given
    return convert_image_dtype(floats + delta, given.dtype, saturate=True)


@operation
def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """Multiply the distance from the mean of each channel."""
    given = convert_to_tensor(images)
    floats = convert_image_dtype(given, np.float32) if given.dtype.kind in "iu" else given
    mean = reduce_mean(floats, [-3, -2], keepdims=True)
    return convert_image_dtype((floats - mean) * contrast_factor + mean, given.dtype, saturate=True)


@operation
def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Add one random number, of at most a size, to images."""
    return adjust_brightness(image, uniform([], -max_delta, max_delta, seed=seed))


@operation
def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Multiply the distance from the mean by one random number."""
    return adjust_contrast(image, uniform([], lower, upper, seed=seed))


@operation
def total_variation(images: Any, name: Any = None) -> Any:
    """How much pixels differ from those below and beside them, summed."""
    given = convert_to_tensor(images)
    below, beside = given[..., 1:, :, :] - given[..., :-1, :, :], given[..., 1:, :] - given[..., :-1, :]
    return abs(below).sum(axis=(-3, -2, -1)) + abs(beside).sum(axis=(-3, -2, -1))


@operation
def psnr(a: Any, b: Any, max_val: Any, name: Any = None) -> Any:
    """The ratio of the largest signal to the noise between images, in decibels."""
    top = convert_image_dtype(cast(max_val, convert_to_tensor(a).dtype), np.float32)
    first, second = (convert_image_dtype(one, np.float32) for one in (a, b))
    noise = reduce_mean(square(first - second), [-3, -2, -1])
    arrays = noise.__array_namespace__()
    return np.float32(20) * arrays.log10(top) - np.float32(10) * arrays.log10(noise)


@operation
def image_gradients(image: Any) -> Any:
    """How much pixels differ from those below, and from those beside them; zero at the edges."""
    given = convert_to_tensor(image)
    arrays = given.__array_namespace__()
    below, beside = given[:, 1:] - given[:, :-1], given[:, :, 1:] - given[:, :, :-1]
    return arrays.pad(below, [(0, 0), (0, 1), (0, 0), (0, 0)]), arrays.pad(beside, [(0, 0), (0, 0), (0, 1), (0, 0)])


def _flipped(image: Any, axis: int) -> Any:
    return image.__array_namespace__().flip(image, axis=axis)


def _flipped_by_chance(image: Any, axis: int, draw: Callable[[Any], Any]) -> Any:
    given = convert_to_tensor(image)
    several = given.shape[:1] if given.ndim == 4 else ()
    chance = round(draw(several)) > 0.5 if several else draw(several) < 0.5
    return where(chance.reshape((*several, *[1] * 3)) if several else chance, _flipped(given, axis), given)

"""`tf.image.resize` and its like: along an axis a new pixel is a weighted mean of old ones, so a method is a matrix of weights."""

import builtins
import functools
import math
from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.ops.image_functions import pad_to_bounding_box
from refdist._core.ops.operation import operation
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, sizes_of

Array = np.ndarray[Any, Any]


class ResizeMethod:
    """The names of the ways to resize images."""

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


@operation
def resize(
    images: Any,
    size: Any,
    method: Any = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: Any = None,
) -> Any:
    """Make images larger or smaller.

    Args:
        method: one of tf.image.ResizeMethod.
        antialias: whether a smaller image is made of wider means, unless the method does it anyway.
    """
    given, wanted = convert_to_tensor(images), sizes_of(size)
    if method != "nearest" and method not in _WEIGHTS:
        raise ValueError(
            f"resize() got method={method!r}; expected one of {', '.join(['nearest', *_WEIGHTS])}. Use tf.image.ResizeMethod."
        )
    if len(given.shape) not in (3, 4) or len(wanted) != 2:
        raise ValueError(
            f"resize() got images of shape {tuple(given.shape)} and size={wanted}; expected height, width and channels, with or "
            f"without a batch before them, and two sizes. Reshape them."
        )
    if preserve_aspect_ratio:
        scale = min(new / old for new, old in zip(wanted, given.shape[-3:-1], strict=True))
        wanted = tuple(builtins.round(old * scale) for old in given.shape[-3:-1])
    given = given if method == "nearest" else cast(given, np.float32)
    for axis, count in zip((-3, -2), wanted, strict=True):
        if method == "nearest":
            places = np.floor((np.arange(count) + 0.5) * (given.shape[axis] / count)).astype(np.int32)
            given = given.__array_namespace__().take(given, np.minimum(places, given.shape[axis] - 1), axis=axis)
        else:
            given = _weighed(given, axis, _weights(method, given.shape[axis], count, bool(antialias)))
    return given


@operation
def resize_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = "bilinear", antialias: bool = False
) -> Any:
    """Resize images without changing their proportions, and surround them by zeros."""
    given, wanted = convert_to_tensor(image), (int(target_height), int(target_width))
    ratio = max(own / size for own, size in zip(given.shape[-3:-1], wanted, strict=True))
    parts = [own / ratio for own in given.shape[-3:-1]]
    top, left = (max(0, math.floor((size - part) / 2)) for size, part in zip(wanted, parts, strict=True))
    resized = resize(given, [math.floor(part) for part in parts], method, antialias=antialias)
    return pad_to_bounding_box(resized, top, left, *wanted)


@operation
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: Any = 0.0,
    name: Any = None,
) -> Any:
    """Take parts of images, given as shares of their height and width, and resize each of them."""
    if method not in ("bilinear", "nearest"):
        raise InvalidArgumentError(
            f"crop_and_resize() got {method=}; expected 'bilinear' or 'nearest'. Use one of these."
        )
    given, where = cast(image, np.float32), convert_to_tensor(boxes)
    arrays, (height, width) = given.__array_namespace__(), sizes_of(crop_size)
    chosen = arrays.take(given, convert_to_tensor(box_indices), axis=0)
    inside: list[Any] = []
    for axis, count, first, last in ((1, height, 0, 2), (2, width, 1, 3)):
        own, (begin, end) = given.shape[axis], (where[:, first, None], where[:, last, None])
        steps = np.arange(count, dtype=np.float32)[None] / np.float32(max(count - 1, 1))
        places = (begin + (end - begin) * steps) * (own - 1) if count > 1 else (begin + end) * (0.5 * (own - 1))
        inside.append((places >= 0) & (places <= own - 1))
        chosen = _between(chosen, axis, arrays.clip(places, 0, own - 1), method)
    within = (inside[0][:, :, None] & inside[1][:, None, :])[..., None]
    return arrays.where(within, chosen, np.float32(extrapolation_value))


def _between(images: Any, axis: int, places: Any, method: str) -> Any:
    """Pixels at places between others, which differ from image to image."""
    arrays, shape = images.__array_namespace__(), [1] * 4
    shape[0], shape[axis] = places.shape
    if method == "nearest":
        return arrays.take_along_axis(images, arrays.round(places).astype(np.int32).reshape(shape), axis=axis)
    low = arrays.floor(places)
    first = arrays.take_along_axis(images, low.astype(np.int32).reshape(shape), axis=axis)
    second = arrays.take_along_axis(images, arrays.ceil(places).astype(np.int32).reshape(shape), axis=axis)
    return first + (second - first) * (places - low).reshape(shape)


def _weighed(images: Any, axis: int, weights: Array) -> Any:
    arrays = images.__array_namespace__()
    return arrays.moveaxis(arrays.tensordot(images, weights, axes=([images.ndim + axis], [1])), -1, axis)


@functools.lru_cache(maxsize=64)
def _weights(method: str, own: int, count: int, antialias: bool) -> Array:
    """What each old pixel counts for in each new one."""
    direct, radius, kernel = _WEIGHTS[method]
    if direct is not None and (kernel is None or not antialias):
        return direct(own, count).astype(np.float32)
    return _spread(own, count, radius, kernel, antialias).astype(np.float32)


def _spread(own: int, count: int, radius: float, kernel: Any, antialias: bool) -> Array:
    """The weights of a kernel around the place of each new pixel; wider by as much as the image shrinks, if that is asked for."""
    places = (np.arange(count) + 0.5) * (own / count)
    scale = max(own / count, 1.0) if antialias else 1.0
    distances = (np.arange(own) + 0.5 - places[:, None]) / scale
    weights = np.where(abs(distances) <= radius, kernel(abs(distances)), 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def _linear(own: int, count: int) -> Array:
    middle = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * np.float32(own / count) - np.float32(0.5)
    low = np.floor(middle)
    return _placed(own, [(low, 1 - (middle - low)), (low + 1, middle - low)], clip=True)


def _cubic(own: int, count: int) -> Array:
    middle = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * np.float32(own / count) - np.float32(0.5)
    low = np.floor(middle)
    share = np.rint((middle - low) * 1024) / 1024  # TensorFlow has a table of so many steps
    weights = _placed(own, [(low + step, _keys(abs(share - step))) for step in (-1, 0, 1, 2)], clip=False)
    return weights / weights.sum(axis=1, keepdims=True)


def _area(own: int, count: int) -> Array:
    """How much of each old pixel is in each new one."""
    edges = np.arange(count + 1) * (own / count)
    begin, end = np.maximum(edges[:-1, None], np.arange(own)), np.minimum(edges[1:, None], np.arange(own) + 1)
    return np.maximum(end - begin, 0) / (own / count)


def _placed(own: int, parts: list[tuple[Array, Array]], *, clip: bool) -> Array:
    """Put weights at places of old pixels; those beyond the edge count for the last one, or for nothing."""
    weights = np.zeros((len(parts[0][0]), own))
    for places, shares in parts:
        inside = np.clip(places, 0, own - 1).astype(int)
        kept = shares if clip else np.where(inside == places, shares, 0.0)
        np.add.at(weights, (np.arange(len(places)), inside), kept)
    return weights


def _keys(x: Array) -> Array:
    near, far = ((1.5 * x - 2.5) * x) * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _mitchell(x: Array) -> Array:
    near, far = ((7 * x / 6 - 2) * x) * x + 8 / 9, ((-7 * x / 18 + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


# How the weights are made without antialiasing, if not by a kernel; how far a kernel reaches; the kernel, if there is one.
_WEIGHTS: dict[str, Any] = {
    "bilinear": (_linear, 1.0, lambda x: np.maximum(1 - x, 0)),
    "bicubic": (_cubic, 2.0, _keys),
    "area": (_area, 0.0, None),
    "lanczos3": (None, 3.0, lambda x: np.sinc(x) * np.sinc(x / 3)),
    "lanczos5": (None, 5.0, lambda x: np.sinc(x) * np.sinc(x / 5)),
    "gaussian": (None, 1.5, lambda x: np.exp(-2 * x * x) * (x < 1.5)),
    "mitchellcubic": (None, 2.0, _mitchell),
}

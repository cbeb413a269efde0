"""`tf.io.decode_jpeg` and its like: images as tensors, read and written by Pillow.

Pixels of a JPEG are those of TensorFlow's dct_method="INTEGER_ACCURATE"; its default is quicker and may be a few levels off.
"""

import importlib
import io
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.ops.byte_strings import Array, byte_string, string_tensor
from refdist._core.ops.tensor_functions import convert_to_tensor, fresh

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_GRAY = np.array([9798, 19235, 3735])  # of 32768: how libpng weighs red, green and blue


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: Any = None,
) -> Any:
    """Read a JPEG, or another image, as a uint8 tensor of height, width and channels.

    Args:
        channels: 1 or 3; 0 takes as many as the image has.
        ratio: 1, 2, 4 or 8; how much smaller the image is read.
    """
    if not fancy_upscaling or try_recover_truncated:
        raise NotImplementedError(
            f"decode_jpeg() got fancy_upscaling={fancy_upscaling} and try_recover_truncated={try_recover_truncated}; expected True "
            f"and False, which Pillow does. Leave them out."
        )
    return fresh(_decoded(contents, channels, "decode_jpeg()", ratio))


def decode_png(contents: Any, channels: int = 0, dtype: Any = np.uint8, name: Any = None) -> Any:
    """Read a PNG, or another image, as a tensor of height, width and channels, of uint8 or uint16."""
    return fresh(_as_dtype(_decoded(contents, channels, "decode_png()"), numpy_dtype(dtype), "decode_png()"))


def decode_image(
    contents: Any, channels: int | None = None, dtype: Any = np.uint8, name: Any = None, expand_animations: bool = True
) -> Any:
    """Read an image of any kind as a tensor; floats are from 0 to 1. A GIF has a dimension of frames in front."""
    dtype, frames = numpy_dtype(dtype), None
    data = byte_string(contents, "decode_image()")
    if data.startswith(b"GIF"):
        frames = _frames(data)
        array = frames if expand_animations else frames[0]
    else:
        array = _decoded(data, channels or 0, "decode_image()")
    return fresh(_as_dtype(array, dtype, "decode_image()"))


def decode_gif(contents: Any, name: Any = None) -> Any:
    """Read the frames of a GIF as a uint8 tensor of frames, height, width and 3 channels."""
    return fresh(_frames(byte_string(contents, "decode_gif()")))


def decode_bmp(contents: Any, channels: int = 0, name: Any = None) -> Any:
    """Read a BMP as a uint8 tensor of height, width and channels."""
    return fresh(_decoded(contents, channels, "decode_bmp()"))


def decode_and_crop_jpeg(contents: Any, crop_window: Any, channels: int = 0, **options: Any) -> Any:
    """Read a part of a JPEG: [top, left, height, width]."""
    top, left, height, width = (int(one) for one in np.asarray(crop_window))
    whole = decode_jpeg(contents, channels, **options)
    if min(top, left) < 0 or min(height, width) < 1 or top + height > whole.shape[0] or left + width > whole.shape[1]:
        raise InvalidArgumentError(
            f"decode_and_crop_jpeg() got crop_window={[top, left, height, width]}; expected [top, left, height, width] inside of "
            f"the {whole.shape[0]} x {whole.shape[1]} image. Correct it."
        )
    return whole[top : top + height, left : left + width]


def is_jpeg(contents: Any, name: Any = None) -> Any:
    """Say whether bytes begin as a JPEG does."""
    return fresh(np.array(byte_string(contents, "is_jpeg()").startswith(b"\xff\xd8\xff")))


def extract_jpeg_shape(contents: Any, output_type: Any = np.int32, name: Any = None) -> Any:
    """The height, width and channels of a JPEG, without reading its pixels."""
    image = _opened(byte_string(contents, "extract_jpeg_shape()"), "extract_jpeg_shape()")
    return fresh(np.array([image.height, image.width, len(image.getbands())], numpy_dtype(output_type)))


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    **density: Any,
) -> Any:
    """Write an image of uint8 as a JPEG."""
    array = _image(image, "encode_jpeg()", {np.dtype("uint8")}, (1, 3))
    return string_tensor(
        _encoded(
            array,
            "JPEG",
            quality=quality,
            progressive=progressive,
            optimize=optimize_size,
            subsampling=2 if chroma_downsampling else 0,
        )
    )


def encode_png(image: Any, compression: int = -1, name: Any = None) -> Any:
    """Write an image of uint8, or one channel of uint16, as a PNG; several images become several byte strings."""
    array = _image(image, "encode_png()", {np.dtype("uint8"), np.dtype("uint16")}, (1, 2, 3, 4), batches=True)
    if array.dtype == np.uint16 and array.shape[-1] > 1:
        raise NotImplementedError(
            f"encode_png() got a uint16 image of {array.shape[-1]} channels; expected one, because Pillow writes no more. "
            f"Convert it to uint8, or write each channel."
        )
    level = {} if compression < 0 else {"compress_level": compression}
    coded = [_encoded(one, "PNG", **level) for one in array.reshape(-1, *array.shape[-3:])]
    made = np.empty(len(coded), object)
    made[:] = coded
    return string_tensor(made.reshape(array.shape[:-3]))


def _decoded(contents: Any, channels: int, function: str, ratio: int = 1) -> Array:
    data = byte_string(contents, function)
    if channels not in (0, 1, 3, 4) or (channels == 4 and data.startswith(b"\xff\xd8")):
        raise InvalidArgumentError(
            f"{function} got channels={channels}; expected 0, 1, 3, or 4 where the image is no JPEG. Use one of these."
        )
    image = _opened(data, function)
    if image.format == "GIF":
        return _frames(data)
    if image.format == "JPEG" and (channels == 1 or ratio > 1):
        image.draft("L" if channels == 1 else image.mode, (image.width // ratio, image.height // ratio))
    try:
        image.load()
    except (OSError, SyntaxError) as error:
        raise _no_image(function, str(error)) from error
    if image.mode not in ("L", "LA", "RGB", "RGBA") and not image.mode.startswith("I"):
        image = image.convert("RGBA" if "transparency" in image.info else "L" if image.mode == "1" else "RGB")
    array = np.asarray(image)
    array = (array if array.ndim == 3 else array[..., None]).astype(
        np.uint16 if image.mode.startswith("I") else np.uint8
    )
    return _with_channels(array, channels)


def _with_channels(array: Array, channels: int) -> Array:
    """The same image with so many channels: gray ones are repeated, colors are weighed, and opacity is full."""
    if channels in (0, array.shape[-1]):
        return array
    colors, opacity = (array[..., :-1], array[..., -1:]) if array.shape[-1] in (2, 4) else (array, None)
    if channels == 1:
        return colors if colors.shape[-1] == 1 else ((colors @ _GRAY)[..., None] >> 15).astype(array.dtype)
    colors = np.repeat(colors, 3, -1) if colors.shape[-1] == 1 else colors
    if channels == 3:
        return colors
    full = np.full((*array.shape[:-1], 1), np.iinfo(array.dtype).max, array.dtype)
    return np.concatenate([colors, full if opacity is None else opacity], -1)


def _as_dtype(array: Array, dtype: Any, function: str) -> Array:
    """The same image in another dtype, over whose range the levels are spread."""
    if dtype.kind in "f" and function == "decode_image()":
        return (array / np.iinfo(array.dtype).max).astype(dtype)
    if dtype not in (np.uint8, np.uint16):
        raise InvalidArgumentError(
            f"{function} got dtype={dtype}; expected tf.uint8 or tf.uint16. Convert it with tf.cast()."
        )
    if array.dtype == dtype:
        return array
    return (array >> 8).astype(dtype) if dtype == np.uint8 else array.astype(dtype) * np.uint16(257)


def _frames(data: bytes) -> Array:
    image = _opened(data, "decode_gif()")
    sequence = importlib.import_module("PIL.ImageSequence").Iterator(image)
    return np.stack([np.asarray(frame.convert("RGB")) for frame in sequence])


def _opened(data: bytes, function: str) -> Any:
    pillow = _pillow(function)
    try:
        return pillow.open(io.BytesIO(data))
    except (OSError, ValueError) as error:
        raise _no_image(function, str(error)) from error


def _no_image(function: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{function} got bytes that are no complete image ({why}); expected JPEG, PNG, GIF or BMP. Check the file."
    )


def _pillow(function: str) -> Any:
    try:
        return importlib.import_module("PIL.Image")
    except ImportError as error:
        raise ImportError(
            f"{function} was called without Pillow; expected it to be installed, because it reads and writes the images. Install "
            f"it: "
            f'pip install "refdist[images]".'
        ) from error


def _image(image: Any, function: str, dtypes: set[Any], channels: tuple[int, ...], batches: bool = False) -> Array:
    array = np.asarray(convert_to_tensor(image))
    if array.dtype not in dtypes:
        names = " or ".join(sorted(f"tf.{dtype}" for dtype in dtypes))
        raise InvalidArgumentError(
            f"{function} got an image of {array.dtype}; expected {names}. Convert it, for example with tf.cast(image * 255, "
            f"tf.uint8)."
        )
    if (array.ndim < 3 if batches else array.ndim != 3) or array.shape[-1] not in channels:
        raise InvalidArgumentError(
            f"{function} got an image of shape {array.shape}; expected height, width, and {', '.join(map(str, channels))} "
            f"channels. Reshape it."
        )
    return array


def _encoded(array: Array, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    plain = np.ascontiguousarray(array[..., 0] if array.shape[-1] == 1 else array)
    _pillow(f"encode_{format.lower()}()").fromarray(plain).save(file, format, **options)
    return file.getvalue()

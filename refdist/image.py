"""`tf.image`: what pipelines do with images."""

from refdist._core.ops.image_functions import (
    adjust_brightness,
    adjust_contrast,
    central_crop,
    convert_image_dtype,
    crop_to_bounding_box,
    flip_left_right,
    flip_up_down,
    grayscale_to_rgb,
    pad_to_bounding_box,
    per_image_standardization,
    random_brightness,
    random_contrast,
    random_crop,
    random_flip_left_right,
    random_flip_up_down,
    resize,
    resize_with_crop_or_pad,
    rgb_to_grayscale,
    rot90,
    stateless_random_flip_left_right,
    transpose,
)
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("image")

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "pad_to_bounding_box",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rot90",
    "stateless_random_flip_left_right",
    "transpose",
]

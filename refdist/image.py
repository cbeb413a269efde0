"""`tf.image`: what pipelines do with images."""

from refdist._core.files.images import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from refdist._core.ops.image_functions import (
    adjust_brightness,
    adjust_contrast,
    central_crop,
    convert_image_dtype,
    crop_to_bounding_box,
    flip_left_right,
    flip_up_down,
    grayscale_to_rgb,
    image_gradients,
    pad_to_bounding_box,
    per_image_standardization,
    psnr,
    random_brightness,
    random_contrast,
    random_crop,
    random_flip_left_right,
    random_flip_up_down,
    resize_with_crop_or_pad,
    rgb_to_grayscale,
    rot90,
    stateless_random_crop,
    stateless_random_flip_left_right,
    stateless_random_flip_up_down,
    total_variation,
    transpose,
)
from refdist._core.ops.image_quality import ssim
from refdist._core.ops.image_resizing import ResizeMethod, crop_and_resize, resize, resize_with_pad
from refdist._core.ops.late_names import late_names as _late_names

_LATE = {
    "refdist._core.ops.image_colors": """
        adjust_gamma adjust_hue adjust_saturation hsv_to_rgb random_hue random_saturation rgb_to_hsv
        rgb_to_yiq rgb_to_yuv stateless_random_brightness stateless_random_contrast
        stateless_random_hue stateless_random_saturation yiq_to_rgb yuv_to_rgb
    """,
}
__getattr__, __dir__ = _late_names("image", globals(), _LATE)

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "central_crop",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "image_gradients",
    "is_jpeg",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rgb_to_grayscale",
    "rot90",
    "ssim",
    "stateless_random_crop",
    "stateless_random_flip_left_right",
    "stateless_random_flip_up_down",
    "total_variation",
    "transpose",
]

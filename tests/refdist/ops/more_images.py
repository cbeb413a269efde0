"""Operations on colors and sizes of images, as expressions in which `t` makes a tensor."""

IMAGE = "(np.arange(4 * 6 * 3, dtype='float32').reshape(4, 6, 3) * 5 % 11) / 16"
BYTES = "(np.arange(4 * 6 * 3).reshape(4, 6, 3) * 7 % 251).astype('uint8')"
METHODS = ["bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "nearest"]
BOXES = "t([[0.0, 0.0, 1.0, 1.0], [0.2, 0.6, 1.3, 0.1]])"

OTHERS = f"""
tf.image.resize(t({BYTES}), [4, 6])
tf.image.resize(t({IMAGE}), tf.constant([8, 3]), tf.image.ResizeMethod.LANCZOS3)
tf.image.resize(t({IMAGE}), [8])
tf.image.resize_with_pad(t({IMAGE}), 9, 7)
tf.image.resize_with_pad(t({BYTES}), 3, 8, method='nearest')
tf.image.crop_and_resize(t(np.stack([{IMAGE}] * 2)), {BOXES}, t([0, 1]), [3, 4])
tf.image.crop_and_resize(t(np.stack([{IMAGE}] * 2)), {BOXES}, t([1, 1]), [1, 2], 'nearest', 9.0)
tf.image.rgb_to_hsv(t({IMAGE}))
tf.image.hsv_to_rgb(t({IMAGE}))
tf.image.rgb_to_yiq(t({IMAGE}))
tf.image.yiq_to_rgb(t({IMAGE}))
tf.image.rgb_to_yuv(t({IMAGE}))
tf.image.yuv_to_rgb(t({IMAGE}))
tf.image.adjust_hue(t({IMAGE}), 0.3)
tf.image.adjust_hue(t({BYTES}), -0.4)
tf.image.adjust_hue(t({IMAGE}), 1.5)
tf.image.adjust_saturation(t({IMAGE}), 0.5)
tf.image.adjust_saturation(t({BYTES}), 3.0)
tf.image.adjust_saturation(t([[[1.0], [2.0]]]), 3.0)
tf.image.adjust_gamma(t({IMAGE}), 2.0, 0.5)
tf.image.adjust_gamma(t({BYTES}), 0.5)
tf.image.adjust_gamma(t({BYTES}), -1.0)
tf.image.random_hue(t({IMAGE}), 0.2, seed=3)
tf.image.random_hue(t({IMAGE}), 0.7)
tf.image.random_saturation(t({IMAGE}), 0.2, 2.0, seed=3)
tf.image.random_saturation(t({IMAGE}), 2.0, 1.0)
tf.image.stateless_random_hue(t({BYTES}), 0.2, [1, 2])
tf.image.stateless_random_saturation(t({BYTES}), 0.2, 2.0, [1, 2])
tf.image.stateless_random_brightness(t({IMAGE}), 0.2, [1, 2])
tf.image.stateless_random_contrast(t({IMAGE}), 0.2, 0.9, [1, 2])
tf.image.stateless_random_crop(t({BYTES}), [2, 3, 3], [1, 2])
tf.image.stateless_random_flip_up_down(t({IMAGE}), [1, 2])
tf.image.total_variation(t(np.stack([{IMAGE}, {IMAGE} * 2])))
tf.image.psnr(t({IMAGE}), t({IMAGE} + 0.1), 1.0)
tf.image.psnr(t({BYTES}), t({BYTES} // 2), 255)
tf.image.image_gradients(t(np.stack([{IMAGE}])))
"""

EXPRESSIONS = [
    *(f"tf.image.resize(t({IMAGE}), {size}, '{method}')" for method in METHODS for size in ([7, 9], [2, 3])),
    *(f"tf.image.resize(t({IMAGE}), [3, 9], '{method}', antialias=True)" for method in METHODS),
    *filter(None, OTHERS.split("\n")),
]

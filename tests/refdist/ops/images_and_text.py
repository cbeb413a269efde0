"""Operations on images and text, checks, and functions of functions, as expressions in which `t` makes a tensor."""

IMAGE = "(np.arange(4 * 6 * 3, dtype='float32').reshape(4, 6, 3) % 11) / 16"
BYTES = "(np.arange(4 * 6 * 3).reshape(4, 6, 3) * 3 % 251).astype('uint8')"

OTHERS = f"""
tf.image.flip_left_right(t({IMAGE}))
tf.image.flip_up_down(t({BYTES}))
tf.image.rot90(t({BYTES}))
tf.image.rot90(t({BYTES}), k=3)
tf.image.transpose(t({BYTES}))
tf.image.random_flip_left_right(t({IMAGE}), seed=3)
tf.image.random_flip_left_right(t({IMAGE}), seed=4)
tf.image.random_flip_up_down(t({IMAGE}), seed=5)
tf.image.random_flip_left_right(t(np.stack([{IMAGE}] * 4)), seed=5)
tf.image.stateless_random_flip_left_right(t({IMAGE}), t([1, 2]))
tf.image.stateless_random_flip_left_right(t({IMAGE}), t([2, 3]))
tf.image.crop_to_bounding_box(t({BYTES}), 1, 2, 2, 3)
tf.image.crop_to_bounding_box(t({BYTES}), 1, 2, 2, 9)
tf.image.pad_to_bounding_box(t({BYTES}), 1, 2, 6, 9)
tf.image.pad_to_bounding_box(t({BYTES}), 1, 2, 3, 9)
tf.image.central_crop(t({BYTES}), 0.5)
tf.image.central_crop(t({BYTES}), 0.8)
tf.image.central_crop(t({BYTES}), 1.5)
tf.image.resize_with_crop_or_pad(t({BYTES}), 3, 9)
tf.image.resize_with_crop_or_pad(t({BYTES}), 7, 2)
tf.image.random_crop(t({BYTES}), [2, 3, 3], seed=4)
tf.image.random_crop(t({BYTES}), [5, 3, 3])
tf.image.convert_image_dtype(t({BYTES}), tf.float32)
tf.image.convert_image_dtype(t({IMAGE}), tf.uint8)
tf.image.convert_image_dtype(t({IMAGE}) * 4, tf.uint8, saturate=True)
tf.image.per_image_standardization(t({IMAGE}))
tf.image.per_image_standardization(t({BYTES}))
tf.image.rgb_to_grayscale(t({IMAGE}))
tf.image.rgb_to_grayscale(t({BYTES}))
tf.image.grayscale_to_rgb(t([[[1.0], [2.0]]]))
tf.image.adjust_brightness(t({IMAGE}), 0.25)
tf.image.adjust_brightness(t({BYTES}), 0.3)
tf.image.adjust_contrast(t({IMAGE}), 2.0)
tf.image.random_brightness(t({IMAGE}), 0.2, seed=3)
tf.image.random_contrast(t({IMAGE}), 0.5, 1.5, seed=3)
tf.image.resize(t({IMAGE}), [8, 3])
tf.image.resize(t({BYTES}), [2, 3])
tf.image.resize(t(np.stack([{IMAGE}] * 2)), (5, 5))
tf.image.resize(t({BYTES}), [7, 4], method='nearest')
tf.image.resize(t({IMAGE}), [8, 8], preserve_aspect_ratio=True)
tf.image.resize(t({IMAGE}), [8, 8], method='no such')
tf.strings.lower(['Ab', 'cD'])
tf.strings.upper(t('abc'))
tf.strings.strip(['  a b ', 'c'])
tf.strings.length(['a', 'äb'])
tf.strings.length(['a', 'äb'], unit='UTF8_CHAR')
tf.strings.join([['a', 'b'], ['c', 'd']])
tf.strings.join(['x', ['c', 'd']], separator='-')
tf.strings.reduce_join([['a', 'b'], ['c', 'd']])
tf.strings.reduce_join([['a', 'b'], ['c', 'd']], axis=1, separator=' ')
tf.strings.reduce_join([['a', 'b'], ['c', 'd']], axis=0, keepdims=True)
tf.strings.substr(['hello', 'world'], 1, 3)
tf.strings.substr(['hello'], -3, 2)
tf.strings.regex_replace(['a1b22'], '[0-9]+', '#')
tf.strings.regex_replace(['a1b22'], '([0-9])', 'x', replace_global=False)
tf.strings.regex_full_match(['abc', 'abd'], 'ab[c]')
tf.strings.to_number(['1.5', '-2'])
tf.strings.to_number(['7'], tf.int32)
tf.strings.to_number(['x'])
tf.strings.as_string(t([1, -2]))
tf.strings.as_string(t([1.5, 2.25]))
tf.strings.as_string(t([1.5]), precision=2)
tf.as_string(t([True, False]))
tf.strings.lower([1, 2])
tf.debugging.check_numerics(t([1.0, 2.0]), 'bad')
tf.debugging.check_numerics(t([1.0, np.nan]), 'bad')
[tf.debugging.assert_equal(t([1]), t([2])), 1][1]
[tf.debugging.assert_equal(t([1]), t([1])), t(1)][1]
[tf.debugging.assert_less(t([1]), 2), t(1)][1]
[tf.debugging.assert_less(t([3]), 2), t(1)][1]
[tf.debugging.assert_greater_equal(t([3.0]), 3.0), t(1)][1]
[tf.debugging.assert_positive(t([1.0, 0.0])), t(1)][1]
[tf.debugging.assert_non_negative(t([1.0, 0.0])), t(1)][1]
[tf.debugging.assert_near(t([1.0]), t([1.0000001])), t(1)][1]
[tf.debugging.assert_near(t([1.0]), t([1.1])), t(1)][1]
[tf.debugging.assert_rank(t([1.0]), 2), t(1)][1]
[tf.debugging.assert_rank(t([1.0]), 1), t(1)][1]
[tf.debugging.assert_type(t([1.0]), tf.float32), t(1)][1]
[tf.debugging.assert_type(t([1.0]), tf.int32), t(1)][1]
[tf.debugging.assert_shapes([(t([[1.0, 2.0]]), ('N', 2)), (t([1.0]), ('N',))]), t(1)][1]
[tf.debugging.assert_shapes([(t([[1.0, 2.0]]), ('N', 2)), (t([1.0, 2.0]), ('N',))]), t(1)][1]
[tf.Assert(t(True), ['x']), t(1)][1]
[tf.Assert(t(False), ['x']), t(1)][1]
tf.ensure_shape(t([[1.0, 2.0]]), [None, 2])
tf.ensure_shape(t([[1.0, 2.0]]), [2, 2])
tf.map_fn(lambda x: x * x, t([1, 2, 3]))
tf.map_fn(lambda pair: pair[0] + pair[1], (t([1, 2]), t([3, 4])), fn_output_signature=tf.int32)
tf.vectorized_map(lambda x: tf.reduce_sum(x), t([[1.0, 2.0], [3.0, 4.0]]))
tf.foldl(lambda total, x: total * 2 + x, t([1, 2, 3]))
tf.foldl(lambda total, x: total * 2 + x, t([1, 2, 3]), initializer=5)
tf.foldr(lambda total, x: total * 2 + x, t([1, 2, 3]))
tf.scan(lambda total, x: total + x, t([1, 2, 3]))
tf.scan(lambda total, x: total + x, t([1, 2, 3]), initializer=t(10))
tf.scan(lambda total, x: total + x, t([1, 2, 3]), reverse=True)
tf.numpy_function(lambda x: x + 1, [t([1.0])], tf.float32)
tf.py_function(lambda x: x + 1, [t([1.0])], tf.float32)
tf.zeros_initializer()([2], tf.int32)
tf.ones_initializer()([2])
tf.constant_initializer(3)([2])
tf.random_normal_initializer(seed=4)([3])
tf.random_uniform_initializer(-1.0, 1.0, seed=4)([3])
"""

EXPRESSIONS = [*filter(None, OTHERS.split("\n"))]

"""Images that TensorFlow 2.21 wrote, and the pixels that it reads."""

import base64
import io
import sys

import numpy as np
import pytest

import refdist as tf

INVALID = tf.errors.InvalidArgumentError
RAMP = (np.add.outer(np.arange(12) * 8, np.arange(16) * 5)[..., None] + np.array([0, 40, 80])).astype(np.uint8)
RGB = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAMCAIAAADkharWAAAAGUlEQVQokWNk0AhgJQWwcHBwjGoY1YAFAACEaAw6LAbaiQAAAABJRU5ErkJggg=="
)
RGBA = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAMCAYAAABr5z2BAAAAHElEQVQokWNk0AhgYKUAsHBwcHCMGjBqwNA3AAAcBxAWsNdDtQAAAABJRU5ErkJggg=="
)
GRAY = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAMCAAAAABOjGJdAAAAFElEQVQImWNkYEUFjBxoAixDRgAAmIwEB3MzMvcAAAAASUVORK5CYII="
)
GRAY16 = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAMEAAAAAAeHL4eAAAAGElEQVQYlWNkYGDFCxg5OPArYBlVQCUFABF5B+N4lMc5AAAAAElFTkSuQmCC"
)


@pytest.fixture(scope="module")
def jpeg():
    return tf.io.encode_jpeg(RAMP, quality=95).numpy()


@pytest.mark.parametrize(
    ("data", "channels", "shape", "total"),
    [
        (RGB, 0, 3, 69984),
        (RGB, 1, 1, 21792),
        (RGB, 4, 4, 118944),
        (GRAY, 0, 1, 15648),
        (GRAY, 3, 3, 46944),
        (GRAY, 4, 4, 95904),
        (RGBA, 0, 4, 85632),
        (RGBA, 1, 1, 21792),
        (RGBA, 3, 3, 69984),
        (GRAY16, 0, 1, 15648),
        (GRAY16, 3, 3, 46944),
    ],
)
def test_png_pixels_are_those_of_tensorflow(data, channels, shape, total):
    found = tf.io.decode_png(data, channels=channels)

    assert ((12, 16, shape), tf.uint8, total) == (found.shape, found.dtype, int(np.sum(found, dtype=np.int64)))


@pytest.mark.parametrize(("data", "last"), [(RGB, 62451), (GRAY, 41891), (GRAY16, 41891)])
def test_sixteen_bits_are_spread_over_their_range(data, last):
    assert last == int(tf.io.decode_png(data, dtype=np.uint16)[-1, -1, -1])


def test_what_is_written_is_read_again(any_backend):
    assert RAMP.tolist() == tf.io.decode_png(tf.io.encode_png(tf.constant(RAMP))).tolist()
    assert (2,) == tf.io.encode_png(np.zeros((2, 4, 4, 3), np.uint8)).shape
    assert 65535 == int(
        np.max(tf.io.decode_image(tf.io.encode_png(np.full((2, 2, 1), 65535, np.uint16)), dtype=np.uint16))
    )


def test_a_jpeg_is_near_what_was_written(jpeg):
    found = tf.io.decode_jpeg(jpeg)

    assert np.abs(np.asarray(found, int) - RAMP).max() < 12
    assert (12, 16, 1) == tf.io.decode_jpeg(jpeg, channels=1).shape
    assert (6, 8, 3) == tf.io.decode_jpeg(jpeg, ratio=2).shape
    assert [12, 16, 3] == tf.io.extract_jpeg_shape(jpeg).tolist()
    assert found[1:4, 2:6].tolist() == tf.io.decode_and_crop_jpeg(jpeg, [1, 2, 3, 4]).tolist()
    assert [True, False] == [bool(tf.io.is_jpeg(jpeg)), bool(tf.io.is_jpeg(RGB))]


def test_any_decoder_reads_any_image(jpeg):
    assert (12, 16, 3) == tf.io.decode_jpeg(RGB).shape == tf.io.decode_png(jpeg).shape
    assert 1.0 >= float(np.max(tf.io.decode_image(jpeg, dtype=tf.float32))) > 0.5


def test_a_gif_has_frames():
    from PIL import Image

    file = io.BytesIO()
    frames = [Image.fromarray(np.full((2, 3, 3), level, np.uint8)) for level in (0, 255)]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])

    assert (2, 2, 3, 3) == tf.io.decode_gif(file.getvalue()).shape == tf.io.decode_image(file.getvalue()).shape
    assert (2, 3, 3) == tf.io.decode_image(file.getvalue(), expand_animations=False).shape


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.io.decode_jpeg(b"abc"),
        lambda: tf.io.decode_png(RGB[:-30]),
        lambda: tf.io.decode_png(RGB, channels=2),
        lambda: tf.io.decode_png(RGB, dtype=tf.float32),
        lambda: tf.io.encode_png(RAMP.astype(np.float32)),
        lambda: tf.io.encode_jpeg(np.zeros((2, 2, 4), np.uint8)),
        lambda: tf.io.encode_jpeg(np.zeros((2, 2, 2, 3), np.uint8)),
    ],
)
def test_what_tensorflow_refuses_is_refused(call):
    with pytest.raises(INVALID):
        call()


def test_a_jpeg_has_no_fourth_channel_and_no_part_outside_of_it(jpeg):
    with pytest.raises(INVALID, match="channels=4"):
        tf.io.decode_jpeg(jpeg, channels=4)
    with pytest.raises(INVALID, match="12 x 16"):
        tf.io.decode_and_crop_jpeg(jpeg, [10, 0, 4, 4])


def test_what_pillow_cannot_do_is_said(jpeg):
    with pytest.raises(NotImplementedError, match="fancy_upscaling"):
        tf.io.decode_jpeg(jpeg, fancy_upscaling=False)
    with pytest.raises(NotImplementedError, match="uint16"):
        tf.io.encode_png(np.zeros((2, 2, 3), np.uint16))


def test_without_pillow_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)

    with pytest.raises(ImportError, match=r'pip install "refdist\[images\]"'):
        tf.io.decode_png(RGB)

"""Bytes that TensorFlow 2.21 wrote, and what it answers."""

import base64

import numpy as np
import pytest

import refdist as tf

INVALID = tf.errors.InvalidArgumentError
WRITTEN = [
    (np.array([[1, 2], [3, 4]], np.int32), "CAMSCBICCAISAggCIhABAAAAAgAAAAMAAAAEAAAA"),
    (np.array([1.5], np.float32), "CAESBBICCAEiBAAAwD8="),
    (np.array(b"abc", object), "CAcSAEIDYWJj"),
    (np.array([b"a", b"bc"], object), "CAcSBBICCAJCAWFCAmJj"),
    (np.array(True), "CAoSACIBAQ=="),
    (np.array([1], tf.bfloat16), "CA4SBBICCAEiAoA/"),
    (np.array([1, 2], np.int64), "CAkSBBICCAIiEAEAAAAAAAAAAgAAAAAAAAA="),
    (np.array([1], np.uint8), "CAQSBBICCAEiAQE="),
    (np.array([1.5], np.float16), "CBMSBBICCAEiAgA+"),
    (np.array([], np.float64), "CAISAhIA"),
]


@pytest.mark.parametrize(("array", "written"), WRITTEN)
def test_tensors_become_the_bytes_that_tensorflow_writes_and_come_back(array, written):
    data = base64.b64decode(written)
    found = tf.io.parse_tensor(data, array.dtype)

    assert data == tf.io.serialize_tensor(tf.constant(array)).numpy()
    assert (array.dtype, array.shape, array.tolist()) == (found.dtype, found.shape, found.tolist())


def test_text_is_serialized_on_jax_too():
    with tf.using("jax"):
        assert base64.b64decode("CAcSBBICCAJCAWFCAmJj") == tf.io.serialize_tensor(["a", "bc"]).numpy()


def test_values_that_are_written_one_by_one_are_read():
    from refdist._core.files.messages import message

    made = message("TensorProto")(dtype=1, float_val=[1.5, 2.5])
    made.tensor_shape.dim.add(size=4)

    assert [1.5, 2.5, 2.5, 2.5] == tf.io.parse_tensor(made.SerializeToString(), tf.float32).tolist()


@pytest.mark.parametrize("data", [b"garbage", base64.b64decode("CAESBBICCAEiBAAAwD8=")])
def test_other_bytes_are_no_tensor(data):
    with pytest.raises(INVALID):
        tf.io.parse_tensor(data, tf.int32)


@pytest.mark.parametrize(
    ("data", "dtype", "options", "expected"),
    [
        (b"\x01\x02\x03\x04", tf.uint8, {}, [1, 2, 3, 4]),
        ([b"\x01\x02\x03\x04"], tf.int16, {}, [[513, 1027]]),
        (b"\x01\x02", tf.int16, {"little_endian": False}, [258]),
        ([b"\x01", b"\x01\x02"], tf.uint8, {"fixed_length": 2}, [[1, 0], [1, 2]]),
        (b"\x01\x02\x03", tf.uint8, {"fixed_length": 2}, [1, 2]),
        (b"\x01\x00", tf.bool, {}, [True, False]),
        (b"", tf.int16, {}, []),
    ],
)
def test_raw_bytes_are_the_numbers_of_tensorflow(any_backend, data, dtype, options, expected):
    assert expected == tf.io.decode_raw(data, dtype, **options).tolist()


@pytest.mark.parametrize(("data", "dtype"), [(b"\x01\x02\x03", tf.int16), ([b"\x01", b"\x01\x02"], tf.uint8)])
def test_raw_bytes_have_one_length_that_fits(data, dtype):
    with pytest.raises(INVALID):
        tf.io.decode_raw(data, dtype)


@pytest.mark.parametrize(
    ("lines", "defaults", "options", "expected"),
    [
        ("1,2.5,x,", [[0], [0.0], [""], [7]], {}, [1, 2.5, b"x", 7]),
        (["1,2", "3,"], [[0], [9]], {}, [[1, 3], [2, 9]]),
        ('"a,""b""",2', [[""], [0]], {}, [b'a,"b"', 2]),
        ("1,2,3", [[0]], {"select_cols": [1]}, [2]),
        ("1|2", [[0], [0]], {"field_delim": "|"}, [1, 2]),
        ("1,NA", [[0], [5]], {"na_value": "NA"}, [1, 5]),
    ],
)
def test_lines_become_columns(lines, defaults, options, expected):
    assert expected == [column.tolist() for column in tf.io.decode_csv(lines, defaults, **options)]


@pytest.mark.parametrize(("lines", "defaults"), [("1,", [[0], tf.zeros([0], tf.int32)]), ("x", [[0]]), ("1,2", [[0]])])
def test_lines_that_do_not_fit_are_told(lines, defaults):
    with pytest.raises(INVALID):
        tf.io.decode_csv(lines, defaults)


def test_base64_is_that_of_names():
    assert b"YWJjPz5k" == tf.io.encode_base64("abc?>d").numpy()
    assert b"YWJjZA==" == tf.io.encode_base64("abcd", pad=True).numpy()
    assert b"abcd" == tf.io.decode_base64("YWJjZA").numpy()
    with pytest.raises(INVALID):
        tf.io.decode_base64("a")

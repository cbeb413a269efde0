"""Bytes that TensorFlow 2.21 wrote, and that it reads."""

import base64
import subprocess
import sys

import numpy as np
import pytest

import refdist as tf
from refdist._core.files import messages

EXAMPLE = base64.b64decode("CjkKDQoBYhIICgYKAXgKAf8KEQoBZhIMEgoKCAAAwD8AACBAChUKAWkSEBoOCgwB/v//////////AQM=")
SEQUENCE = base64.b64decode(
    "CjkKDQoBYhIICgYKAXgKAf8KEQoBZhIMEgoKCAAAwD8AACBAChUKAWkSEBoOCgwB/v//////////AQMSLwoVCgFhEhAKBhoECgIBAgoGGgQKAgMEChYKAXcSEQoF"
    "CgMKAXUKCAoGCgF2CgF3"
)


def features():
    train = tf.train
    return train.Features(
        feature={
            "i": train.Feature(int64_list=train.Int64List(value=[1, -2, 3])),
            "f": train.Feature(float_list=train.FloatList(value=np.array([1.5, 2.5]))),
            "b": train.Feature(bytes_list=train.BytesList(value=[b"x", b"\xff"])),
        }
    )


def test_an_example_becomes_the_bytes_that_tensorflow_writes():
    assert EXAMPLE == tf.train.Example(features=features()).SerializeToString(deterministic=True)


def test_an_example_is_read_from_bytes_of_tensorflow():
    example = tf.train.Example.FromString(EXAMPLE)

    assert [1, -2, 3] == list(example.features.feature["i"].int64_list.value)
    assert "float_list" == example.features.feature["f"].WhichOneof("kind")
    assert tf.train.Example(features=features()) == example


def test_a_sequence_example_becomes_the_bytes_that_tensorflow_writes():
    train = tf.train
    numbers = [train.Feature(int64_list=train.Int64List(value=row)) for row in ([1, 2], [3, 4])]
    words = [train.Feature(bytes_list=train.BytesList(value=row)) for row in ([b"u"], [b"v", b"w"])]
    lists = {"a": train.FeatureList(feature=numbers), "w": train.FeatureList(feature=words)}
    made = train.SequenceExample(context=features(), feature_lists=train.FeatureLists(feature_list=lists))

    assert SEQUENCE == made.SerializeToString(deterministic=True)


def test_lists_take_tensors_and_refuse_what_tensorflow_refuses():
    train = tf.train

    assert [1, 2] == list(train.Int64List(value=tf.constant([1, 2])).value)
    assert [b"a"] == list(train.BytesList(value=[tf.constant("a").numpy()]).value)
    with pytest.raises(TypeError):
        train.BytesList(value=["a"])
    with pytest.raises(TypeError):
        train.Int64List(value=[1.5])


def test_the_names_are_there_before_protobuf_is_loaded():
    program = "import sys, refdist; print('Example' in dir(refdist.train), 'google.protobuf' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "True False\n" == run.stdout


def test_other_names_are_told():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        messages.Nothing  # noqa: B018

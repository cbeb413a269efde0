import pathlib

import pytest

import refdist as tf


def test_buckets_are_those_of_tensorflow(any_backend):
    assert [[849620465], [80051842]] == tf.strings.to_hash_bucket_fast([["zzz"], ["emerson"]], 1000000007).tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least 1"):
        tf.strings.to_hash_bucket_fast("a", 0)


def test_a_function_of_strings_runs_in_python():
    bucket = tf.function(lambda word: tf.strings.to_hash_bucket_fast(word, 3))

    assert [1, 2] == [int(bucket(tf.constant(word))) for word in ("7", "123456")]


def test_text_and_bytes_become_each_other():
    assert (b"a", b"a") == (tf.compat.as_bytes("a"), tf.compat.as_bytes(b"a"))
    assert ("a", "a", "a") == (tf.compat.as_text(b"a"), tf.compat.as_str("a"), tf.compat.path_to_str("a"))
    assert str(pathlib.Path("a/b")) == tf.compat.path_to_str(pathlib.Path("a/b"))

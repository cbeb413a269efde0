"""What the recorded answers, which test_more_operations.py compares, do not say."""

import pytest

import refdist as tf


def test_characters_are_taken_whole():
    assert "ä".encode() == tf.strings.substr("aäb", 1, 1, unit="UTF8_CHAR").numpy()
    assert [True, False] == tf.strings.regex_full_match(["a1", "1"], "[a-z][0-9]").tolist()
    assert [b"  7", b"-12"] == tf.strings.as_string([7, -12], width=3).tolist()


def test_numbers_are_no_text():
    with pytest.raises(tf.errors.InvalidArgumentError, match="as_string"):
        tf.strings.length([1])

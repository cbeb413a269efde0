import pytest

from refdist._core.base.fingerprint import fingerprint

# tf.strings.to_hash_bucket_fast(text, 1000000007), in TensorFlow 2.21.
ANSWERS = {
    "zzz": 849620465,
    "emerson": 80051842,
    "x": 67517324,
    "": 912170738,
    "aaa": 915612782,
    "a" * 10: 232898852,
    "a" * 20: 837168315,
    "a" * 40: 617324768,
    "a" * 70: 170974189,
    "b" * 200: 219141632,
}


@pytest.mark.parametrize("text", ANSWERS)
def test_buckets_are_those_of_tensorflow(text):
    assert ANSWERS[text] == fingerprint(text.encode()) % 1000000007

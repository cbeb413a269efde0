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


@pytest.mark.parametrize(
    ("given", "parts"),  # as TensorFlow 2.21 has them
    [
        (("a/b/c", "/"), [b"a", b"b", b"c"]),
        (("", "/"), [b""]),
        (("",), []),
        ((" a  b c ", None, 1), [b"a", b"b c "]),
        ((" a\tb\nc",), [b"a", b"b", b"c"]),
        (("a//b", "/"), [b"a", b"", b"b"]),
        (("a/b/c", "/", 1), [b"a", b"b/c"]),
        (("a,b,", ",", 0), [b"a,b,"]),
        (("a b", ""), [b"a", b"b"]),
        ((["a b", "c", ""],), [[b"a", b"b"], [b"c"], []]),
        (([["a b", "c"], ["", "d e f"]],), [[[b"a", b"b"], [b"c"]], [[], [b"d", b"e", b"f"]]]),
    ],
)
def test_strings_are_split_as_in_tensorflow(given, parts):
    found = tf.strings.split(*given)

    assert parts == (found.to_list() if isinstance(found, tf.RaggedTensor) else found.tolist())


def test_labels_come_from_the_names_of_folders(any_backend, tmp_path):
    for label in ("3", "7"):
        (tmp_path / label).mkdir()
        (tmp_path / label / "image").write_text("pixels of " + label)

    def load(path):
        return tf.strings.to_number(tf.strings.split(path, "/")[-2], tf.int32), tf.io.read_file(path)

    dataset = tf.data.Dataset.list_files(str(tmp_path / "*" / "*"), shuffle=False).map(load)
    assert [(3, b"pixels of 3"), (7, b"pixels of 7")] == [(int(a), b.numpy()) for a, b in dataset]


def test_text_stays_on_the_host_on_every_backend(any_backend):
    words = tf.strings.lower(tf.strings.join(["A", "B"], "-"))

    assert b"a-b" == words.numpy()
    assert b"a-b!" == tf.strings.join([words, "!"]).numpy()
    assert 3 == int(tf.strings.length(words))
    assert b"a-b" == tf.strings.reduce_join(tf.strings.split("a b"), separator="-").numpy()
    assert b"1.50" == tf.strings.as_string(tf.constant(1.5), precision=2).numpy()


def test_a_list_of_tensors_of_text_is_a_tensor_of_text():
    one = tf.constant("a b")

    assert [[b"a", b"b"]] == tf.strings.split([one]).to_list()
    assert [3, 3] == tf.strings.length([one, one]).numpy().tolist()
    assert [[b"A B"], [b"A B"]] == tf.strings.upper([[one], [one]]).numpy().tolist()
    assert [b"a b", b"a b"] == list(tf.data.Dataset.from_tensor_slices([one, one]).as_numpy_iterator())

"""What TensorFlow 2.21 answers is written into the tests."""

import numpy as np
import pytest

import refdist as tf

INVALID = tf.errors.InvalidArgumentError
pairs = tf.lookup.KeyValueTensorInitializer


@pytest.fixture
def words():
    return tf.lookup.StaticHashTable(pairs(["a", "b", "c"], [1, 2, 3]), default_value=-1)


def long(*numbers):
    return np.array(numbers, np.int64)


def test_strings_are_looked_up(any_backend, words):
    found = words.lookup(["a", "z"])

    assert [1, -1] == found.tolist()
    assert tf.int32 == found.dtype
    assert (2, 3, 3, -1) == (words.lookup("b"), words["c"], words.size(), words.default_value)
    assert (tf.string, tf.int32) == (words.key_dtype, words.value_dtype)


def test_integers_become_strings(any_backend):
    table = tf.lookup.StaticHashTable(pairs(long(10, 20), ["x", "y"]), "none")

    assert [b"y", b"none"] == table.lookup(tf.constant(long(20, 5))).tolist()
    assert [[b"x"], [b"none"]] == table.lookup([[10], [0]]).tolist()


def test_keys_and_values_are_exported(words):
    keys, values = words.export()

    assert {b"a": 1, b"b": 2, b"c": 3} == dict(zip(keys.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda words: words.lookup(tf.constant([1])), TypeError),
        (lambda _: tf.lookup.StaticHashTable(pairs(long(1), [1]), 0).lookup(tf.constant([1])), TypeError),
        (lambda _: tf.lookup.StaticHashTable(pairs(["a", "a"], [1, 2]), 0), tf.errors.FailedPreconditionError),
        (lambda _: tf.lookup.StaticHashTable(pairs(["a", "b"], [1]), 0), INVALID),
        (lambda _: tf.lookup.StaticHashTable(pairs(["a"], [[1, 2]]), 0), INVALID),
        (lambda _: tf.lookup.StaticHashTable(pairs(["a"], [1]), "x"), TypeError),
        (lambda _: tf.lookup.StaticHashTable(pairs(["a"], [1]), [1]), ValueError),
        (lambda _: tf.lookup.StaticVocabularyTable(pairs(["a"], [0]), 1), TypeError),
        (lambda _: tf.lookup.StaticVocabularyTable(pairs(["a"], long(0)), 0), ValueError),
    ],
)
def test_what_tensorflow_refuses_is_refused(words, call, error):
    with pytest.raises(error):
        call(words)


def test_a_key_may_come_twice_with_one_value():
    assert 1 == tf.lookup.StaticHashTable(pairs(["a", "a"], [1, 1]), 0).size()


@pytest.fixture
def files(tmp_path):
    (tmp_path / "pairs.txt").write_text("emerson 10\nlake 20\npalmer 30\n")
    (tmp_path / "words.txt").write_text("emerson\nlake\npalmer\n")
    return tmp_path


LINE, NUMBER = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER


@pytest.mark.parametrize(
    ("file", "given", "options", "key", "expected"),
    [
        ("pairs.txt", (tf.string, 0, tf.int64, 1), {"delimiter": " "}, ["lake", "x"], [20, -1]),
        ("words.txt", (tf.string, LINE, tf.int64, NUMBER), {}, ["palmer", "x"], [2, -1]),
        ("words.txt", (tf.string, LINE, tf.int64, NUMBER), {"value_index_offset": 5}, ["lake"], [6]),
        ("words.txt", (tf.string, LINE, tf.int64, NUMBER), {"vocab_size": 2}, ["lake", "palmer"], [1, -1]),
        ("words.txt", (tf.int64, NUMBER, tf.int64, NUMBER), {}, [2, 3], [2, -1]),
    ],
)
def test_tables_are_read_from_files(files, file, given, options, key, expected):
    table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(files / file, *given, **options), -1)

    assert expected == table.lookup(key).tolist()


@pytest.mark.parametrize(
    ("file", "given", "options", "error"),
    [
        ("words.txt", (tf.string, LINE, tf.int64, NUMBER), {"vocab_size": 4}, INVALID),
        ("words.txt", (tf.string, 0, tf.int64, 1), {"delimiter": " "}, INVALID),
        ("words.txt", (tf.string, LINE, tf.int64, 0), {}, INVALID),
        ("words.txt", (tf.string, NUMBER, tf.int64, 0), {}, ValueError),
        ("no.txt", (tf.string, LINE, tf.int64, NUMBER), {}, tf.errors.NotFoundError),
    ],
)
def test_files_that_do_not_fit_are_told(files, file, given, options, error):
    with pytest.raises(error):
        tf.lookup.TextFileInitializer(files / file, *given, **options)


def test_unknown_words_share_the_buckets_of_tensorflow():
    table = tf.lookup.StaticVocabularyTable(pairs(["a", "b"], long(0, 1)), num_oov_buckets=3)

    assert [0, 2, 3, 4, 1, 4, 4] == table.lookup(tf.constant(["a", "zzz", "emerson", "x", "b", "", "q"])).tolist()
    assert (5, 4) == (table.size(), table["x"])
    assert [3, 2, 0] == tf.lookup.StaticVocabularyTable(None, 4).lookup(["a", "b", "lake"]).tolist()


def test_unknown_integers_share_the_buckets_of_tensorflow():
    table = tf.lookup.StaticVocabularyTable(pairs(long(5, 6), long(0, 1)), num_oov_buckets=3)

    assert [0, 3, 3, 4] == table.lookup(tf.constant(long(5, 7, 8, 123456))).tolist()


def test_rows_come_and_go():
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(["a", "b"], [1, 2])
    table.insert("a", 3)
    table.remove(["b", "q"])

    assert [3, -1] == table.lookup(["a", "b"]).tolist()
    assert [[b"a"], [3]] == [one.tolist() for one in table.export()]
    with pytest.raises(INVALID, match="one value for each key"):
        table.insert(["a"], [1, 2])
    with pytest.raises(TypeError, match="int64"):
        table.insert(["a"], tf.constant([1]))


def test_a_row_may_be_a_vector():
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])
    table.insert(["a"], [[1.0, 2.0]])

    assert [[1, 2], [0, 0]] == table.lookup(["a", "b"]).tolist()


def test_a_dense_table_keeps_two_keys_to_itself():
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1)
    table.insert([1, 2], [0, 20])

    assert [0, -1] == table.lookup([1, 5]).tolist()
    table.erase([2])
    assert 1 == table.size()
    for use in (lambda: table.insert([0], [1]), lambda: table.lookup([-1])):
        with pytest.raises(INVALID, match=r"empty_key|deleted_key"):
            use()


def test_a_function_sees_the_table_as_it_is(any_backend, words):
    table = tf.lookup.experimental.MutableHashTable(tf.int32, tf.int32, -1)

    @tf.function
    def found(keys):
        return table.lookup(keys)

    before = found(tf.constant([1])).tolist()
    table.insert([1], [5])

    assert [[-1], [5]] == [before, found(tf.constant([1])).tolist()]


def test_a_pipeline_looks_words_up(words):
    data = tf.data.Dataset.from_tensor_slices(["c", "a", "x"]).map(words.lookup)

    assert [3, 1, -1] == [int(one) for one in data]

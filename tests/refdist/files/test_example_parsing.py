"""What TensorFlow 2.21 answers is written into the tests."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist.files.test_messages import EXAMPLE

SHORT = bytes.fromhex("0a0c0a0a0a016912051a030a0107")  # one feature "i", with the value 7
fixed, varying, rows = tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.FixedLenSequenceFeature


@pytest.mark.parametrize(
    ("key", "feature", "expected"),
    [
        ("i", fixed([3], tf.int64), np.array([1, -2, 3])),
        ("f", fixed([1, 2], tf.float32), np.array([[1.5, 2.5]], np.float32)),
        ("b", fixed([2], tf.string), np.array([b"x", b"\xff"], object)),
        ("z", fixed([3], tf.float32, default_value=[1, 2, 3]), np.array([1, 2, 3], np.float32)),
        ("z", fixed([], tf.string, default_value=""), np.array(b"", object)),
        ("i", rows([], tf.int64, allow_missing=True), np.array([1, -2, 3])),
        ("i", rows([3], tf.int64, allow_missing=True), np.array([[1, -2, 3]])),
        ("z", rows([3], tf.int64, allow_missing=True), np.empty((0, 3), np.int64)),
    ],
)
def test_features_of_one_example_are_those_of_tensorflow(any_backend, key, feature, expected):
    found = tf.io.parse_single_example(EXAMPLE, {key: feature})[key]

    assert expected.shape == tuple(found.shape)
    assert expected.tolist() == np.asarray(found).tolist()
    assert any_backend.name == "jax" or expected.dtype == found.dtype


def test_features_come_sorted_by_their_keys():
    wanted = {"i": fixed([3], tf.int64), "b": fixed([2], tf.string)}

    assert ["b", "i"] == list(tf.io.parse_single_example(EXAMPLE, wanted))


def test_several_examples_become_rows():
    wanted = {"i": fixed([3], tf.int64), "b": fixed([2], tf.string)}
    found = tf.io.parse_example([EXAMPLE, EXAMPLE], wanted)

    assert [[1, -2, 3]] * 2 == found["i"].tolist()
    assert [[b"x", b"\xff"]] * 2 == found["b"].tolist()
    assert (0, 3) == tf.io.parse_example(np.array([], object), wanted)["i"].shape
    assert (3,) == tf.io.parse_example(EXAMPLE, wanted)["i"].shape


@pytest.mark.parametrize(("padding", "expected"), [(-1, [7, -1, -1]), (None, [7, 0, 0])])
def test_rows_of_a_batch_are_padded(padding, expected):
    wanted = {"i": rows([], tf.int64, allow_missing=True, default_value=padding)}

    assert [[1, -2, 3], expected] == tf.io.parse_example([EXAMPLE, SHORT], wanted)["i"].tolist()


@pytest.mark.parametrize(
    ("data", "features", "error", "text"),
    [
        (EXAMPLE, {"i": fixed([], tf.int64)}, tf.errors.InvalidArgumentError, "has 3 values; expected 1"),
        (EXAMPLE, {"i": fixed([3], tf.float32)}, tf.errors.InvalidArgumentError, "has a int64_list"),
        (EXAMPLE, {"z": fixed([3], tf.float32)}, tf.errors.InvalidArgumentError, "lacks the feature 'z'"),
        (EXAMPLE, {"z": fixed([3], tf.float32, 1.0)}, tf.errors.InvalidArgumentError, "default of the feature"),
        (EXAMPLE, {"i": fixed([3], tf.int32)}, tf.errors.InvalidArgumentError, "tf.cast"),
        (EXAMPLE, {"i": rows([], tf.int64)}, ValueError, "allow_missing=True"),
        (EXAMPLE, {"i": rows([2], tf.int64, True)}, tf.errors.InvalidArgumentError, "multiple of 2"),
        (EXAMPLE, {"f": fixed([None, 2], tf.float32)}, ValueError, "known sizes"),
        (b"abc\xff", {"i": fixed([3], tf.int64)}, tf.errors.InvalidArgumentError, "no tf.train.Example"),
        (EXAMPLE, {}, ValueError, "at least one"),
        (EXAMPLE, None, ValueError, "at least one"),
        (EXAMPLE, {"i": tf.int64}, ValueError, "expected a FixedLenFeature"),
        ([EXAMPLE], {"i": fixed([3], tf.int64)}, ValueError, "single one"),
        (3, {"i": fixed([3], tf.int64)}, TypeError, "expected text or byte strings"),
    ],
)
def test_what_tensorflow_refuses_is_refused(data, features, error, text):
    with pytest.raises(error, match=text):
        tf.io.parse_single_example(data, features)


def test_examples_have_one_dimension():
    with pytest.raises(tf.errors.InvalidArgumentError, match="one dimension"):
        tf.io.parse_example([[EXAMPLE]], {"i": fixed([3], tf.int64)})


@pytest.mark.parametrize(
    ("data", "indices", "values", "shape"),
    [
        (EXAMPLE, [[0], [1], [2]], [1, -2, 3], [3]),
        ([EXAMPLE, SHORT], [[0, 0], [0, 1], [0, 2], [1, 0]], [1, -2, 3, 7], [2, 3]),
    ],
)
def test_a_feature_of_any_length_is_sparse(data, indices, values, shape):
    if not hasattr(tf, "SparseTensor"):
        with pytest.raises(NotImplementedError, match="FixedLenSequenceFeature"):
            tf.io.parse_example(data, {"i": varying(tf.int64)})
        return
    found = tf.io.parse_example(data, {"i": varying(tf.int64), "q": varying(tf.string)})
    parts = found["i"].indices, found["i"].values, found["i"].dense_shape

    assert [indices, values, shape] == [np.asarray(part).tolist() for part in parts]
    assert [] == np.asarray(found["q"].values).tolist()


@pytest.fixture
def records(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(8):
            numbers = tf.train.Feature(float_list=tf.train.FloatList(value=[number, 1]))
            raw = tf.train.Feature(
                bytes_list=tf.train.BytesList(value=[np.arange(2 + number % 2, dtype=np.uint8).tobytes()])
            )
            made = tf.train.Features(feature={"x": numbers, "raw": raw})
            writer.write(tf.train.Example(features=made).SerializeToString())
    return path


def parsed(record):
    found = tf.io.parse_single_example(record, {"x": fixed([2], tf.float32), "raw": fixed([], tf.string)})
    return found["x"], tf.io.decode_raw(found["raw"], tf.uint8)


def test_a_pipeline_parses_records_and_knows_their_spec_from_the_first(records):
    data = tf.data.TFRecordDataset(records).shuffle(4, seed=1).repeat().map(parsed)

    assert (tf.TensorSpec((2,), tf.float32), tf.TensorSpec((None,), tf.uint8)) == data.element_spec


@pytest.mark.parametrize("wrap", [lambda function: function, tf.function])
def test_replicas_train_on_records(any_backend, names, records, wrap):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    data = tf.data.TFRecordDataset(records).map(wrap(lambda record: parsed(record)[0])).batch(4)

    @tf.function
    def step(batch):
        return strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(batch,)), axis=None)

    assert [10.0, 26.0] == [float(step(batch)) for batch in strategy.experimental_distribute_dataset(data)]


def test_ragged_features_become_rows_as_in_tensorflow():
    def example(values, key="a"):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        return tf.train.Example(features=tf.train.Features(feature={key: feature})).SerializeToString()

    several = [example([1, 2]), example([]), example([3]), example([9], "b")]
    feature = tf.io.RaggedFeature(tf.int64, value_key="a")
    found = tf.io.parse_example(several, {"c": feature})["c"]

    assert [[1, 2], [], [3], []] == found.to_list()
    assert ("int64", "int32") == (found.dtype.name, found.row_splits.dtype.name)
    assert [[1, 2], []] == [
        tf.io.parse_single_example(one, {"c": feature})["c"].tolist() for one in (several[0], several[3])
    ]
    with pytest.raises(NotImplementedError, match=r"expected none.*\. Parse the lengths"):
        tf.io.parse_example(several, {"a": tf.io.RaggedFeature(tf.int64, partitions=["lengths"])})

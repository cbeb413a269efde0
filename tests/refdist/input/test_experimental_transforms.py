import numpy as np
import pytest

import refdist as tf

Dataset, experimental = tf.data.Dataset, tf.data.experimental


@pytest.mark.parametrize(
    ("transformation", "expected"),
    [
        (experimental.unique(), [0, 1, 2, 3]),
        (experimental.take_while(lambda x: x < 2), [0, 1]),
        (experimental.scan(np.int64(0), lambda state, x: (state + x, state)), [0, 0, 1, 3]),
        (experimental.enumerate_dataset(1), [(1, 0), (2, 1), (3, 2), (4, 3)]),
        (experimental.map_and_batch(lambda x: x + 1, 2), [[1, 2], [3, 4]]),
        (experimental.parallel_interleave(Dataset.from_tensors, 2), [0, 1, 2, 3]),
        (experimental.prefetch_to_device("/cpu:0"), [0, 1, 2, 3]),
        (experimental.copy_to_device("/cpu:0"), [0, 1, 2, 3]),
        (experimental.assert_cardinality(4), [0, 1, 2, 3]),
    ],
)
def test_elements_are_those_of_tensorflow(transformation, expected):
    found = Dataset.range(4).apply(transformation).as_numpy_iterator()

    assert expected == [one if isinstance(one, tuple) else one.tolist() for one in found]


def test_others_are_methods_too():
    assert 4 == experimental.cardinality(Dataset.range(4))
    assert 8 == len(list(Dataset.range(4).apply(experimental.shuffle_and_repeat(3, 2))))
    assert [0, 1, 2, 3] == list(Dataset.range(4).batch(2).apply(experimental.unbatch()).as_numpy_iterator())
    assert [0, 1] == list(experimental.Counter().take(2).as_numpy_iterator())
    assert [(1, b"a"), (2, b"b")] == list(experimental.from_list([(1, "a"), (2, "b")]).as_numpy_iterator())
    with pytest.raises(ValueError, match="at least one"):
        experimental.from_list([])


def test_records_of_one_length_are_read(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"HHaaabbbcccF")
    data = tf.data.FixedLengthRecordDataset(str(path), 3, header_bytes=2, footer_bytes=1)

    assert [b"aaa", b"bbb", b"ccc"] == list(data.as_numpy_iterator())
    with pytest.raises(tf.errors.InvalidArgumentError, match="multiple of 5"):
        list(tf.data.FixedLengthRecordDataset(str(path), 5))

import numpy as np
import pytest

import refdist as tf


@pytest.fixture
def path(tmp_path):
    parts = [tf.Variable([1.0, 2.0]), {"a": tf.Variable(3)}]
    return tf.train.Checkpoint(v=tf.Variable(1.0), parts=parts).save(str(tmp_path / "p"))


def test_names_and_shapes_are_listed_as_in_tensorflow(tmp_path, path):
    # What TensorFlow 2.21 lists for the same objects, without the graph of objects, of which there is none.
    expected = [
        ("parts/0/.ATTRIBUTES/VARIABLE_VALUE", [2]),
        ("parts/1/a/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("save_counter/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("v/.ATTRIBUTES/VARIABLE_VALUE", []),
    ]

    assert expected == tf.train.list_variables(path) == tf.train.list_variables(str(tmp_path))


def test_arrays_are_read_by_either_name(path):
    reader = tf.train.load_checkpoint(path)

    assert 1.0 == tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE") == reader.get_tensor("v")
    assert [1.0, 2.0] == tf.train.load_variable(path, "parts/0").tolist()
    assert (True, False) == (reader.has_tensor("v"), reader.has_tensor("w"))
    assert np.dtype("int32") == reader.get_variable_to_dtype_map()["parts/1/a/.ATTRIBUTES/VARIABLE_VALUE"]
    assert [2] == reader.get_variable_to_shape_map()["parts/0/.ATTRIBUTES/VARIABLE_VALUE"]
    assert "parts/0 (float32) [2]" in reader.debug_string()


def test_what_is_not_there_is_told(tmp_path, path):
    with pytest.raises(tf.errors.NotFoundError, match="has no 'w'; expected one of parts/0, "):
        tf.train.load_variable(path, "w")
    with pytest.raises(tf.errors.NotFoundError, match="no checkpoint was saved"):
        (tmp_path / "empty").mkdir()
        tf.train.list_variables(str(tmp_path / "empty"))
    with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
        tf.train.load_checkpoint(str(tmp_path / "nowhere"))

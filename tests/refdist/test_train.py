import numpy as np
import pytest

import refdist as tf


class Layer(tf.Module):
    def __init__(self, value):
        super().__init__()
        self.kernel = tf.Variable([value, value], name="kernel")
        self.parts = [tf.Variable(value), {"inner": tf.Variable(value + 1)}]


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:2])


def test_what_was_saved_is_restored_to_every_copy(tmp_path, strategy):
    with strategy.scope():
        layer = Layer(3.0)
    path = tf.train.Checkpoint(model=layer).save(str(tmp_path / "check" / "point"))
    for variable in layer.variables:
        variable.assign(variable * 0.0)
    tf.train.Checkpoint(model=layer).restore(path).assert_consumed()

    assert [[3.0, 3.0], 3.0, 4.0] == [variable.numpy().tolist() for variable in layer.variables]
    assert [[3.0, 3.0]] * 2 == [copy.numpy().tolist() for copy in layer.kernel.values]


def test_saved_names_are_numbered(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))

    assert [str(tmp_path / "p-1"), str(tmp_path / "p-2")] == [checkpoint.save(str(tmp_path / "p")) for _ in range(2)]


def test_a_value_waits_for_its_variable_however_deep_it_is(tmp_path, strategy):
    path = tf.train.Checkpoint(model=Layer(3.0)).save(str(tmp_path / "p"))
    checkpoint = tf.train.Checkpoint()
    status = checkpoint.restore(path)
    with pytest.raises(AssertionError, match="found no variable"):
        status.assert_consumed()
    with strategy.scope():
        checkpoint.model = tf.Module()
        checkpoint.model.kernel = tf.Variable([0.0, 0.0])

    assert [[3.0, 3.0]] * 2 == [copy.numpy().tolist() for copy in checkpoint.model.kernel.values]


@pytest.mark.parametrize("wrong", [[1.0], 1])
def test_a_checkpoint_that_does_not_fit_restores_nothing(tmp_path, wrong):
    path = tf.train.Checkpoint(a=tf.Variable(5.0), b=tf.Variable(6.0)).save(str(tmp_path / "p"))
    a, b = tf.Variable(1.0), tf.Variable(wrong)
    with pytest.raises((ValueError, TypeError), match="'b'"):
        tf.train.Checkpoint(a=a, b=b).restore(path)

    assert 1.0 == a.numpy()


def test_a_variable_without_a_value_is_reported(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(5.0)).save(str(tmp_path / "p"))
    status = tf.train.Checkpoint(a=tf.Variable(0.0), other=tf.Variable(1.0)).restore(path)
    with pytest.raises(AssertionError, match="other"):
        status.assert_existing_objects_matched()

    assert status is status.expect_partial()


def test_a_missing_or_damaged_file_is_named(tmp_path):
    checkpoint = tf.train.Checkpoint(a=tf.Variable(5.0))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        checkpoint.restore(str(tmp_path / "nowhere"))
    path = checkpoint.save(str(tmp_path / "p"))
    file = tmp_path / "p-1.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="damaged"):
        checkpoint.restore(path)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool"])
def test_every_dtype_survives(tmp_path, dtype):
    original = tf.Variable(np.array([0, 1]).astype(getattr(tf, dtype)))
    path = tf.train.Checkpoint(v=original).save(str(tmp_path / "p"))
    other = tf.Variable(np.array([1, 0]).astype(getattr(tf, dtype)))
    tf.train.Checkpoint(v=other).restore(path)

    assert original.numpy().tolist() == other.numpy().tolist()


def test_a_saved_model_is_loaded_with_plain_or_distributed_variables(tmp_path, strategy):
    with strategy.scope():
        layer = Layer(3.0)
    tf.saved_model.save(layer, str(tmp_path / "model"))
    plain = tf.saved_model.load(str(tmp_path / "model"))
    with strategy.scope():
        distributed = tf.saved_model.load(str(tmp_path / "model"))

    assert (tf.Variable, "MirroredVariable") == (type(plain.kernel), type(distributed.kernel).__name__)
    assert [[3.0, 3.0]] * 2 == [copy.numpy().tolist() for copy in distributed.kernel.values]
    assert 3 == len(plain.variables) == len(plain.trainable_variables)


def test_only_a_module_can_be_saved(tmp_path):
    with pytest.raises(ValueError, match="expected a tf"):
        tf.saved_model.save(3, str(tmp_path))

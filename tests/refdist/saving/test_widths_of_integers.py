"""What has 32 bits in one program may have 64 in another: the iterations of an optimizer have 64 in TensorFlow."""

import numpy as np
import pytest

import refdist as tf


def saved(tmp_path, dtype, values):
    return tf.train.Checkpoint(it=tf.Variable(np.array(values, dtype))).save(str(tmp_path / "c"))


@pytest.mark.parametrize(("before", "after"), [("int32", "int64"), ("int64", "int32"), ("uint32", "uint64")])
def test_integers_of_another_width_are_restored(tmp_path, before, after):
    variable = tf.Variable(np.zeros(2, after))

    tf.train.Checkpoint(it=variable).restore(saved(tmp_path, before, [7, 2**31 - 1])).assert_consumed()

    assert ([7, 2**31 - 1], after) == (variable.numpy().tolist(), variable.numpy().dtype.name)


def test_the_iterations_of_an_optimizer_are_restored_as_64_bits(tmp_path):
    optimizer, counter = tf.keras.optimizers.SGD(), tf.Variable(5, dtype=tf.int64)
    optimizer.iterations.assign(3)
    path = tf.train.Checkpoint(it=optimizer.iterations).save(str(tmp_path / "c"))

    tf.train.Checkpoint(it=counter).restore(path).assert_consumed()

    assert (3, np.int64) == (int(counter), counter.numpy().dtype)


@pytest.mark.parametrize(
    ("before", "after", "value"),
    [
        ("int64", "int32", 2**31),
        ("int64", "int8", 1),
        ("int64", "float32", 1),
        ("int32", "uint64", 1),
        ("float64", "float32", 1),
    ],
)
def test_what_does_not_fit_or_is_of_another_kind_is_refused(tmp_path, before, after, value):
    variable = tf.Variable(np.zeros(1, after))

    with pytest.raises(ValueError, match=f"as {before} of shape .*; expected {after} of shape"):
        tf.train.Checkpoint(it=variable).restore(saved(tmp_path, before, [value]))

    assert [0] == variable.numpy().tolist()

"""What is known of a tensor before there is one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
from tests.generators import dtypes, shapes

Spec = tf.TensorSpec


@given(shape=shapes(), dtype=dtypes(), known=generators.lists(generators.booleans(), min_size=3, max_size=3))
def test_a_tensor_fits_its_own_spec_and_any_with_sizes_left_open(shape, dtype, known):
    array = np.zeros(shape, dtype)
    open_shape = [size if keep else None for size, keep in zip(shape, known, strict=False)]

    assert Spec(shape, dtype).is_compatible_with(array)
    assert Spec(open_shape, dtype).is_compatible_with(array)
    assert Spec(open_shape, dtype).is_compatible_with(Spec(shape, dtype))
    assert Spec(shape, dtype).is_compatible_with(Spec(open_shape, dtype))


@given(shape=shapes(min_dims=1), dtype=dtypes())
def test_another_size_rank_or_dtype_does_not_fit(shape, dtype):
    larger = (shape[0] + 1, *shape[1:])

    assert not Spec(shape, dtype).is_compatible_with(np.zeros(larger, dtype))
    assert not Spec(shape, dtype).is_compatible_with(np.zeros((*shape, 1), dtype))
    assert not Spec(shape, dtype).is_compatible_with(np.zeros(shape[1:], dtype))
    assert not Spec([None] * len(shape), dtype).is_compatible_with(np.zeros((*shape, 1), dtype))
    assert not Spec(shape, dtype).is_compatible_with(np.zeros(shape, np.complex64))


def test_a_spec_is_a_value():
    assert Spec([None, 2], "float32") == Spec((None, 2)) != Spec((1, 2))
    assert 1 == len({Spec([np.int64(2)]), Spec((2,))})
    assert Spec([2], name="x") != Spec([2])
    assert "TensorSpec(shape=(None, 2), dtype=tf.int32, name='x')" == repr(Spec([None, 2], tf.int32, "x"))


def element_spec(count, dataset):
    with tf.using("host", gpus=count):
        strategy = tf.distribute.MirroredStrategy()
        return strategy, strategy.experimental_distribute_dataset(dataset)


@pytest.mark.parametrize("count", [2, 3])
def test_the_spec_of_distributed_data_has_one_for_each_replica_and_fits_what_comes(count):
    _, dataset = element_spec(count, tf.data.Dataset.range(12).batch(6))
    spec = dataset.element_spec

    assert all(spec.is_compatible_with(element) for element in dataset)
    assert repr(spec).startswith("PerReplicaSpec(TensorSpec(shape=(None,)")
    assert count == repr(spec).count(" name=")


def test_per_replica_specs_are_values_that_fit_as_many_replicas_as_they_have():
    (_, two), (_, same), (_, three) = (element_spec(n, tf.data.Dataset.range(12).batch(6)) for n in (2, 2, 3))

    assert two.element_spec == same.element_spec != three.element_spec
    assert hash(two.element_spec) == hash(same.element_spec)
    assert two.element_spec.is_compatible_with(same.element_spec)
    assert not two.element_spec.is_compatible_with(three.element_spec)
    assert not three.element_spec.is_compatible_with(next(iter(two)))
    assert not two.element_spec.is_compatible_with(3)


def test_sizes_that_differ_between_datasets_are_left_open():
    joined = tf.data.Dataset.from_tensors(np.ones((2, 3))).concatenate(tf.data.Dataset.from_tensors(np.ones((4, 3))))

    assert Spec((None, 3), tf.float64) == joined.element_spec


@pytest.mark.parametrize("other", [np.ones((2, 3), np.float32), np.ones((2, 3, 1))])
def test_datasets_of_another_dtype_or_rank_do_not_follow_each_other(other):
    with pytest.raises((ValueError, TypeError), match="expected"):
        tf.data.Dataset.from_tensors(np.ones((2, 3))).concatenate(tf.data.Dataset.from_tensors(other))


def test_a_spec_may_leave_the_shape_open():
    spec = tf.TensorSpec(None, tf.float32)

    assert "TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)" == repr(spec)
    assert spec == tf.TensorSpec(None, tf.float32)
    assert spec != tf.TensorSpec([], tf.float32)
    assert spec.is_compatible_with(tf.constant(1.0))
    assert spec.is_compatible_with(tf.ones([2, 3]))
    assert tf.TensorSpec([2], tf.float32).is_compatible_with(spec)
    assert not spec.is_compatible_with(tf.constant(1))


def test_a_signature_without_a_shape_takes_any(any_backend):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def double(x):
        return x * 2

    assert (2.0, [2.0, 2.0]) == (double(tf.constant(1.0)).tolist(), double(tf.ones([2])).tolist())


def test_a_generator_may_promise_no_shape():
    dataset = tf.data.Dataset.from_generator(lambda: iter([[1.0], [2.0]]), output_signature=tf.TensorSpec(None, float))

    assert [[1.0], [2.0]] == [one.tolist() for one in dataset]


def test_the_shape_of_a_spec_says_what_shapes_of_tensors_say():
    shape = tf.TensorSpec([None, 2]).shape

    assert shape.as_list() == [None, 2]
    assert shape.rank == 2
    assert tf.data.Dataset.from_tensor_slices(np.ones([4, 3])).batch(2).element_spec.shape.as_list() == [None, 3]

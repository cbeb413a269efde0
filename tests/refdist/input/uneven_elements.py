"""Datasets of ragged and sparse tensors, and their elements as data."""

import numpy as np

import refdist as tf

LISTS = [[1, 2], [], [3, 4, 5], [6]]
DEEP = [[[1], [2, 3]], [], [[4, 5, 6]]]
INDICES, VALUES = [[0, 1], [1, 0], [1, 2], [3, 1]], [1.0, 2.0, 3.0, 4.0]
ROW = "RaggedTensorSpec(TensorShape([None]), tf.int32, 0, tf.int64)"
ROWS = "RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)"
ROWS_OF_ROWS = "RaggedTensorSpec(TensorShape([None, None, None]), tf.int32, 2, tf.int64)"


def ragged(lists=LISTS):
    return tf.data.Dataset.from_tensor_slices(tf.ragged.constant(lists))


def sparse():
    return tf.data.Dataset.from_tensor_slices(tf.SparseTensor(INDICES, VALUES, [4, 3]))


def counted():
    return tf.data.Dataset.range(4).map(lambda n: tf.range(n))


def shown(value):
    if isinstance(value, tf.RaggedTensor):
        return "ragged", value.to_list()
    if isinstance(value, tf.SparseTensor):
        return value.indices.tolist(), value.values.tolist(), list(value.shape)
    return tuple(map(shown, value)) if isinstance(value, tuple) else np.asarray(value).tolist()


def answer(dataset):
    return str(dataset.element_spec), [shown(element) for element in dataset]

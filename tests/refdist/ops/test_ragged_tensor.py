import jax
import numpy as np
import pytest

import refdist as tf
from tests.refdist.ops.answers import answers_of, expressions_of
from tests.refdist.ops.comparison import differences, evaluated

ANSWERS = answers_of("ragged_and_sparse")


def test_the_answers_are_those_of_the_expressions():
    assert set(expressions_of("ragged_and_sparse")) == set(ANSWERS)


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_ragged_and_sparse_tensors_answer_as_those_of_tensorflow(backend):
    answers = {one: answer for one, answer in ANSWERS.items() if backend != "jax" or "'a'" not in one}
    with tf.using(backend, cpus=1):
        found = list(filter(None, differences(answers, lambda one: evaluated(one, tf.constant), backend == "jax")))

    assert [] == found


def test_rows_are_listed_and_iterated_over():
    ragged = tf.ragged.constant([[1, 2], [], [3]])

    assert [[1, 2], [], [3]] == ragged.to_list() == [np.asarray(row).tolist() for row in ragged]
    assert "<tf.RaggedTensor [[1, 2], [], [3]]>" == repr(ragged)
    assert [3, None] == list(ragged.shape)
    assert (tf.int32, 1, 3) == (ragged.dtype, ragged.ragged_rank, len(ragged))
    assert [[1, 2], [], [3]] == [row.tolist() for row in ragged.numpy()]
    assert [[1], [2]] == tf.ragged.constant([[1], [2]]).numpy().tolist()


def test_a_ragged_tensor_is_made_into_a_tensor_only_when_asked():
    with pytest.raises(TypeError, match="Use to_tensor"):
        tf.linalg.matmul(tf.ragged.constant([[1.0], []]), tf.constant([[1.0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected rows of one length"):
        tf.ragged.constant([[1], []]) + tf.ragged.constant([[], [1]])


def test_a_function_makes_rows_whose_lengths_it_knows():
    @tf.function
    def padded(values):
        return tf.RaggedTensor.from_row_lengths(values, [2, 0, 1]).to_tensor()

    assert [[1, 2], [0, 0], [3, 0]] == np.asarray(padded(tf.constant([1, 2, 3]))).tolist()
    with pytest.raises(tf.errors.UnimplementedError, match="trace of JAX"):
        jax.jit(lambda splits: tf.RaggedTensor(tf.constant([1]), splits).to_tensor())(np.array([0, 1]))

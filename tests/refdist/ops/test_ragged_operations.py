"""Operations on ragged tensors."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist.ops.answers import answers_of, expressions_of
from tests.refdist.ops.comparison import differences, evaluated

ROWS = [[1.0, 2.0], [], [3.0, 4.0, 5.0]]
DEEP = [[[1], [2, 3]], [], [[4, 5, 6]]]
ANSWERS = answers_of("ragged_uses")  # of TensorFlow 2.21


def test_the_answers_are_those_of_the_expressions():
    assert set(expressions_of("ragged_uses")) == set(ANSWERS)


@pytest.mark.parametrize(("backend", "some"), [("host", "tf"), ("jax", "reduce_sum")])  # JAX compiles each of them anew
def test_operations_on_ragged_tensors_answer_as_those_of_tensorflow(backend, some):
    answers = {one: answer for one, answer in ANSWERS.items() if some in one}
    with tf.using(backend):
        found = list(filter(None, differences(answers, lambda one: evaluated(one, tf.constant), backend == "jax")))

    assert [] == found


def test_a_reduction_that_has_no_way_says_what_to_do():
    with pytest.raises(
        tf.errors.UnimplementedError, match=r"axis=0 .*; expected an axis further inside.* Use to_tensor"
    ):
        tf.reduce_sum(tf.ragged.constant(DEEP), axis=0)
    with pytest.raises(tf.errors.UnimplementedError, match=r"the axes \[1, 2\]; expected one, or None"):
        tf.reduce_mean(tf.ragged.constant(DEEP), axis=[1, 2])


def test_an_operation_that_takes_tensors_only_says_so():
    with pytest.raises(TypeError, match="Use to_tensor"):
        tf.reverse(tf.ragged.constant(ROWS), [1])


def test_tensors_beside_rows_have_one_number_for_each():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"of shape \(3,\) beside it; expected a number, or .*\(3, 1\)"
    ):
        tf.ragged.constant(ROWS) + tf.constant([1.0, 2.0, 3.0])


def test_a_ragged_tensor_equals_nothing_else_and_is_an_object_of_its_own():
    rows = tf.ragged.constant(ROWS)

    assert (rows == None) is False  # noqa: E711
    assert rows in {rows}


def test_gradients_flow_through_rows_and_their_sums():
    # TensorFlow 2.21 answers [2, 4, 6, 8, 10].
    values = tf.Variable([1.0, 2.0, 3.0, 4.0, 5.0])
    with tf.GradientTape() as tape:
        rows = tf.RaggedTensor.from_row_lengths(values * values, [2, 0, 3])
        loss = tf.reduce_sum(tf.reduce_sum(rows, axis=1))

    assert [2.0, 4.0, 6.0, 8.0, 10.0] == np.asarray(tape.gradient(loss, values)).tolist()


def test_replicas_reduce_the_rows_of_their_batches():
    with tf.using("simulator", cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        data = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3, 4, 5], [6]])).batch(4)
        (step,) = strategy.experimental_distribute_dataset(data)
        sums = strategy.run(tf.reduce_sum, args=(step,))

    # TensorFlow 2.21 answers 3 and 18.
    assert [3, 18] == [int(one) for one in strategy.experimental_local_results(sums)]

"""A function in which a shape depends on values runs in Python. TensorFlow 2.21 answers as is written here."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.staging import program_source


@pytest.fixture(autouse=True)
def nothing_told():
    program_source.tell_that_it_runs_in_python.cache_clear()


@pytest.mark.parametrize(
    ("function", "expected", "remedy"),
    [
        (lambda x: tf.boolean_mask(x, x > 1), [3], "Use tf.where"),
        (lambda x: tf.where(x > 1), [[1]], "Pass x and y"),
        (lambda x: tf.unique(x)[0], [1, 3], "Call it outside"),
        (lambda x: tf.unique_with_counts(x)[2], [1, 1], "Call it outside"),
        (lambda x: tf.dynamic_partition(x, x - 1, 3)[2], [3], "Call it outside"),
        (lambda x: tf.math.bincount(x), [0, 1, 0, 1], "minlength and maxlength"),
        (lambda x: tf.sequence_mask(x), [[True, False, False], [True, True, True]], "Pass maxlen"),
        (lambda x: tf.math.segment_sum(x, x - 1), [1, 0, 3], "unsorted_segment_sum"),
        (lambda x: tf.math.confusion_matrix(x - 1, x - 1), [[1, 0, 0], [0, 0, 0], [0, 0, 1]], "Pass num_classes"),
        (lambda x: tf.sparse.from_dense(x - 1).values, [2], "Call it outside"),
        (lambda x: tf.RaggedTensor.from_row_lengths(tf.range(4), x).to_tensor(), [[0, 0, 0], [1, 2, 3]], "to_tensor"),
        (lambda x: tf.RaggedTensor(tf.range(3), (x - 1) * 3 // 2).to_tensor(), [[0, 1, 2]], "to_tensor"),
    ],
)
def test_it_answers_as_without_the_decorator_and_says_once_what_would_be_quicker(
    any_backend, function, expected, remedy
):
    staged, given = tf.function(function), tf.constant([1, 3])

    with pytest.warns(UserWarning, match=f"runs in Python.*{remedy}"):
        first = staged(given)

    assert expected == np.asarray(first).tolist() == np.asarray(staged(given)).tolist()


def test_it_is_found_in_functions_in_branches_and_in_loops(any_backend):
    @tf.function
    def chosen(x):
        return tf.boolean_mask(x, x > 0)

    @tf.function
    def total(x):
        found = tf.reduce_sum(chosen(x)) if tf.reduce_sum(x) >= 0 else tf.reduce_sum(x)
        for _ in tf.range(3):
            found += tf.reduce_sum(tf.boolean_mask(x, x > 0))
        return found

    with pytest.warns(UserWarning, match="runs in Python"):
        assert 4.0 == float(total(tf.constant([1.0, -1.0])))


def test_a_dataset_calls_such_a_function_and_is_told_nothing(any_backend):
    @tf.function
    def mean(x):
        return tf.reduce_mean(tf.boolean_mask(x, x > 0))

    data = tf.data.Dataset.from_tensor_slices([[1.0, -1.0], [2.0, 4.0]]).map(mean)

    assert [1.0, 3.0] == [float(one) for one in data]


def test_replicas_do_in_it_what_they_do_by_themselves(any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])

    def step(total, x):
        def in_replica(x):
            number = tf.distribute.get_replica_context().replica_id_in_sync_group + 1.0
            total.assign_add(tf.reduce_sum(tf.boolean_mask(x, x > 0)) * number)
            return tf.size(tf.where(x > 0))

        return strategy.reduce("SUM", strategy.run(in_replica, args=(x,)), None)

    def made():
        with strategy.scope():
            return tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    alone, staged, given = made(), made(), tf.constant([1.0, -1.0])
    expected = int(step(alone, given))
    with pytest.warns(UserWarning, match="runs in Python"):
        found = int(tf.function(step)(staged, given))

    assert (2, 3.0) == (expected, float(alone)) == (found, float(staged))


def test_a_gradient_goes_through_it(any_backend):
    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(tf.boolean_mask(x, x > 0) ** 2)
        return tape.gradient(total, x)

    with pytest.warns(UserWarning, match="runs in Python"):
        assert [2.0, 0.0] == np.asarray(gradient(tf.constant([1.0, -1.0]))).tolist()


def test_a_size_that_is_known_for_one_kind_of_input_stays_in_the_program(any_backend):
    calls = []

    @tf.function(reduce_retracing=True)
    def lower(x):
        calls.append(x)
        return tf.sequence_mask(tf.shape(x))

    found = [np.asarray(lower(tf.zeros([size]))).tolist() for size in (1, 2, 3, 3)]
    before = len(calls)

    assert [[[True] * size] for size in (1, 2, 3, 3)] == found
    assert [[True] * 3] == np.asarray(lower(tf.zeros([3]))).tolist()
    assert before == len(calls)

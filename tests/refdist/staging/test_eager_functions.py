"""Functions whose bodies run in Python: because all of them are told to, or because they read data."""

import pytest

import refdist as tf


@pytest.fixture
def eagerly():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def test_functions_run_eagerly_says_what_was_asked_for():
    assert not tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    assert tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(False)
    assert not tf.config.functions_run_eagerly()


def test_bodies_really_run_in_python(any_backend, eagerly):
    calls = []

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def body(x):
        calls.append(tf.executing_eagerly())
        return x

    given = [1.0, 2.0]

    assert given is body(given)  # as TensorFlow: neither what comes in nor what goes out is converted
    assert body(given) == given
    assert [True, True] == calls
    assert 0 == body.experimental_get_tracing_count()


def test_replicas_run_them_in_python_too(names, eagerly):
    strategy, seen = tf.distribute.MirroredStrategy(names[:2]), []

    @tf.function
    def step(x):
        replica = tf.distribute.get_replica_context()
        seen.append(int(replica.replica_id_in_sync_group))
        return replica.all_reduce("SUM", x)

    for _ in range(2):
        result = strategy.run(step, args=(tf.constant(1.0),))
    outer = tf.function(lambda: strategy.run(lambda: seen.append(9)))
    outer()

    assert [2.0, 2.0] == [float(value) for value in strategy.experimental_local_results(result)]
    assert [0, 1, 0, 1, 9, 9] == seen


def test_programs_are_back_when_it_is_undone(any_backend):
    calls = []
    body = tf.function(lambda x: calls.append(1) or x + 1.0)
    body(tf.constant(1.0))
    tf.config.run_functions_eagerly(True)
    body(tf.constant(1.0))
    tf.config.run_functions_eagerly(False)

    assert 2.0 == float(body(tf.constant(1.0)))
    assert 2 == len(calls)


@pytest.mark.parametrize("closed_over", [False, True])
def test_the_end_of_data_in_a_function_is_out_of_range(names, closed_over):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    iterator = iter(dataset)
    given = () if closed_over else (iterator,)

    @tf.function
    def step(*arguments):
        return strategy.run(lambda x: x * 2, args=(next(*arguments or (iterator,)),))

    for _ in range(2):
        step(*given)

    for _ in range(2):
        with pytest.raises(tf.errors.OutOfRangeError, match="no more elements"):
            step(*given)


def test_the_end_of_data_in_a_function_is_out_of_range_for_plain_iterators(any_backend):
    iterator = iter(tf.data.Dataset.range(1))
    step = tf.function(lambda: next(iterator))

    assert 0 == int(step())
    with pytest.raises(tf.errors.OutOfRangeError):
        step()


def test_loops_over_data_in_a_function_end_as_ever(any_backend):
    @tf.function
    def total(dataset):
        result = tf.constant(0, tf.int64)
        for element in dataset:
            result += element
        return result

    assert 3 == int(total(tf.data.Dataset.range(3)))


def test_the_end_of_an_iterator_of_python_is_its_own(any_backend):
    dataset = tf.data.Dataset.range(1)

    @tf.function
    def body(given):
        next(iter(given))
        return next(iter(()))

    with pytest.raises(StopIteration):
        body(dataset)

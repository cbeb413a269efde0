"""Programs that take elements from iterators before they run."""

import numpy as np
import pytest

import refdist as tf


def numbers(*values):
    return tf.data.Dataset.from_tensor_slices(np.float32(values))


def test_what_was_read_to_trace_a_body_is_not_lost(any_backend):
    iterator = iter(numbers(1, 2, 3))
    step = tf.function(lambda iterator: next(iterator) * 10)

    step.get_concrete_function(iterator)

    assert 10.0 == float(step(iterator))
    assert [2.0, 3.0] == [float(x) for x in iterator]


def test_what_was_read_by_a_body_that_fails_is_not_lost(any_backend):
    iterator = iter(numbers(1, 2))

    @tf.function
    def step():
        next(iterator)
        raise KeyError("missing")

    with pytest.raises(KeyError):
        step()
    assert [1.0, 2.0] == [float(x) for x in iterator]


def test_the_position_does_not_count_what_was_put_back(any_backend):
    iterator = iter(numbers(1, 2))
    start = iterator.state()

    tf.function(lambda: next(iterator)).get_concrete_function()

    assert start == iterator.state()
    assert 1.0 == float(next(iterator))
    assert 1 == iterator.state()["consumed"]


def test_at_the_end_of_data_nothing_of_the_step_is_applied(any_backend):
    iterator, total = iter(numbers(1, 2, 3)), tf.Variable(0.0)

    @tf.function
    def step():
        total.assign_add(next(iterator))
        total.assign_add(next(iterator))

    step()
    with pytest.raises(tf.errors.OutOfRangeError, match="no more elements"):
        step()

    assert 3.0 == float(total)


def test_text_passes_through(any_backend):
    iterator = iter(tf.data.Dataset.from_tensor_slices((np.float32([1, 2]), np.array(["a", "b"], object))))
    calls = []

    @tf.function
    def step():
        calls.append(1)
        number, text = next(iterator)
        return number * 2, text

    assert [(2.0, b"a"), (4.0, b"b")] == [(float(x), np.asarray(text).item()) for x, text in (step(), step())]
    assert 1 == len(calls)


def test_loops_over_an_iterator_are_loops_of_python(any_backend):
    @tf.function
    def total(iterator):
        result = tf.constant(0.0)
        for x in iterator:
            result += x
        return result

    assert [6.0, 9.0] == [float(total(iter(numbers(*values)))) for values in ((1, 2, 3), (4, 5))]


def test_a_replica_takes_its_own_element_of_a_plain_iterator(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    iterator = iter(numbers(1, 2, 3, 4))
    step = tf.function(lambda: strategy.run(lambda: next(iterator) * 10))

    assert [[10.0, 20.0], [30.0, 40.0]] == [[float(x) for x in step().values] for _ in range(2)]


def test_the_program_can_be_read_without_taking_anything(any_backend):
    iterator = iter(numbers(1, 2))
    step = tf.function(lambda: next(iterator) * 2)

    assert "multiply" in step.experimental_get_compiler_ir()("hlo")
    assert 2.0 == float(step())


@pytest.mark.parametrize("takes", [lambda first, second: second, lambda first, second: (next(first), first)[1]])
def test_a_body_that_takes_other_elements_for_another_size_is_refused(any_backend, takes):
    first, second = (iter(numbers(1, 2, 3).batch(2)) for _ in range(2))
    sizes = []

    @tf.function
    def step(first, second):
        x = next(first if len(sizes) < 2 else takes(first, second))
        sizes.append(x.shape[0])
        return x * int(sizes[-1])  # which has to know the size

    step(first, second)
    with pytest.raises(RuntimeError, match="other elements"):
        step(first, second)


def test_get_next_in_a_function_is_the_next_element(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    iterator = iter(strategy.experimental_distribute_dataset(numbers(1, 2, 3, 4).batch(2)))
    step = tf.function(lambda: strategy.run(lambda x: x * 2, args=(iterator.get_next(),)))

    assert [[[2.0], [4.0]], [[6.0], [8.0]]] == [[np.asarray(x).tolist() for x in step().values] for _ in range(2)]
    with pytest.raises(tf.errors.OutOfRangeError):
        step()

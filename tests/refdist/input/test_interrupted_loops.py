"""A loop that Ctrl-C interrupts at any moment goes on exactly, or says that it cannot."""

import itertools
import sys

import numpy as np
import pytest

import refdist as tf
from refdist._core.input.optional import Optional
from tests.interrupts import interrupted

# Where the interrupt comes while Python closes a generator that nobody needs any more, Python itself swallows it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

Dataset = tf.data.Dataset

PIPELINES = {
    "range": lambda: Dataset.range(6),
    "batch": lambda: Dataset.range(7).batch(2),
    "shuffle": lambda: Dataset.range(6).shuffle(6, seed=3),
    "shuffle without a seed": lambda: Dataset.range(6).shuffle(3).batch(2),
    "map": lambda: Dataset.range(6).map(lambda x: x * 2),
    "parallel map": lambda: Dataset.range(6).map(lambda x: x * 2, num_parallel_calls=2),
    "repeat": lambda: Dataset.range(3).map(lambda x: x).repeat(2),
    "filter and prefetch": lambda: Dataset.range(9).filter(lambda x: x % 2 == 0).prefetch(2),
    "cache": lambda: Dataset.range(3).shuffle(3, seed=1).cache().repeat(2),
    "flat_map": lambda: Dataset.range(3).flat_map(lambda x: Dataset.range(x + 1).shuffle(3, seed=2)),
    "nests": lambda: Dataset.zip({"a": Dataset.range(4), "b": Dataset.range(4).shuffle(4)}).batch(2),
    "rebatch": lambda: Dataset.range(7).batch(2).rebatch(3),
    "padded_batch": lambda: Dataset.range(4).map(lambda n: np.full(int(n), n)).padded_batch(2),
    "window": lambda: Dataset.range(5).window(2).flat_map(lambda window: window.batch(2)),
}


def plain(element):
    if isinstance(element, Optional):
        return plain(element.get_value())
    if not isinstance(element, (list, tuple, dict, np.ndarray)) and hasattr(element, "values"):
        return [np.asarray(part).tolist() for part in element.values]
    if isinstance(element, dict):
        return {key: plain(part) for key, part in element.items()}
    return np.asarray(element).tolist()


if sys.version_info[:2] == (3, 12):
    del PIPELINES["parallel map"]  # the tracer of Python 3.12 ends the process where there are other threads


def interrupted_everywhere(make, step):
    """Interrupt the second step of a loop at one place after the other, until it is not interrupted any more."""
    for number in itertools.count():
        iterator, untouched = make()
        first = step(iterator)
        state, got = iterator.state(), []
        hit = interrupted(lambda: got.append(step(iterator)), number, ("refdist._core.input",))  # noqa: B023 - called at once
        if hit:
            assert state == iterator.state()
        yield first, got, iterator, untouched
        if not hit:
            assert number > 5
            return


@pytest.mark.parametrize("name", PIPELINES)
def test_an_interrupted_loop_over_a_dataset_loses_and_repeats_nothing(name):
    def make():
        dataset = PIPELINES[name]()
        iterator, untouched = iter(dataset), iter(dataset)
        untouched.restore(iterator.state())
        return iterator, untouched

    for first, got, iterator, untouched in interrupted_everywhere(make, next):
        expected = [plain(element) for element in untouched]
        assert expected == [plain(element) for element in [first, *got, *iterator]]


@pytest.mark.parametrize("step", [next, lambda one: one.get_next(), lambda one: one.get_next_as_optional()])
@pytest.mark.parametrize("name", ["batch", "shuffle without a seed", "nests"])
def test_an_interrupted_loop_of_several_replicas_loses_and_repeats_nothing(name, step):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()

    def make():
        dataset = strategy.experimental_distribute_dataset(PIPELINES[name]())
        iterator, untouched = iter(dataset), iter(dataset)
        untouched.restore(iterator.state())
        return iterator, untouched

    for first, got, iterator, untouched in interrupted_everywhere(make, step):
        expected = [plain(element) for element in untouched]
        assert expected == [plain(element) for element in [first, *got, *iterator]]


def test_a_loop_over_a_function_of_the_user_says_that_it_was_interrupted():
    calls = []

    def numbers():
        calls.append(len(calls))
        for number in range(6):
            if number == 2 and len(calls) == 1:
                raise KeyboardInterrupt
            yield number

    iterator = iter(Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int64)))
    assert [0, 1] == [int(next(iterator)) for _ in range(2)]
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="interrupted"):
            next(iterator)
    iterator.restore(iterator.state())

    assert [2, 3, 4, 5] == [int(x) for x in iterator]


def test_a_list_of_batches_goes_on_after_an_interrupt():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()

    def make():
        dataset = strategy.experimental_distribute_dataset([np.arange(4), np.arange(4, 6), np.arange(6, 10)])
        return iter(dataset), iter(dataset)

    for first, got, iterator, untouched in interrupted_everywhere(make, next):
        expected = [plain(element) for element in untouched]
        assert expected == [plain(element) for element in [first, *got, *iterator]]

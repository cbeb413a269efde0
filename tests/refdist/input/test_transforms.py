"""Stages that choose, repeat, join or reorder elements: what comes out, and how many they say there are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from tests.thorough import examples

Dataset = tf.data.Dataset
INFINITE, UNKNOWN = tf.data.INFINITE_CARDINALITY, tf.data.UNKNOWN_CARDINALITY

counts = generators.integers(0, 6)
STAGES = {
    "take": (lambda data, n: data.take(n), lambda rows, n: rows[:n]),
    "take all": (lambda data, n: data.take(-1), lambda rows, n: rows),
    "skip": (lambda data, n: data.skip(n), lambda rows, n: rows[n:]),
    "skip all": (lambda data, n: data.skip(-1), lambda rows, n: []),
    "repeat": (lambda data, n: data.repeat(n), lambda rows, n: rows * n),
    "shard first": (lambda data, n: data.shard(n + 1, 0), lambda rows, n: rows[:: n + 1]),
    "shard last": (lambda data, n: data.shard(n + 1, n), lambda rows, n: rows[n :: n + 1]),
    "concatenate": (lambda data, n: data.concatenate(Dataset.range(n)), lambda rows, n: rows + list(range(n))),
    "prefetch": (lambda data, n: data.prefetch(n), lambda rows, n: rows),
    "cache": (lambda data, n: data.cache(), lambda rows, n: rows),
    "batch and back": (lambda data, n: data.batch(n + 1).unbatch(), lambda rows, n: rows),
}


@given(
    total=generators.integers(0, 9),
    chain=generators.lists(generators.tuples(generators.sampled_from(sorted(STAGES)), counts), max_size=4),
)
@settings(max_examples=examples(60, 150))
def test_a_chain_delivers_what_the_same_does_to_a_list_and_knows_how_many(total, chain):
    data, rows = Dataset.range(total), list(range(total))
    for name, number in chain:
        stage, on_list = STAGES[name]
        data, rows = stage(data, number), on_list(rows, number)

    assert rows == [int(row) for row in data]
    said = int(data.cardinality())
    if any(name == "batch and back" for name, _ in chain):
        assert said in (len(rows), UNKNOWN)
    else:
        assert len(rows) == said


@given(total=generators.integers(0, 9), size=generators.integers(1, 4), drop=generators.booleans())
def test_the_number_of_batches_is_known(total, size, drop):
    data = Dataset.range(total).batch(size, drop_remainder=drop)

    assert len(list(data)) == int(data.cardinality()) == (total // size if drop else -(-total // size))


@given(lengths=generators.lists(generators.integers(0, 5), min_size=1, max_size=3))
def test_side_by_side_there_are_as_many_as_the_shortest_has(lengths):
    data = Dataset.zip(tuple(Dataset.range(length) for length in lengths))

    assert min(lengths) == len(list(data)) == int(data.cardinality())


@pytest.mark.parametrize(
    ("expected", "data"),
    [
        (INFINITE, Dataset.range(3).repeat()),
        (INFINITE, Dataset.range(3).repeat(-1).batch(2)),
        (INFINITE, Dataset.range(3).repeat().skip(2)),
        (INFINITE, Dataset.range(3).repeat().repeat(2)),
        (INFINITE, Dataset.range(3).concatenate(Dataset.range(3).repeat())),
        (INFINITE, Dataset.range(3).filter(lambda x: True).concatenate(Dataset.range(3).repeat())),
        (INFINITE, Dataset.zip((Dataset.range(3).repeat(), Dataset.range(2).repeat()))),
        (2, Dataset.zip((Dataset.range(3).repeat(), Dataset.range(2)))),
        (5, Dataset.range(3).repeat().take(5)),
        (0, Dataset.range(3).repeat().take(0)),
        (0, Dataset.range(0).repeat()),
        (0, Dataset.range(3).repeat(0)),
        (UNKNOWN, Dataset.range(3).filter(lambda x: True).repeat(2)),
        (UNKNOWN, Dataset.range(3).filter(lambda x: True).concatenate(Dataset.range(3))),
        (UNKNOWN, Dataset.zip((Dataset.range(3).filter(lambda x: True), Dataset.range(2)))),
        (INFINITE, Dataset.range(3).filter(lambda x: True).repeat()),
    ],
)
def test_without_end_or_unknown_is_said(expected, data):
    assert expected == int(data.cardinality())


def test_elements_are_numbered_from_a_start():
    assert [(5, 0), (6, 1)] == [(int(i), int(x)) for i, x in Dataset.range(2).enumerate(5)]
    assert [np.int64] * 2 == [i.dtype for i, _ in Dataset.range(2).enumerate()]
    assert 2 == int(Dataset.range(2).enumerate().cardinality())


class TestCache:
    """The elements of the first complete pass are kept."""

    def counted(self, n=3):
        calls = []
        return calls, Dataset.range(n).map(lambda x: calls.append(1) or x).cache()

    def test_a_second_pass_makes_nothing_anew(self):
        calls, data = self.counted()
        first, second = ([int(x) for x in data] for _ in range(2))

        assert ([0, 1, 2], 3) == (first, len(calls))
        assert first == second

    def test_a_pass_that_was_left_early_keeps_nothing(self):
        calls, data = self.counted()
        next(iter(data))

        assert [0, 1, 2] == [int(x) for x in data]
        assert 3 <= len(calls) - 1
        assert [0, 1, 2] == [int(x) for x in data]

    def test_what_was_shuffled_stays_in_its_order(self):
        data = Dataset.range(20).shuffle(20).cache()

        assert [int(x) for x in data] == [int(x) for x in data]

    def test_what_comes_after_it_is_made_anew(self):
        calls, data = self.counted()
        after = data.map(lambda x: calls.append(2) or x)
        for _ in range(2):
            list(after)

        assert (3, 6) == (calls.count(1), calls.count(2))


class TestShuffle:
    """Elements are mixed within a buffer."""

    @given(total=generators.integers(0, 30), buffer=generators.integers(1, 40), seed=generators.integers(0, 99))
    def test_no_element_comes_before_it_could_be_in_the_buffer(self, total, buffer, seed):
        order = [int(x) for x in Dataset.range(total).shuffle(buffer, seed=seed)]

        assert list(range(total)) == sorted(order)
        # When the n-th element leaves, n - 1 have left before, and so many more than the buffer holds have been seen.
        assert all(element < place + buffer for place, element in enumerate(order))

    def test_a_buffer_of_one_mixes_nothing(self):
        assert list(range(9)) == [int(x) for x in Dataset.range(9).shuffle(1, seed=3)]

    def test_passes_with_a_seed_are_the_same_in_every_program(self):
        def passes():
            data = Dataset.range(20).shuffle(20, seed=4)
            return [[int(x) for x in data] for _ in range(3)]

        first, second, third = passes()

        assert [first, second, third] == passes()
        assert 3 == len({tuple(first), tuple(second), tuple(third)})

    def test_told_so_every_pass_is_the_same(self):
        data = Dataset.range(20).shuffle(20, seed=4, reshuffle_each_iteration=False)

        assert [int(x) for x in data] == [int(x) for x in data]

    def test_each_repetition_is_mixed_anew(self):
        order = [int(x) for x in Dataset.range(20).shuffle(20, seed=4).repeat(2)]

        assert list(range(20)) == sorted(order[:20]) == sorted(order[20:])
        assert order[:20] != order[20:]


@pytest.mark.parametrize(("count", "index"), [(2, 2), (2, -1), (0, 0)])
def test_a_shard_that_is_not_there_is_refused(count, index):
    with pytest.raises(ValueError, match="expected"):
        Dataset.range(4).shard(count, index)

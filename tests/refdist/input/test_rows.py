"""Orders of rows as streams of blocks: each change does to the rows what the same does to a list."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from refdist._core.input.rows import Rows, chunks, repeated, sharded, shuffled, skipped, taken

small = generators.integers(0, 6)
ranges = generators.builds(
    lambda start, count, step: range(start, start + count * step, step), small, small, generators.integers(1, 3)
)
blocks = ranges | generators.lists(generators.integers(0, 99), max_size=6).map(lambda rows: np.array(rows, np.int64))
streams = generators.lists(blocks, max_size=5)


def rows_of(stream):
    """The numbers of the rows in a stream, in order."""
    return [int(row) for block in stream for row in block]


@given(stream=streams, size=generators.integers(1, 5), drop=generators.booleans())
@settings(max_examples=40)
def test_chunks_are_of_one_size_and_keep_all_rows_in_order(stream, size, drop):
    cut, rows = list(chunks(iter(stream), size, drop)), rows_of(stream)
    kept = rows[: len(rows) // size * size] if drop else rows

    assert kept == rows_of(cut)
    assert {size} >= {len(block) for block in cut[:-1]}
    assert all(0 < len(block) <= size for block in cut)


def test_a_chunk_within_one_range_stays_a_range_and_so_copies_nothing():
    assert [range(4), range(4, 8), range(8, 9)] == list(chunks(iter([range(9)]), 4))


@given(stream=streams, count=generators.integers(1, 5))
@settings(max_examples=40)
def test_the_shards_have_every_row_once(stream, count):
    rows = rows_of(stream)
    shares = [rows_of(sharded(iter(stream), count, index)) for index in range(count)]

    assert [rows[index::count] for index in range(count)] == shares


@given(stream=streams, count=generators.integers(-2, 20))
@settings(max_examples=40)
def test_what_is_taken_and_what_is_skipped_are_the_whole(stream, count):
    rows = rows_of(stream)
    first, rest = rows_of(taken(iter(stream), count)), rows_of(skipped(iter(stream), count))

    assert all(map(len, skipped(iter(stream), count))), "no block without rows is left"
    assert (rows, []) == (first, rest) if count < 0 else (rows[:count], rows[count:]) == (first, rest)


def test_taking_reads_no_block_after_the_last_that_it_needs():
    def stream():
        yield range(3)
        yield range(3, 6)
        raise AssertionError("read too far")

    assert [0, 1, 2, 3] == rows_of(taken(stream(), 4))
    assert [0, 1, 2, 3, 4, 5] == rows_of(taken(stream(), 6))


@given(stream=streams, count=small)
@settings(max_examples=40)
def test_repeated_rows_come_as_often_as_asked(stream, count):
    assert rows_of(stream) * count == rows_of(repeated(lambda: iter(stream), count))


def test_rows_are_repeated_without_end_unless_there_are_none():
    endless = repeated(lambda: iter([range(2)]), -1)

    assert [0, 1] * 3 == rows_of(itertools.islice(endless, 3))
    assert [] == rows_of(repeated(lambda: iter([range(0), range(0)]), -1))


@given(stream=streams, buffer=generators.integers(1, 12), seed=small)
@settings(max_examples=40)
def test_shuffled_rows_are_the_same_rows_and_none_comes_before_it_was_in_the_buffer(stream, buffer, seed):
    rows = rows_of(stream)
    numbered = iter(chunks(iter([range(len(rows))]), 3))  # numbers say where a row was
    order = rows_of(shuffled(numbered, buffer, np.random.default_rng(seed)))

    assert list(range(len(rows))) == sorted(order)
    assert all(row < place + buffer for place, row in enumerate(order))
    again = rows_of(shuffled(iter([range(len(rows))]), buffer, np.random.default_rng(seed)))
    assert order == again, "however the stream is cut"


@pytest.mark.parametrize("buffer", [5, 50])
def test_a_buffer_lets_every_row_come_first_sometimes(buffer):
    first = {rows_of(shuffled(iter([range(20)]), buffer, np.random.default_rng(seed)))[0] for seed in range(200)}

    assert set(range(min(buffer, 20))) == first


def test_what_is_left_in_the_buffer_at_the_end_is_mixed_too():
    orders = [rows_of(shuffled(iter([range(20)]), 19, np.random.default_rng(seed))) for seed in range(50)]

    assert len({order[1] for order in orders}) > 10


def test_the_same_rows_in_another_order_are_taken_in_the_same_way():
    rows = Rows(lambda block: ("took", block), lambda: iter([range(4)]))
    other = rows.with_blocks(lambda: skipped(rows.blocks(), 3))

    assert [("took", range(3, 4))] == [other.take(block) for block in other.blocks()]
    assert [range(4)] == list(rows.blocks()), "the first order is what it was"

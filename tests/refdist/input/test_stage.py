"""What every stage offers to the one after it, and what the stages of one pass share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.input import stage as stages
from refdist._core.input.stage import UNKNOWN_CARDINALITY, Iteration, Skip, Stage, row_of, split

Dataset = tf.data.Dataset
PIPELINES = {
    "rows": lambda: Dataset.range(12),
    "each": lambda: Dataset.from_generator(lambda: iter(range(12)), output_signature=tf.TensorSpec((), tf.int64)),
    "map": lambda: Dataset.range(12).map(lambda x: x * 2),
    "filter": lambda: Dataset.range(24).filter(lambda x: x % 2 == 0),
    "shuffle": lambda: Dataset.range(12).shuffle(5, seed=3, reshuffle_each_iteration=False),
    "repeat": lambda: Dataset.range(4).repeat(3),
    "shard": lambda: Dataset.range(24).shard(2, 1),
    "flat_map": lambda: Dataset.range(4).flat_map(lambda x: Dataset.range(3)),
}


def numbers(stage):
    return [int(element) for element in stage.elements(Iteration())]


@given(name=generators.sampled_from(sorted(PIPELINES)), done=generators.integers(0, 13))
@settings(max_examples=40)
def test_what_is_left_after_some_elements_is_what_comes_after_them(name, done):
    stage = PIPELINES[name]().stage

    assert numbers(stage)[done:] == numbers(stage.resumed(done))


@given(name=generators.sampled_from(sorted(PIPELINES)), taken=generators.integers(0, 12))
@settings(max_examples=25)
def test_a_position_counts_the_elements_of_the_stage_that_it_is_anchored_to(name, taken):
    stage, iteration = PIPELINES[name]().stage, Iteration()
    anchor = iteration.anchor = stage.anchor()
    elements = stage.elements(iteration)
    for _ in range(taken):
        next(elements)
        iteration.count(anchor, 1)
        iteration.count(Stage(), 5)  # those of another stage do not count

    assert taken == iteration.consumed
    assert anchor is (stage.inputs[0] if name == "map" else stage)


@pytest.mark.parametrize("name", sorted(set(PIPELINES) - {"rows", "each"}))
def test_the_same_stage_over_another_input_leaves_the_first_as_it_was(name):
    stage = PIPELINES[name]().stage
    before = numbers(stage)
    other = stage.over(Dataset.range(2).stage)

    assert (type(stage), 2) == (type(other), numbers(other.inputs[0])[-1] + 1)
    assert before == numbers(stage)


def test_a_walk_meets_the_nearest_stage_first_and_every_branch():
    both = Dataset.zip((Dataset.range(3).map(lambda x: x), Dataset.range(2).repeat())).batch(2).stage

    assert ["BatchDataset", "ZipDataset", "MapDataset", "RangeDataset", "RepeatDataset", "RangeDataset"] == [
        stage.name for stage in both.walk()
    ]


@pytest.mark.parametrize(
    ("total", "count", "expected"),
    [(9, 4, 5), (9, 20, 0), (9, -1, 0), (-1, 4, -1), (-1, -1, 0), (-2, 4, -2), (-2, -1, UNKNOWN_CARDINALITY)],
)
def test_how_many_are_left_is_known_where_it_was_known(total, count, expected):
    class Counted(Stage):
        def cardinality(self):
            return total

    assert expected == Skip(Counted(), count).cardinality()


def test_skipping_everything_is_certainly_empty_and_calls_nobody():
    def refuse(x):
        raise AssertionError

    skipped = Skip(Dataset.range(3).map(refuse).stage, -1)

    assert skipped.is_empty()
    assert [] == numbers(skipped)
    assert not Skip(Dataset.range(3).stage, 3).is_empty(), "what a count leaves is not looked at"


class TestSeeds:
    """What determines the order of a shuffle in one pass."""

    def shuffle(self, **options):
        return Dataset.range(9).shuffle(9, **options).stage

    def draw(self, iteration, shuffle):
        return int(iteration.generator(shuffle).integers(2**60))

    def test_two_passes_differ_and_the_same_pass_of_another_program_does_not(self):
        first, second = self.shuffle(seed=1), self.shuffle(seed=1)
        passes = [[self.draw(Iteration(), one) for _ in range(3)] for one in (first, second)]

        assert passes[0] == passes[1]
        assert 3 == len(set(passes[0]))

    def test_each_time_that_a_shuffle_starts_over_in_a_pass_differs_unless_it_is_fixed(self):
        for reshuffles, orders in ((True, 3), (False, 1)):
            shuffle, iteration = self.shuffle(seed=1, reshuffle_each_iteration=reshuffles), Iteration()
            assert orders == len({self.draw(iteration, shuffle) for _ in range(3)})

    def test_only_looking_uses_up_no_pass(self):
        looked_at, other = self.shuffle(seed=1), self.shuffle(seed=1)
        self.draw(Iteration(peeking=True), looked_at)

        assert self.draw(Iteration(), other) == self.draw(Iteration(), looked_at)

    def test_a_pass_that_is_resumed_has_the_seed_of_that_pass_and_the_next_one_follows_it(self):
        resumed, other = self.shuffle(seed=1), self.shuffle(seed=1)
        passes = [Iteration() for _ in range(5)]
        draws = [self.draw(one, other) for one in passes]
        iteration = Iteration()
        iteration.start_shuffle(resumed, passes[3].seed_of(other))

        assert (draws[3], draws[4]) == (self.draw(iteration, resumed), self.draw(Iteration(), resumed))

    def test_a_shuffle_that_has_not_started_has_no_seed_yet(self):
        assert Iteration().seed_of(self.shuffle(seed=1)) is None

    def test_a_shuffle_without_a_seed_is_noted_in_the_pass_and_in_those_around_it(self):
        outer = Iteration()
        self.draw(outer.inner(), self.shuffle(seed=1))
        assert [] == outer.unseeded
        self.draw(outer.inner(), self.shuffle())
        assert [True] == outer.unseeded

    def test_a_dataset_made_during_a_pass_is_numbered_within_it(self):
        def draws():
            outer, inner = Iteration(), self.shuffle(seed=1)
            return [self.draw(outer.inner(), inner) for _ in range(3)]

        assert draws() == draws()
        assert 3 == len(set(draws()))


def test_rows_of_a_batch_are_taken_apart_leaf_by_leaf_and_texts_stay_whole():
    texts = np.array([b"a\x00", b"bcd"], dtype=object)
    batch = {"x": np.arange(4).reshape(2, 2), "y": (texts,)}
    first, second = split(batch, range(2))

    assert ([0, 1], b"a\x00") == (first["x"].tolist(), first["y"][0].item())
    assert ([2, 3], b"bcd") == (second["x"].tolist(), second["y"][0].item())
    assert [0, 1, 2] == [int(row) for row in split(np.arange(3), range(3))]
    assert (object, ()) == (row_of(texts, 0).dtype, row_of(texts, 0).shape)


@pytest.mark.parametrize(("bytes_of_a_row", "largest"), [(8, 4096), (1 << 20, 4), (1 << 23, 1)])
def test_as_many_rows_are_taken_at_once_as_fit_into_a_block(bytes_of_a_row, largest):
    taken = []

    class Counting(Stage):
        def rows(self, iteration):
            def take(block):
                taken.append(len(block))
                return np.broadcast_to(np.int8(0), (len(block), bytes_of_a_row))

            return stages.Rows(take, lambda: iter([range(10_000)]))

    elements = Counting().elements(Iteration())
    for _ in range(5000 if bytes_of_a_row < 100 else 50):
        next(elements)

    assert 16 == taken[0], "a loop that ends early has taken little"
    assert {largest} == set(taken[1:])

"""Where random numbers come from: which draws are the same, which follow each other, and which are new."""

import numpy as np
import pytest

from refdist._core.base.entropy import (
    ENTROPY,
    ProgramEntropy,
    generator,
    operation_stream,
    program_stream,
    set_seed,
)
from refdist._core.base.philox import skipped

LARGEST = 2**31 - 1


@pytest.fixture(autouse=True)
def unseeded():
    set_seed(None)
    yield
    set_seed(None)


def words(stream):
    return tuple(int(word) for word in stream)


def drawn(seed=None, kernel="uniform", blocks=1):
    return words(operation_stream(seed, kernel, blocks))


def after(seed, *draws):
    """The streams that some draws have after a seed was set; a draw is a seed of its own, or None."""
    set_seed(seed)
    return [drawn(own) for own in draws]


def test_a_seed_makes_all_that_follows_the_same():
    draws = (None, None, 3, None, 3)

    assert after(7, *draws) == after(7, *draws) != after(8, *draws)
    assert 5 == len(set(after(7, *draws)))


def test_without_any_seed_every_draw_is_new_also_after_the_seed_was_taken_away():
    set_seed(1)
    seeded = [drawn() for _ in range(3)]
    unseeded = [one for _ in range(2) for one in after(None, None, None, None)]

    assert 9 == len({*seeded, *unseeded})


def test_draws_with_one_seed_follow_each_other_block_by_block():
    first = operation_stream(5, "uniform", 10)
    second, third = operation_stream(5, "uniform", 4), operation_stream(5, "uniform", 1)

    assert words(skipped(first, np.uint32(10))) == words(second)
    assert words(skipped(first, np.uint32(14))) == words(third)


def test_each_kernel_and_each_seed_counts_by_itself():
    first = drawn(5, "uniform", 10)

    assert first == drawn(5, "normal", 10), "another kernel begins at the beginning"
    assert first != drawn(6, "uniform", 10)
    assert after(None, 5) == [first], "and a seed that is set begins anew"


@pytest.mark.parametrize(("seed", "same"), [(5, 5 + LARGEST), (0, LARGEST), (-1, LARGEST - 1)])
def test_seeds_that_differ_by_a_whole_round_are_the_same(seed, same):
    assert after(1, seed) == after(1, same)
    assert after(seed, 1) == after(same, 1)


def test_two_seeds_of_zero_are_seeds_all_the_same():
    (both,) = after(0, 0)

    assert (0, 0) == both[:2]
    assert LARGEST == both[4], "as TensorFlow has it, which takes zeros for no seeds"


def test_the_generator_of_the_process_starts_over_with_a_seed():
    set_seed(3)
    first = generator().integers(100, size=5).tolist()
    following = generator().integers(100, size=5).tolist()
    set_seed(3)

    assert first == generator().integers(100, size=5).tolist() != following


class TestPrograms:
    """What the runs of a compiled program draw from."""

    def stream(self, entropy, seed=None, turn=0, replica=0, blocks=1):
        return words(program_stream(entropy, seed, turn, replica, blocks))

    def test_the_words_of_a_run_have_the_shape_that_programs_expect(self):
        run = ProgramEntropy()()

        assert ENTROPY == (run.shape, run.dtype)

    def test_runs_of_a_program_have_new_numbers_and_those_with_a_seed_of_their_own_follow_each_other(self):
        runs = ProgramEntropy()
        first, second = runs(), runs()

        assert self.stream(first) != self.stream(second)
        assert self.stream(second, seed=5, blocks=8) == words(skipped(program_stream(first, 5, 0, 0, 8), np.uint32(8)))

    def test_a_seed_makes_the_runs_the_same_in_every_process_and_begins_anew(self):
        runs, other = ProgramEntropy(), ProgramEntropy()
        seen = []
        for one in (runs, other, runs):
            set_seed(9)
            seen.append([one().tolist() for _ in range(3)])

        assert seen[0] == seen[1] == seen[2]
        assert 3 == len({tuple(run) for run in seen[0]})

    def test_every_turn_and_every_replica_has_numbers_of_its_own(self):
        run = ProgramEntropy()()
        streams = {self.stream(run, turn=turn, replica=np.int32(replica)) for turn in range(3) for replica in range(3)}

        assert 9 == len(streams)
        assert self.stream(run, replica=np.int32(0)) == self.stream(run, replica=0), "a single replica is the first"

    def test_a_seed_of_its_own_is_the_same_on_all_replicas_and_in_every_turn(self):
        run = ProgramEntropy()()

        assert 1 == len({self.stream(run, seed=4, turn=turn, replica=turn) for turn in range(3)})
        assert self.stream(run, seed=4) != self.stream(run, seed=5)

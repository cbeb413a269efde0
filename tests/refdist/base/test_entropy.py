"""Where random numbers come from: which draws are the same, which follow each other, and which are new."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.base.entropy import (
    ENTROPY,
    RUNS,
    ElementDraws,
    FunctionDraws,
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

    def stream(self, entropy, turn=0, replica=0, blocks=1):
        return words(program_stream(entropy, turn, replica, blocks))

    def test_the_words_of_a_run_have_the_shape_that_programs_expect(self):
        run = ProgramEntropy()()

        assert ENTROPY == (run.shape, run.dtype)

    def test_runs_of_a_program_have_new_numbers(self):
        runs = ProgramEntropy()

        assert self.stream(runs()) != self.stream(runs())

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


class TestFunctions:
    """How operations are numbered in a function, as TensorFlow numbers them in its graph."""

    def test_an_operation_without_a_seed_has_its_number_as_one(self):
        set_seed(5)
        draws, none = FunctionDraws(), np.uint32(0)
        seeds = [words(draws.stream(seed, none, 1))[4] for seed in (None, 7, None, None)]

        assert [0, 7, 1, 2] == seeds

    def test_the_seed_of_the_process_is_that_of_the_time_of_tracing(self):
        set_seed(5)
        draws = FunctionDraws()
        set_seed(6)

        assert 5 == words(draws.stream(None, np.uint32(0), 1))[0]
        assert FunctionDraws().decides(None)
        set_seed(None)
        assert (False, True) == (FunctionDraws().decides(None), FunctionDraws().decides(3))

    def test_the_stream_of_an_operation_goes_on_from_run_to_run(self):
        set_seed(5)
        first, third = (FunctionDraws().stream(None, np.uint32(runs), 8) for runs in (0, 2))

        assert words(third) == words(skipped(first, np.uint32(16)))
        assert words(third) == words(ElementDraws(2).draw(None, 8))
        set_seed(None)
        assert ElementDraws(2).draw(None, 8) is None

    def test_replicas_number_their_operations_one_after_the_other_up_to_each_meeting(self):
        set_seed(5)
        draws, shares = FunctionDraws(), []
        first = words(draws.stream(None, np.uint32(0), 1))[4]

        def seed(meeting, replica, run):
            found = draws.stream_in_replica(meeting, replica, shares, run, np.int32(replica), 3, 1)
            return words(found)[4]

        def traced(run):
            return [[seed(meeting, replica, run) for meeting in (0, 0, 1)] for replica in range(3)]

        traced(ProgramEntropy()())
        sizes = ProgramEntropy([one.size for one in shares])()
        for one in shares:
            one.drawn.clear()

        # One before them; then two of each replica before they meet, and one of each after that.
        assert ([2, 1], 0) == (sizes[RUNS + 1 : RUNS + 3].tolist(), first)
        assert [[1, 2, 7], [3, 4, 8], [5, 6, 9]] == traced(sizes)
        assert 10 == words(draws.stream(None, np.uint32(0), 1))[4]

    def test_replicas_that_meet_very_often_draw_by_another_way(self):
        set_seed(5)
        draws, shares, run = FunctionDraws(), [], ProgramEntropy()()
        found = [draws.stream_in_replica(n, 0, shares, run, np.int32(0), 3, 1) for n in range(20)]

        assert found[0] is not None
        assert found[-1] is None


@pytest.mark.parametrize("seed", [[1], "a", {}])
def test_a_seed_that_is_no_number_is_refused_and_the_last_one_stays(seed):
    tf.random.set_seed(7)
    before = np.asarray(tf.random.uniform([4])).tolist()
    tf.random.set_seed(7)

    with pytest.raises(TypeError, match=r"set_seed\(\) got .*; expected an integer, or None"):
        tf.random.set_seed(seed)
    assert before == np.asarray(tf.random.uniform([4])).tolist()

"""A function keeps a bounded number of programs, and says what makes it write so many."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.staging import program_cache as programs

MOST_KEPT = 3


def called_with(function, sizes):
    for size in sizes:
        function(tf.constant(np.ones(size, np.float32)))


@pytest.fixture
def counted(monkeypatch):
    monkeypatch.setattr(programs, "MOST_KEPT", MOST_KEPT)
    calls = []

    @tf.function
    def double(x):
        calls.append(x.shape)
        return x * 2

    return double, calls


def test_a_shape_too_many_lets_the_oldest_program_go_with_a_warning(counted):
    double, calls = counted
    called_with(double, range(1, MOST_KEPT + 1))
    with pytest.warns(RuntimeWarning, match=r"counted.*more than 3 kinds.*float32\[4\]") as told:
        called_with(double, [MOST_KEPT + 1])

    assert __file__ == told[0].filename
    calls.clear()
    called_with(double, [MOST_KEPT + 1, 2, 3])
    assert [] == calls
    called_with(double, [1])
    assert [(1,)] == calls


def test_the_warning_comes_once(counted):
    double, _ = counted
    with pytest.warns(RuntimeWarning) as told:
        called_with(double, range(1, MOST_KEPT + 10))

    assert 1 == sum("more than" in str(one.message) for one in told)
    assert 1 == sum("traced 5 times" in str(one.message) for one in told)


def test_a_program_that_is_used_again_and_again_stays(counted):
    double, calls = counted
    with pytest.warns(RuntimeWarning):
        called_with(double, [size for larger in range(2, 2 * MOST_KEPT) for size in (larger, 1)])

    assert 1 == calls.count((1,))


@pytest.mark.filterwarnings("ignore:.*kinds of input")
def test_where_all_programs_are_in_use_the_oldest_goes_and_not_the_newest(counted):
    double, calls = counted
    called_with(double, [1, 2, 3] * 2)
    called_with(double, [4])
    calls.clear()

    called_with(double, [4, 2, 3])
    assert [] == calls
    assert MOST_KEPT == len(double._programs) == len(double._programs._quick)

"""The laws of the facts about values: what sums, products and quotients keep."""

import pytest

from refdist._core.compilers.reduction_states import (
    Division,
    State,
    added,
    divided,
    growth,
    is_count,
    joined,
    multiplied,
    shares_out,
)

TOTAL = State(varying=True, partial=True, degree=1, sources=frozenset({"a sum"}))
MEAN = State(varying=True, partial=True, degree=0, division=Division("size", None), sources=frozenset({"a sum"}))
WEIGHT = State(origins=frozenset({("variable", "w")}))
ZERO = State(numbers=(0.0, 0.0))


def test_what_is_equal_everywhere_is_a_term_of_a_sum_over_rows_only_where_there_are_no_rows():
    assert added(TOTAL, WEIGHT, False, None).terms == {None}
    assert added(WEIGHT, TOTAL, False, None).terms == {None}
    assert not added(TOTAL, WEIGHT, True, None).terms
    assert not added(TOTAL, State(origins=WEIGHT.origins, shared=True), False, None).terms


def test_zero_adds_nothing():
    assert added(TOTAL, ZERO, False, None) == TOTAL
    assert added(ZERO, TOTAL, False, None) == TOTAL


def test_a_sum_of_a_total_and_a_mean_grows_in_no_known_way():
    assert added(TOTAL, MEAN, False, None).degree is None
    assert added(TOTAL, MEAN, False, None).division is None


def test_a_value_scaled_by_a_function_of_itself_is_bent_and_one_scaled_by_another_is_not():
    norm = State(varying=True, partial=True, sources=TOTAL.sources, bent=("sqrt", None))
    other = State(varying=True, partial=True, sources=frozenset({"another"}), bent=("sqrt", None))

    assert multiplied(TOTAL, norm, False, None).bent
    assert divided(TOTAL, norm, False, False, None).bent
    assert not multiplied(TOTAL, other, False, None).bent
    assert not multiplied(TOTAL, norm, True, None).bent


def test_a_total_divided_by_a_total_is_a_mean_that_the_data_weigh():
    assert divided(TOTAL, TOTAL, False, False, None).division == Division("data", None)
    assert divided(TOTAL, TOTAL, False, False, None).degree == 0


def test_what_may_be_one_of_two_values_has_what_both_have():
    assert joined([TOTAL, TOTAL]) == TOTAL
    assert joined([TOTAL, MEAN]).degree is None
    assert joined([WEIGHT, TOTAL]).varying


@pytest.mark.parametrize(
    ("numbers", "expected"), [((8, 16), 1), ((8, 8), 0), ((0.5, 0.25), -1), ((1, 3), None), ((0, 1), None)]
)
def test_a_constant_that_doubles_with_the_rows_counts_them(numbers, expected):
    assert expected == growth(numbers)


@pytest.mark.parametrize(
    ("factor", "expected"), [(0.25, True), (0.0025, True), (0.01, False), (0.1, False), (0.0, False)]
)
def test_a_factor_over_four_replicas_is_known_by_its_digits(factor, expected):
    assert expected == shares_out(factor, 4)
    assert is_count(4.0, 4)

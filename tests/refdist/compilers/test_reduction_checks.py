"""What a sum over replicas does to values of each kind."""

from refdist._core.compilers.reduction_checks import ReductionChecks
from refdist._core.compilers.reduction_states import Division, State

VARYING = State(varying=True, partial=True, degree=1)


def reduced(state, uneven=()):
    found = []
    made = ReductionChecks(4, uneven, found.append).reduced(state, None)
    assert not made.varying
    return sorted([finding.kind for finding in [*found, *made.pending]])


def test_a_sum_over_rows_is_what_a_reduction_is_for():
    assert [] == reduced(VARYING)


def test_what_is_equal_everywhere_counts_once_for_each_replica():
    assert ["sum-of-equal"] == reduced(State(origins=frozenset({("variable", "w")})))
    assert [] == reduced(State(origins=frozenset({("variable", "w")}), shared=True))
    assert [] == reduced(State(numbers=(1.0, 1.0)))


def test_a_mean_over_rows_is_wrong_in_a_sum_and_of_uneven_rows_in_a_mean_too():
    mean = State(varying=True, partial=True, division=Division("size", None))
    weighted = State(varying=True, partial=True, division=Division("data", None), shared=True)

    assert ["local-mean-summed"] == reduced(mean)
    assert ["mean-of-means"] == reduced(mean, (2, 1))
    assert ["mean-of-means"] == reduced(weighted)


def test_a_constant_that_is_summed_says_how_often_it_was_counted():
    made = ReductionChecks(4, (), lambda finding: None).reduced(State(numbers=(1.0, 1.0)), None)

    assert (4.0, 4.0) == made.numbers
    assert made.counted is not None

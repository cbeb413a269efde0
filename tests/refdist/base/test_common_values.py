import pytest

from refdist._core.base.common_values import CommonValues, once


def test_the_first_computes_for_all_who_have_the_very_same_values():
    common, counted = CommonValues([1, 2, 3]), []

    def compute():
        counted.append(1)
        return sum(common)

    assert [6] * 4 == [once(common, "sum", compute) for _ in range(4)]
    assert 1 == len(counted)


def test_different_computations_and_other_values_are_kept_apart():
    common, alike = CommonValues([1, 2]), CommonValues([1, 2])

    assert (3, 2, "again") == (
        once(common, "sum", lambda: 3),
        once(common, "product", lambda: 2),
        once(alike, "sum", lambda: "again"),
    )
    assert [0, 1] == [once([1, 2], "sum", lambda i=i: i) for i in range(2)]


def test_nothing_is_kept_of_a_computation_that_fails():
    common = CommonValues([1, 2])

    with pytest.raises(ZeroDivisionError):
        once(common, "quotient", lambda: 1 // 0)
    assert 1 == once(common, "quotient", lambda: 1)

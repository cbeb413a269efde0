"""Factors between two values, and whether rounding explains a difference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

from refdist._core.testing.factors import agree, counted_each_time, factor_of
from refdist._core.testing.facts import Fact

BASE = np.array([1.0, -2.0, 0.5, 0.0])


def written(change, before=0.0):
    change = np.asarray(change, np.float64)
    return Fact("key", "write", "w", before + change, np.zeros_like(change) + before)


@pytest.mark.parametrize("count", [2, 4, 7])
@pytest.mark.parametrize(("name", "power"), [("N", 1), ("1/N", -1), ("N squared", 2), ("1/N squared", -2)])
def test_powers_of_the_number_of_replicas_are_named(count, name, power):
    factor = factor_of(written(BASE), written(BASE * float(count) ** power), count, 1e-9)

    assert (factor.name, factor.everywhere) == (name, True)
    assert factor.number == pytest.approx(float(count) ** power)


def test_a_factor_of_some_elements_alone_is_named():
    factor = factor_of(written(BASE), written(BASE * [4, 4, 1, 1]), 4, 1e-9)

    assert (factor.name, factor.everywhere) == ("N", False)
    assert "for some elements" in str(factor)


def test_other_factors_are_other():
    assert factor_of(written(BASE), written(BASE * 3), 4, 1e-9).name == "constant"
    assert factor_of(written(BASE), written(BASE[::-1]), 4, 1e-9).name == "other"
    assert factor_of(written(BASE), written(BASE * np.nan), 4, 1e-9).name == "other"
    assert factor_of(written(BASE), written(BASE[:2]), 4, 1e-9).name == "other"


@given(generators.lists(generators.floats(-1e3, 1e3, width=32), min_size=2, max_size=64), generators.randoms())
def test_sums_in_another_order_agree(terms, random):
    shuffled = random.sample(terms, len(terms))
    facts = [
        Fact("key", "meeting", "all_reduce(SUM)", np.sum(np.float32(one)), brought=tuple(map(np.float32, one)))
        for one in (terms, shuffled)
    ]

    assert agree(*facts, 1e-4)


def test_steps_are_compared_and_not_what_they_lead_to():
    assert not agree(written(BASE * 1e-6, 1000.0), written(BASE * 2e-6, 1000.0), 1e-9)
    assert agree(written(BASE, 1000.0), written(BASE, 1000.0 + 1e-9), 1e-9)


def test_values_of_another_shape_or_text_do_not_agree():
    assert not agree(written(BASE), written(BASE[:2]), 1e-9)
    texts = [Fact("key", "return", "", np.array(text)) for text in ("a", "b")]
    assert not agree(*texts, 1e-9)
    assert agree(texts[0], texts[0], 1e-9)


def test_two_nans_agree():
    assert agree(written([np.nan, 1.0]), written([np.nan, 1.0]), 1e-9)
    assert not agree(written([np.nan, 1.0]), written([1.0, 1.0]), 1e-9)


def test_what_every_replica_adds_is_told_from_a_factor():
    term = np.array([0.3, 0.1, -0.2, 1.0])

    assert counted_each_time([(count, written(BASE + count * term)) for count in (1, 2, 4)], 1e-9)
    assert not counted_each_time([(count, written(BASE + count**2 * term)) for count in (1, 2, 4)], 1e-9)
    assert not counted_each_time([(count, written(BASE + count * term)) for count in (1, 2)], 1e-9)

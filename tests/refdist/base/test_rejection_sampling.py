import math

import numpy as np
import pytest

from refdist._core.base import rejection_sampling
from refdist._core.base.philox import stream

MANY = 3000
GIVEN = stream(5, 0, 7)


def log_gamma(x):
    return np.vectorize(math.lgamma)(x)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 1.7, 30.0])
def test_gamma_has_its_mean_and_variance(alpha):
    found = rejection_sampling.gamma(GIVEN, np.full(MANY, alpha))

    assert np.allclose([alpha, alpha], [found.mean(), found.var()], rtol=0.15)


@pytest.mark.parametrize("rate", [0.1, 4.0, 9.9, 10.1, 300.0])
def test_poisson_has_its_mean_and_variance(rate):
    found = rejection_sampling.poisson(GIVEN, np.full(MANY, rate), log_gamma)

    assert np.allclose([rate, rate], [found.mean(), found.var()], rtol=0.15)
    assert (found == np.round(found)).all()


@pytest.mark.parametrize(("count", "share"), [(5, 0.1), (5, 0.9), (1000, 0.3), (40, 0.7), (0, 0.5), (9, 0.0), (9, 1.0)])
def test_binomial_has_its_mean_and_variance(count, share):
    found = rejection_sampling.binomial(GIVEN, np.full(MANY, float(count)), np.full(MANY, share))
    expected = [count * share, count * share * (1 - share)]

    assert np.allclose(expected, [found.mean(), found.var()], rtol=0.15)
    assert (found >= 0).all()
    assert (found <= count).all()


def test_each_place_has_a_stream_of_its_own():
    both = rejection_sampling.gamma(GIVEN, np.array([2.0, 3.0]))

    assert both[0] == rejection_sampling.gamma(GIVEN, np.array([2.0]))[0]
    assert both[1] != rejection_sampling.gamma(GIVEN, np.array([3.0]))[0]

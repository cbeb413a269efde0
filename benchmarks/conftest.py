"""Benchmarks run one at a time, on a fresh backend each."""

import pytest

from refdist import backend


@pytest.fixture(autouse=True)
def fresh_backend(monkeypatch):
    monkeypatch.setattr(backend, "_chosen", None)


@pytest.fixture
def per_replica(benchmark):
    """Measure a step, and note its cost for each replica."""

    def measure(step, replicas, rounds):
        step()
        benchmark.pedantic(step, rounds=rounds, warmup_rounds=2)
        if benchmark.stats is not None:
            benchmark.extra_info["replicas"] = replicas
            benchmark.extra_info["median_us_per_replica"] = round(benchmark.stats.stats.median / replicas * 1e6, 2)

    return measure

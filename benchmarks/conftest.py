"""Benchmarks run one at a time, on a fresh backend each."""

import os

# JAX fixes the number of its host devices when it starts.
os.environ["JAX_NUM_CPU_DEVICES"] = "4"
os.environ["JAX_PLATFORMS"] = "cpu"


import pytest

from refdist._core.backends import choosing

collect_ignore = ["mlp_tensorflow.py"]  # it runs in another interpreter


@pytest.fixture(autouse=True)
def fresh_backend(monkeypatch):
    monkeypatch.setattr(choosing, "_chosen", None)


@pytest.fixture
def per_replica(benchmark):
    """Measure a step, and record its cost per replica."""

    def measure(step, replicas, rounds):
        step()
        benchmark.pedantic(step, rounds=rounds, warmup_rounds=2)
        if benchmark.stats is not None:
            benchmark.extra_info["replicas"] = replicas
            benchmark.extra_info["median_us_per_replica"] = round(benchmark.stats.stats.median / replicas * 1e6, 2)

    return measure

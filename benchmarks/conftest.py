"""Benchmarks run one at a time, on a fresh backend each; internal tuning only with `-m tuning`."""

import os

import pytest

from refdist._core.backends import choosing
from refdist_bench.devices_at_hand import ask_for_host_devices
from refdist_bench.peers.peer_process import Peer
from refdist_bench.settings import DEVICE_COUNTS

ask_for_host_devices(max(DEVICE_COUNTS))  # JAX fixes their number when it starts


def pytest_configure(config):
    config.addinivalue_line("markers", "tuning: of use to those only who change the part that it measures")


def pytest_collection_modifyitems(config, items):
    if config.option.markexpr:
        return
    tuning = [item for item in items if item.get_closest_marker("tuning")]
    config.hook.pytest_deselected(items=tuning)
    items[:] = [item for item in items if not item.get_closest_marker("tuning")]


@pytest.fixture(autouse=True)
def fresh_backend(monkeypatch):
    monkeypatch.setattr(choosing, "_chosen", None)


@pytest.fixture(scope="session")
def tensorflow():
    """The interpreter that REFDIST_TENSORFLOW_PYTHON names, running."""
    python = os.environ.get("REFDIST_TENSORFLOW_PYTHON")
    if not python:
        pytest.skip("REFDIST_TENSORFLOW_PYTHON names no interpreter that has TensorFlow")
    with Peer(python) as peer:
        yield peer

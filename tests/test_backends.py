"""The contract of the seam, run against every backend."""

import pytest

from refdist.backends.host import HostBackend
from refdist.backends.jax import JaxBackend
from simulator.backend import SimulatorBackend
from tests.backend_contract import BackendContract


class TestHost(BackendContract):
    backend = HostBackend(gpus=8)


class TestSimulator(BackendContract):
    backend = SimulatorBackend(gpus=8)


class TestJax(BackendContract):
    backend = JaxBackend(cpus=8)

    def test_more_devices_than_jax_started_with_are_refused(self):
        with pytest.raises(RuntimeError, match="already started"):
            JaxBackend(cpus=64)

    def test_text_is_refused_because_jax_has_no_strings(self):
        with pytest.raises(TypeError, match="text"):
            self.backend.put("abc", None)

    @pytest.mark.parametrize("cpus", [0, -1, "2", True])
    def test_a_count_that_is_none_is_refused(self, cpus):
        with pytest.raises(ValueError, match="cpus"):
            JaxBackend(cpus=cpus)

"""The seam of refdist on virtual devices: those of a host, with quick sums."""

from typing import Any

import numpy as np

from refdist._core.backends.host_backend import HostBackend
from refdist._core.seam.backend import Tensors
from simulator.loops.folding import fold


class SimulatorBackend(HostBackend):
    """Virtual CPUs, GPUs and TPU cores, as many as asked for; nothing that they do takes time."""

    name = "simulator"

    def fold_large(self, tensors: Tensors) -> np.ndarray[Any, Any]:
        return fold(tensors)

"""The seam of refdist on virtual devices: those of a host, with quick sums and a ledger."""

from typing import Any

import numpy as np

from refdist._core.backends.host_backend import HostBackend
from refdist._core.seam.backend import Tensors
from simulator.folding import fold
from simulator.ledger import Ledger


class SimulatorBackend(HostBackend):
    """Virtual CPUs, GPUs and TPU cores, as many as asked for; nothing that they do takes time."""

    name = "simulator"

    def __init__(self, **counts: Any) -> None:
        super().__init__(**counts)
        self.ledger: Ledger | None = None  # where deliveries of samples are noted, once somebody has asked for that

    def ledger_in_use(self) -> Ledger | None:
        return self.ledger

    def fold_large(self, tensors: Tensors) -> np.ndarray[Any, Any]:
        return fold(tensors)

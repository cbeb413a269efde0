"""The seam of refdist on virtual devices."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from refdist.backend import current
from refdist.backends.host import HostBackend
from simulator.folding import fold
from simulator.ledger import Ledger


class SimulatorBackend(HostBackend):
    """Virtual CPUs, GPUs and TPU cores, as many as asked for."""

    name = "simulator"

    def fold(self, tensors: Sequence[Any]) -> np.ndarray[Any, Any]:
        return fold(tensors)


@contextmanager
def ledger() -> Generator[Ledger]:
    """Record, in a block, which replica gets which sample in which step of the distributed data of the simulator in use.

    >>> import refdist as tf
    >>> with tf.using("simulator", gpus=2), ledger() as record:
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(4)):
    ...         pass
    >>> [(one.step, one.replica, one.samples) for one in record.deliveries]
    [(0, 0, range(0, 2)), (0, 1, range(2, 4)), (1, 0, range(4, 6)), (1, 1, range(6, 6))]
    """
    backend = current()
    if not isinstance(backend, SimulatorBackend):
        raise TypeError(
            f"ledger() was asked of the backend {backend.name!r}; expected the simulator. Choose it with "
            f'refdist.use("simulator", ...).'
        )
    before, backend.ledger = backend.ledger, Ledger()
    try:
        yield backend.ledger
    finally:
        backend.ledger = before

"""Opening the simulator: checking its options, and choosing the backend that they ask for."""

from typing import Any

from simulator.cluster_backend import ClusterBackend
from simulator.prediction import IN_SWITCH, predict_all_reduce
from simulator.schedules import ALGORITHMS
from simulator.simulator_backend import SimulatorBackend
from simulator.topology import Cluster


def open_simulator(
    cluster: Cluster | None = None, algorithm: str | None = None, accumulate: Any = None, **counts: Any
) -> SimulatorBackend:
    """Make virtual devices: so many of each kind, or those of a cluster, with its links, memory and time.

    Args:
        cluster: what the devices are and how they are joined. Collectives then have the order, the precision and the
            duration of their algorithm, and computing takes time too.
        algorithm: the one that all collectives use, whatever a strategy's cross_device_ops say; "auto" is the fastest.
        accumulate: float32 or float64, in which narrower floats are added up. Without it, each sum is rounded to the
            dtype of the floats themselves.
        counts: how many devices there are of each kind: cpus, gpus, tpus.
    """
    if cluster is None:
        if algorithm is not None or accumulate is not None:
            raise TypeError(
                f"The simulator was asked for algorithm={algorithm!r} and accumulate={accumulate!r} without a cluster; expected "
                f"one, because devices without links add up in their own order. Give cluster=simulator.Cluster.star(...)."
            )
        return SimulatorBackend(**counts)
    if counts or not isinstance(cluster, Cluster):
        raise TypeError(
            f"The simulator was asked for cluster={cluster!r} and {', '.join(counts) or 'nothing else'}; expected a "
            f"simulator.Cluster alone, because it says how many devices there are. Leave the others out."
        )
    if algorithm is not None and algorithm not in ("auto", IN_SWITCH, *ALGORITHMS):
        raise ValueError(
            f"The algorithm is {algorithm!r}; expected auto or one of {', '.join([*ALGORITHMS, IN_SWITCH])}. Use one of these."
        )
    if algorithm == IN_SWITCH:
        predict_all_reduce(cluster, 0, IN_SWITCH)  # raises where the cluster has no switch that joins all devices
    return ClusterBackend(cluster, algorithm, accumulate)

"""Opening the simulator: checking its options, and choosing the backend that they ask for."""

from typing import TYPE_CHECKING, Any

from simulator.devices.simulator_backend import SimulatorBackend

if TYPE_CHECKING:
    from simulator.libraries.library import Launch, Library
    from simulator.machines.topology import Cluster


def open_simulator(
    cluster: "Cluster | None" = None,
    algorithm: str | None = None,
    accumulate: Any = None,
    library: "Library | None" = None,
    launch: "Launch | None" = None,
    **counts: Any,
) -> SimulatorBackend:
    """Make virtual devices: so many of each kind, or those of a cluster, with its links, memory and time.

    Args:
        cluster: what the devices are and how they are joined. Collectives then have the order, the precision and the
            duration of their algorithm, and computing takes time too.
        algorithm: the one that all collectives use, whatever a strategy's cross_device_ops say; "auto" is the fastest.
        accumulate: the wider type, float32 or float64, in which narrower floats are added up. Without it, each sum is
            rounded to the dtype of the floats themselves.
        library: the collective library whose times count, such as `simulator.libraries.nccl("2.27")`; the algorithm is then one of
            its own, and sums are in the order of the one that it takes.
        launch: how the library is started.
        counts: how many devices there are of each kind: cpus, gpus, tpus.
    """
    asked = {"algorithm": algorithm, "accumulate": accumulate, "library": library, "launch": launch}
    if cluster is None:
        given = ", ".join(f"{name}={value!r}" for name, value in asked.items() if value is not None)
        if given:
            raise TypeError(
                f"The simulator was asked for {given} without a cluster; expected one, because devices without links add up in "
                f"their own order and take no time. Give cluster=simulator.Cluster.star(...)."
            )
        return SimulatorBackend(**counts)
    # Without links and time, nothing of this is needed.
    from simulator.algorithms.schedules import ALGORITHMS
    from simulator.devices.cluster_backend import ClusterBackend
    from simulator.libraries.library import Launch
    from simulator.machines.topology import Cluster
    from simulator.predictions.prediction import IN_SWITCH, by_library, predict_all_reduce

    if counts or not isinstance(cluster, Cluster):
        raise TypeError(
            f"The simulator was asked for cluster={cluster!r} and {', '.join(counts) or 'nothing else'}; expected a "
            f"simulator.Cluster alone, because it says how many devices there are. Leave the others out."
        )
    if library is not None:
        wanted = None if algorithm == "auto" else algorithm
        by_library("all_reduce", cluster, 0.0, library, launch or Launch(), wanted)  # raises where that cannot be
        return ClusterBackend(cluster, wanted, accumulate, library, launch)
    if launch is not None:
        raise TypeError(
            f"The simulator was asked for launch={launch!r} without a library; expected both. Give library=."
        )
    if algorithm is not None and algorithm not in ("auto", IN_SWITCH, *ALGORITHMS):
        raise ValueError(
            f"The algorithm is {algorithm!r}; expected auto or one of {', '.join([*ALGORITHMS, IN_SWITCH])}. Use one of these."
        )
    if algorithm == IN_SWITCH:
        predict_all_reduce(cluster, 0, IN_SWITCH)  # raises where the cluster has no switch that joins all devices
    return ClusterBackend(cluster, algorithm, accumulate)

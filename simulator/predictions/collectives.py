"""How long the other collectives take: alone on the links, or as a library does them. Sizes are those of nccl-tests."""

from typing import Any

import numpy as np

from simulator.algorithms.schedules import Round, Schedule, all_gather, broadcast, point_to_point, reduce_scatter
from simulator.libraries.library import Launch, Library
from simulator.machines.topology import Cluster
from simulator.predictions.prediction import Prediction, by_library, played, require_sizes


def predict_reduce_scatter(
    cluster: Cluster, payload_bytes: float, *, library: Library | None = None, launch: Launch | None = None
) -> Prediction:
    """Say how long it takes until each device has its part of the sum of so many bytes, which every device has.

    >>> from simulator import libraries, presets
    >>> predict_reduce_scatter(presets.dgx_h100(), 2**30, library=libraries.nccl()).algorithm
    'ring'
    """
    return _predicted("reduce_scatter", cluster, payload_bytes, library, launch)


def predict_all_gather(
    cluster: Cluster, payload_bytes: float, *, library: Library | None = None, launch: Launch | None = None
) -> Prediction:
    """Say how long it takes until every device has so many bytes, of which each had its part."""
    return _predicted("all_gather", cluster, payload_bytes, library, launch)


def predict_broadcast(
    cluster: Cluster, payload_bytes: float, *, library: Library | None = None, launch: Launch | None = None
) -> Prediction:
    """Say how long it takes until every device has what the first one has."""
    return _predicted("broadcast", cluster, payload_bytes, library, launch)


def predict_all_to_all(
    cluster: Cluster, payload_bytes: float, *, library: Library | None = None, launch: Launch | None = None
) -> Prediction:
    """Say how long it takes until each device has sent its bytes, cut into equal parts, to all."""
    return _predicted("all_to_all", cluster, payload_bytes, library, launch)


def predict_send(
    cluster: Cluster, payload_bytes: float, *, library: Library | None = None, launch: Launch | None = None
) -> Prediction:
    """Say how long a message takes from the first device to the last one, which is on another host where there are several."""
    return _predicted("send", cluster, payload_bytes, library, launch)


def _predicted(
    kind: str, cluster: Cluster, payload_bytes: float, library: Library | None, launch: Launch | None
) -> Prediction:
    require_sizes(f"predict_{kind}()", cluster, payload_bytes)
    size, count = float(payload_bytes), cluster.device_count
    if library is not None:
        return by_library(kind, cluster, size, library, launch or Launch())
    if launch is not None:
        raise ValueError(
            f"predict_{kind}() got launch= without library=; expected both. Give library=libraries.nccl()."
        )
    devices: Any = None
    if kind == "send":
        if count == 1:
            return Prediction("copy", 0.0, 0, np.zeros(cluster.link_count))
        schedule, devices = point_to_point(), np.array([0, count - 1])
    else:
        makers = {"reduce_scatter": reduce_scatter, "all_gather": all_gather, "broadcast": broadcast}
        schedule = makers[kind](count) if kind in makers else _all_to_all(count)
    return played(cluster, schedule, size, 0, devices)


def _all_to_all(devices: int) -> Schedule:
    """In each round, every device sends a part to the one so many places further on."""
    here = np.arange(devices, dtype=np.int32)
    rounds = [
        Round(here, ((here + distance) % devices).astype(np.int32), ((here + distance) % devices).astype(np.int32))
        for distance in range(1, devices)
    ]
    return Schedule("all_to_all", devices, devices, tuple(rounds))

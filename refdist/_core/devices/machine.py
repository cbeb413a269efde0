"""The devices of a machine, made from the number of each kind."""

import math
from typing import Any

from refdist._core.devices.device import Device
from refdist._core.devices.tpu_topology import host_count, mesh_shape

MOST_DEVICES = 1_000_000  # this many names take a gigabyte and twenty seconds


def device_counts(cpus: int = 1, gpus: int = 0, tpus: int | tuple[int, ...] = 0, **others: Any) -> tuple[Device, ...]:
    """List the devices of a machine with so many CPUs, GPUs and TPU cores, the CPUs first.

    Args:
        cpus: how many CPUs.
        gpus: how many GPUs.
        tpus: how many cores of TPUs, or the sizes of their mesh: x, y, z and the cores of a chip.
        others: what there is not.

    >>> [device.short for device in device_counts(gpus=2)]
    ['CPU:0', 'GPU:0', 'GPU:1']
    """
    if others:
        raise TypeError(
            f"The machine was asked for {', '.join(others)}; expected cpus=, gpus= and tpus=. Leave out what this backend "
            f"does not have."
        )
    counts = {"cpus": cpus, "gpus": gpus}
    for kind, count in counts.items():
        least = 1 if kind == "cpus" else 0
        if not isinstance(count, int) or isinstance(count, bool) or count < least:
            raise ValueError(f"{kind} is {count!r}; expected an int of at least {least}. Give the number of devices.")
    cores = math.prod(mesh_shape(tpus))
    if cpus + gpus + cores > MOST_DEVICES:
        raise ValueError(
            f"The machine was asked for {cpus + gpus + cores:,} devices; expected at most {MOST_DEVICES:,}, because each "
            f"takes memory and time. Use fewer."
        )
    local = tuple(Device(f"{kind[:3]}:{index}") for kind, count in counts.items() for index in range(count))
    return local + _tpu_devices(cores)


def _tpu_devices(count: int) -> tuple[Device, ...]:
    """List the cores of this machine; or, if one host cannot have so many, those of a cluster of hosts, with their CPUs."""
    hosts = host_count(count)
    if hosts <= 1:
        return tuple(Device(f"TPU:{index}") for index in range(count))
    names = ["CPU:0", *(f"TPU:{index}" for index in range(count // hosts))]
    return tuple(Device(name).at("worker", task) for task in range(hosts) for name in names)

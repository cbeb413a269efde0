"""The devices of a strategy as columns of a picture: those of replicas, and those that only keep variables."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from refdist._core.devices.device import Device
from refdist._core.strategies.parameter_server import ParameterServerStrategy
from refdist._core.variables.placement import Placement


@dataclasses.dataclass(frozen=True, slots=True)
class Spot:
    """One device, or the logical devices of one replica."""

    name: str
    role: str
    device: Device | None  # where variables can live; None on the other workers, which another plan describes
    replica: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """One spot, or several that are alike."""

    name: str
    role: str
    spots: Sequence[Spot]

    @property
    def computes(self) -> bool:
        """Whether replicas run here."""
        return self.spots[0].replica is not None


def spots_of(strategy: Any) -> list[Spot]:
    """All devices that have to do with a strategy: first those of its replicas, in order."""
    plan = strategy.extended.plan
    if isinstance(strategy, ParameterServerStrategy):
        replicas = [Spot(_name(device), "coordinator", device, 0) for device in plan.devices]
        workers = [Spot(f"worker {number}", "works at its own pace", None) for number in range(strategy.worker_count)]
        return [*replicas, *workers, *_homes(plan, "parameter server")]
    spots: list[Spot] = []
    for worker in range(plan.workers):
        for index, device in enumerate(plan.devices):
            own, number = plan.worker == worker, worker * len(plan.devices) + index
            before = f"worker {worker} " if plan.workers > 1 else ""
            cores = plan.logical[index] if plan.logical else (device,)
            few = ", ".join(core.short for core in cores[:2])
            name = few if len(cores) <= 2 else f"{cores[0].short} ... {cores[-1].short}"
            role = f"replica {number}" + (f", {len(cores)} cores" if len(cores) > 2 else "")
            spots.append(Spot(before + name, role, device if own else None, number))
    return [*spots, *_homes(plan, "keeps variables")]


def _homes(plan: Any, role: str) -> list[Spot]:
    """The devices that keep variables and have no replica."""
    if plan.placement is not Placement.CENTRAL:
        return []
    computing = set(plan.devices)
    return [Spot(_name(home), role, home) for home in dict.fromkeys(plan.homes) if home not in computing]


def columns_of(spots: Sequence[Spot], most: int) -> list[Column]:
    """The spots as at most so many columns, in which what is alike is folded: replicas, workers, and other devices each apart.

    >>> gpus = [Spot(f"GPU:{number}", f"replica {number}", Device(f"GPU:{number}"), number) for number in range(1024)]
    >>> [(column.name, column.role) for column in columns_of(gpus, 4)]
    [('GPU:0', 'replica 0'), ('GPU:1 ... GPU:1023, the same', 'replicas 1 ... 1023')]
    """
    kinds: dict[str, list[Spot]] = {}
    for spot in spots:
        kinds.setdefault("replica" if spot.replica is not None else spot.role, []).append(spot)
    groups = list(kinds.values())
    sizes = [len(group) for group in groups]
    for least in (2, 1):  # replicas remain two columns, because what they do together is what is shown
        for at in sorted(range(len(groups)), key=lambda at: -sizes[at]):
            if sum(sizes) > most and (least == 2 or groups[at][0].replica is None):
                sizes[at] = min(sizes[at], least)
    return [column for group, size in zip(groups, sizes, strict=True) for column in _folded(group, size)]


def _folded(group: Sequence[Spot], size: int) -> list[Column]:
    if len(group) <= size:
        return [Column(spot.name, spot.role, (spot,)) for spot in group]
    rest = group[size - 1 :]
    numbers = f"replicas {rest[0].replica} ... {rest[-1].replica}"
    role = rest[0].role if rest[0].replica is None else rest[0].role.replace(f"replica {rest[0].replica}", numbers, 1)
    first = [Column(spot.name, spot.role, (spot,)) for spot in group[: size - 1]]
    return [*first, Column(f"{rest[0].name} ... {rest[-1].name}, the same", role, rest)]


def _name(device: Device) -> str:
    return device.short if device.job == "localhost" else f"{device.job} {device.task} {device.short}"

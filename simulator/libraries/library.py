"""A collective library as data: what its algorithms and protocols cost on links of each class."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from simulator.machines.topology import Cluster

PROTOCOLS = ("LL", "LL128", "Simple")
Triple: TypeAlias = tuple[float, float, float]
"""One number for each of the protocols LL, LL128 and Simple."""
Rows: TypeAlias = Mapping[str, Triple]
"""By the generation of the devices, one number each for one host, two hosts, and more."""


@dataclasses.dataclass(frozen=True)
class Launch:
    """How collectives are started: one thread launches the kernels of all devices of its process, one after the other."""

    gpus_per_process: int = 1

    def __post_init__(self) -> None:
        count = self.gpus_per_process
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ValueError(
                f"gpus_per_process is {count!r}; expected an int of at least 1. Use 1 for one process a GPU."
            )


@dataclasses.dataclass(frozen=True)
class Calibration:
    """How a library was fitted: to how many measurements, which numbers, and what is left of the error."""

    rows: int
    fitted: Mapping[str, float]
    mean_error: float  # relative, on the rows themselves
    held_out_error: float  # on each fifth of the rows, fitted to the others

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {value:.3g}" for name, value in self.fitted.items())
        return (
            f"fitted to {self.rows} rows: {numbers}; mean error {self.mean_error:.1%}, {self.held_out_error:.1%} on rows that were "
            f"held out"
        )


@dataclasses.dataclass(frozen=True)
class Library:
    """What a library counts with. Make one with `libraries.nccl()`; `dataclasses.replace` changes any number.

    Times are in microseconds and speeds in 1e9 bytes per second, as in the sources of these libraries.
    """

    name: str
    version: str
    base_microseconds: Mapping[str, Triple]  # by algorithm
    hop_microseconds: Mapping[
        str, Mapping[str, Triple]
    ]  # by class of link (nvlink, pcie, xgmi, network), then algorithm
    ring_shares: Triple  # of the bandwidth that each protocol moves
    tree_shares: Triple  # the same on one host
    tree_shares_between_hosts: Triple
    shared_tree_share: float  # where the tree of several hosts enters and leaves a host by one device
    tree_corrections: tuple[tuple[float, ...], ...]  # for each protocol, by the size: 64 B, 128 B, ...
    low_latency_limits: Rows  # the most that LL moves
    low_latency_limits_between_hosts: Mapping[str, Triple]  # the same, by the processor of the hosts
    ring_channel_limits: Rows  # for LL128, of each channel
    tree_channel_limits: Rows  # for all protocols
    tree_ll128_channel_limits: Rows
    nvls_tree_channel_limits: Rows
    plateau: Mapping[str, float]  # by generation, how much slower a ring between hosts starts with large pieces
    ring_returns: bool  # whether a ring counts one step more between hosts, in each of its two turns
    switch_shares: Mapping[str, float]  # by generation, of the bandwidth of links on which switches add
    switch_channels: Mapping[str, int]  # by generation, from devices to a switch that adds
    nvls: bool  # whether the library lets switches add
    inside_speeds: Mapping[str, tuple[float, ...]]  # which a channel can have, by generation
    outside_speeds: Mapping[str, tuple[float, ...]]
    crosses_adapters: bool  # whether rings may enter and leave a host by different devices
    low_latency_generations: tuple[str, ...]  # that have LL128
    network_overhead_microseconds: Mapping[str, float]  # by processor
    channels: int = 32  # at most
    usual_channels: int = 24  # which move together what is said of the protocol LL
    threads: int = 512  # of a channel with LL
    thread_bytes: int = 8  # for which a library takes one more thread; in a ring, for each device
    chunk_bytes: Triple = (32768.0, 576000.0, 2097152.0)  # of a channel, at most
    switch_chunk_bytes: tuple[tuple[float, float], ...] = ((0, 16384.0), (2, 32768.0), (8, 65536.0), (64, 131072.0))
    """Of a channel where switches add: from so many chunks on, and how large these are."""
    switch_tree_chunk_bytes: tuple[tuple[float, float], ...] = ((0, 32768.0), (1, 65536.0), (4, 131072.0))
    """The same between hosts."""
    launch_microseconds: float = 4.2  # for each device of a process
    # For each message that a device sends or receives in an all-to-all: 11.0 us with eight processes of one B200 each (a public
    # report of nccl-tests, whose all-to-all is not among the rows of simulator/validation), less a launch, over 16 messages.
    message_microseconds: float = 0.42
    byte_windows: Mapping[str, Mapping[str, tuple[float, float]]] = dataclasses.field(
        default_factory=dict[str, Mapping[str, tuple[float, float]]]
    )
    """By collective and protocol, the sizes for which the library takes it, where it goes by size."""
    ratios: Mapping[str, tuple[Triple, Triple]] = dataclasses.field(default_factory=dict[str, tuple[Triple, Triple]])
    """By algorithm, shares of the bandwidth up to two hosts and beyond; these replace all other shares and limits."""
    ring_corrections: tuple[tuple[float, ...], ...] = ()  # like those of trees, for rings between hosts
    latency_scale: float = 1.0  # what a calibration has found, beside the constants
    bandwidth_scales: Triple = (1.0, 1.0, 1.0)
    floor_microseconds: float = 0.0

    calibration: Calibration | None = None  # what it was fitted to, if it was

    def __repr__(self) -> str:
        fitted = "" if self.calibration is None else f", {self.calibration}"
        return f"<Library {self.name} {self.version}{fitted}>"

    def calibrated(
        self,
        cluster: "Cluster",
        sweep: "str | Sequence[tuple[float, float]]",
        *,
        launch: Launch | None = None,
        collective: str = "all_reduce",
    ) -> "Library":
        """The library with a few numbers fitted to measurements on a machine; `.calibration` says which, and how well they hold.

        Args:
            sweep: pairs of bytes and seconds, or what nccl-tests has printed.
            launch: how that was started.
        """
        from simulator.libraries.calibration import calibrated

        return calibrated(self, cluster, sweep, launch or Launch(), collective)

    def save(self, path: str) -> None:
        """Write it to a file, from which `libraries.load` reads it."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(dataclasses.asdict(self), file, indent=1)

"""The constants of NCCL, version by version: what each version has changed since the one before it.

Read in the public repository NVIDIA/nccl at 2.8.3, 2.10.3, 2.14.3, 2.17.1, 2.18.1, 2.19, 2.20.3, 2.21.5, 2.22.3, 2.25.1, 2.26.2,
2.27.3, and 2.28.3 in a copy. Versions 2.12, 2.13, 2.15, 2.16, 2.23 and 2.24 were not there to be read: they count as the one
before them, but that what changed between 2.22 and 2.25 counts from 2.23 on. Times in microseconds, speeds in 1e9 bytes per second.
Triples are for the protocols LL, LL128 and Simple, or for one host, two hosts and more.

| what | file |
|---|---|
| latencies, shares, limits, corrections, plateau, overheads | src/graph/tuning.cc |
| speeds of channels | src/graph/search.cc |
| channels | src/include/device.h, src/graph/connect.cc |
| share of links on which switches add | src/graph/tuning.cc of 2.28, which says what the hardware does, whatever the version |
"""

from collections.abc import Mapping
from typing import Any

_NONE = (0.0, 0.0, 0.0)
# NCCL has 23 numbers, and corrects nothing beyond them.
_TREE_CORRECTIONS = (
    (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1, 1),
    (0.9,) * 7 + (0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 1),
)

# fmt: off
_OLD_INSIDE = (44, 30, 22, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3)
_INSIDE = (40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3)
_HOPPER_INSIDE = (60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3)
_BLACKWELL_INSIDE = (90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18)
_SLOW = (2.4, 1.2, 0.24, 0.12)
_OUTSIDE = (48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, *_SLOW)
_HOPPER_OUTSIDE = (48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, *_SLOW)

FIRST: Mapping[str, Any] = {
    "base_microseconds": {"tree": (4.4, 4.4, 0.0), "ring": (3.6, 10.0, 8.4), "collnet": (0.0, 0.0, 0.0)},
    "hop_microseconds": {
        "nvlink": {"tree": (0.52, 1.25, 28.0), "ring": (0.47, 1.9, 3.4), "collnet": (0.0, 0.0, 8.0)},
        "pcie": {"tree": (1.0, 1.9, 28.0), "ring": (1.0, 2.5, 5.7), "collnet": (0.0, 0.0, 8.0)},
        "network": {"tree": (5.0, 8.5, 28.0), "ring": (2.7, 4.0, 9.6), "collnet": (0.0, 0.0, 10.7)},
    },
    "ring_shares": (0.25, 0.92, 1.0),
    "tree_shares": (0.92 / 3.8, 0.92 * 7 / 9, 0.92),
    "tree_shares_between_hosts": (0.92 / 3.8, 0.92 * 120 / 128, 0.92),
    "shared_tree_share": 1.0,
    "tree_corrections": _TREE_CORRECTIONS,
    "low_latency_limits": {
        "volta": (39.0, 39.0, 20.4), "ampere": (87.7, 22.5, 19.0), "hopper": (87.7, 22.5, 19.0), "blackwell": (87.7, 22.5, 19.0),
    },
    "low_latency_limits_between_hosts": {"intel": (39.0, 39.0, 20.4), "other": (39.0, 39.0, 20.4), "amd": (87.7, 22.5, 19.0)},
    "ring_channel_limits": {"volta": (20.0,) * 3, "ampere": (20.0,) * 3, "hopper": (20.0,) * 3, "blackwell": (20.0,) * 3},
    "tree_channel_limits": {
        "volta": (26.5, 18.5, 10.0), "ampere": (24.0, 23.6, 17.8), "hopper": (24.0, 23.6, 17.8), "blackwell": (24.0, 23.6, 17.8),
    },
    "tree_ll128_channel_limits": {"volta": (20.0,) * 3, "ampere": (20.0,) * 3, "hopper": (20.0,) * 3, "blackwell": (20.0,) * 3},
    "nvls_tree_channel_limits": {
        "volta": _NONE, "ampere": _NONE, "hopper": (0.0, 57.7, 45.5), "blackwell": (0.0, 96.0, 43.1),
    },
    "plateau": {"volta": 1.9, "ampere": 1.9, "hopper": 1.9, "blackwell": 1.9},
    "ring_returns": False,
    "switch_shares": {"volta": 0.0, "ampere": 0.0, "hopper": 0.85, "blackwell": 0.74},
    "nvls": False,
    "switch_channels": {"volta": 0, "ampere": 0, "hopper": 16, "blackwell": 24},
    "inside_speeds": dict.fromkeys(("volta", "ampere", "hopper", "blackwell"), _OLD_INSIDE),
    "outside_speeds": dict.fromkeys(("volta", "ampere", "hopper", "blackwell"), _OUTSIDE),
    "crosses_adapters": False,
    "low_latency_generations": ("volta", "ampere"),
    "network_overhead_microseconds": {"intel": 0.0, "amd": 0.0, "other": 0.0},
}

CHANGES: tuple[tuple[tuple[int, int], Mapping[str, Any]], ...] = (
    ((2, 14), {"ring_returns": True}),
    ((2, 17), {
        "low_latency_generations": ("volta", "ampere", "hopper"),
        "ring_channel_limits": {"hopper": (36.7,) * 3, "blackwell": (36.7,) * 3},
        "tree_channel_limits": {"hopper": (38.7, 41.4, 33.0), "blackwell": (38.7, 41.4, 33.0)},
        "tree_ll128_channel_limits": {"hopper": (36.7,) * 3, "blackwell": (36.7,) * 3},
    }),
    ((2, 18), {
        "base_microseconds": {"tree": (6.8, 14.0, 0.0), "ring": (6.6, 14.0, 8.4), "nvls": (0.0, 0.0, 0.0), "nvls_tree": _NONE},
        "hop_microseconds": {
            "nvlink": {
                "tree": (0.6, 1.25, 28.0), "ring": (0.6, 1.9, 3.4), "nvls": (0.0, 0.0, 23.0), "nvls_tree": (0.0, 0.0, 23.0),
            },
            "network": {"ring": (2.7, 4.0, 14.0), "nvls": (0.0, 0.0, 18.0), "nvls_tree": (0.0, 0.0, 19.0)},
        },
        "plateau": {"ampere": 1.4, "hopper": 1.4, "blackwell": 1.4},
        "nvls": True,
        "inside_speeds": {"volta": _INSIDE, "ampere": _INSIDE, "hopper": (60, 40, 30, 24, 20, 15, 12, 6, 3)},
        "outside_speeds": {"hopper": (48, 45, 42, 40, 30, 24, 15, 12, 6, 3, *_SLOW)},
        "network_overhead_microseconds": {"intel": 1.0, "amd": 2.0, "other": 1.0},
    }),
    ((2, 19), {
        "hop_microseconds": {
            "nvlink": {"collnet": (0.0, 0.0, 3.7)}, "pcie": {"collnet": (0.0, 0.0, 3.7)},
            "network": {"collnet": (0.0, 0.0, 31.0), "nvls_tree": (0.0, 0.0, 14.0)},
        },
        "shared_tree_share": 0.85,
        "tree_channel_limits": {"hopper": (38.7, 41.4, 36.0), "blackwell": (38.7, 41.4, 36.0)},
        "tree_ll128_channel_limits": {"hopper": (36.7, 36.7, 29.0), "blackwell": (36.7, 36.7, 29.0)},
        "inside_speeds": {"hopper": _HOPPER_INSIDE, "blackwell": _HOPPER_INSIDE},
        "outside_speeds": {"hopper": _HOPPER_OUTSIDE, "blackwell": _HOPPER_OUTSIDE},
        "crosses_adapters": True,
    }),
    ((2, 21), {
        "hop_microseconds": {"nvlink": {"nvls": (0.0, 0.0, 25.0), "nvls_tree": (0.0, 0.0, 25.0)}},
        "ring_shares": (0.5, 0.92, 1.0),
        "low_latency_limits": {"hopper": (141.0, 45.0, 35.0), "blackwell": (141.0, 45.0, 35.0)},
    }),
    ((2, 23), {
        "base_microseconds": {"tree": (6.8, 14.0, 8.4)},
        "hop_microseconds": {
            "nvlink": {"tree": (0.6, 1.25, 4.0)}, "pcie": {"tree": (1.0, 1.9, 4.0)}, "network": {"tree": (5.0, 8.5, 14.0)},
        },
        "ring_returns": False,
        "low_latency_limits": {"blackwell": (282.0, 90.0, 70.0)},
        "ring_channel_limits": {"blackwell": (73.4,) * 3},
        "tree_channel_limits": {"blackwell": (77.4, 82.8, 72.0)},
        "tree_ll128_channel_limits": {"blackwell": (73.4, 73.4, 58.0)},
        "inside_speeds": {"blackwell": _BLACKWELL_INSIDE},
        "outside_speeds": {"blackwell": (96, 48, 45.1, *_HOPPER_OUTSIDE[2:])},
        "low_latency_generations": ("volta", "ampere", "hopper", "blackwell"),
    }),
    ((2, 28), {
        "tree_channel_limits": {"blackwell": (70.0, 42.8, 24.0)},
        "tree_ll128_channel_limits": {"blackwell": (55.6, 31.67, 20.0)},
        "channels": 64,
    }),
)
# fmt: on

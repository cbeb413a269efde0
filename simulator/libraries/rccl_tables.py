"""The constants of RCCL for boxes of eight MI300X and their like.

Read in the public repository ROCm/rccl: src/graph/tuning.cc (latencies, ratios, corrections and byte windows of the table that the
machine models of MI300X choose), src/graph/topo.h (48e9 bytes per second for each xGMI link), src/graph/rome_models.cc (28 rings
in a box, which together have the bandwidth of all seven links of a device). Times in microseconds.
"""

from collections.abc import Mapping
from typing import Any

KIB, MIB = 1024.0, 1048576.0
_TREE_LL = (0.1,) * 6 + (1, 1, 1, 1, 1, 0.6, 1, 0.9, 1, 1) + (0.1,) * 11

MI300X: Mapping[str, Any] = {
    "base_microseconds": {"tree": (12.0, 12.0, 17.0), "ring": (12.0, 12.0, 17.0)},
    "hop_microseconds": {
        "xgmi": {"tree": (0.9, 0.9, 2.3), "ring": (0.8, 0.8, 2.1)},
        "nvlink": {"tree": (0.9, 0.9, 2.3), "ring": (0.8, 0.8, 2.1)},
        "pcie": {"tree": (2.2, 2.2, 5.7), "ring": (2.2, 2.2, 5.7)},
        # The table has 320 for rings, and a tenth of their bandwidth below 256 MiB, so that other algorithms are taken there; what
        # a hop takes is the number of the older tables.
        "network": {"tree": (10.5, 10.5, 25.0), "ring": (9.5, 9.5, 19.8)},
    },
    # RCCL has one call for an all-to-all (ncclAllToAll in src/nccl.h.in; ALLTOALL_PIVOT in src/include/collectives.h).
    "message_microseconds": 0.0,
    "ratios": {
        "tree": ((0.06, 0.06, 0.11), (0.06, 0.06, 0.59)),
        "ring": ((0.08, 0.08, 1.0), (0.08, 0.08, 1.0)),
    },
    "tree_corrections": (_TREE_LL, _TREE_LL, (0.1,) * 15 + (0.7, 1, 1, 1, 1, 1, 0.7, 0.7, 0.5, 0.6, 0.6, 0.6)),
    "byte_windows": {
        "all_reduce": {"LL": (0.0, MIB), "LL128": (MIB, 9 * MIB)},
        "all_gather": {"LL": (0.0, 96 * KIB), "LL128": (96 * KIB, 4928 * KIB)},
        "reduce_scatter": {"LL": (0.0, 640 * KIB), "LL128": (128 * KIB, 3136 * KIB)},
    },
}

# pyright: basic, reportCallIssue=false, reportPrivateImportUsage=false
"""The numba loop over the rounds of a ring whose messages share no link."""

from typing import Any

import numba
import numpy as np


@numba.njit(cache=True)
def relay(ready: Any, following: Any, before: Any, latency: Any, flowing: Any, repeat: int) -> None:
    """Let each device send to the one that follows, again and again, over links that no two messages share.

    The times are bit for bit those of `flows.play`: a message begins when both of its devices are ready, waits for its
    latency, and flows.
    """
    arrived = np.empty_like(ready)
    for _ in range(repeat):
        for d in range(ready.size):
            arrived[d] = (max(ready[d], ready[following[d]]) + latency[d]) + flowing[d]
        for d in range(ready.size):
            ready[d] = max(arrived[d], arrived[before[d]])

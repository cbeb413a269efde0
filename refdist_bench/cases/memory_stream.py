"""As quickly as all cores together read and write memory: the limit of a reduction."""

from typing import Any

import numba

_NUMBA: Any = numba


@_NUMBA.njit(parallel=True, cache=True)
def add_eight(total: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> None:
    """Add eight arrays up, each element once read and once written."""
    for i in numba.prange(total.size):
        total[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i]

"""Numba loops over plain arrays: no objects, no options."""

from typing import Any

import numba  # pyright: ignore[reportMissingTypeStubs]


@numba.njit(parallel=True, cache=True)  # pyright: ignore
def add_one(total: Any, a: Any) -> None:
    for i in numba.prange(total.size):  # pyright: ignore
        total[i] = total[i] + a[i]


@numba.njit(parallel=True, cache=True)  # pyright: ignore
def add_four(total: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    # Four arrays a pass, so that the total is read and written a fourth as often; the order of additions is the same.
    for i in numba.prange(total.size):  # pyright: ignore
        total[i] = (((total[i] + a[i]) + b[i]) + c[i]) + d[i]

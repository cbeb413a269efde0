"""The steps of a JAX program by what they do to a sum over replicas: tables for `reduction_flow.py`."""

import math
from collections.abc import Callable

SUMS = frozenset({"psum", "psum_invariant"})
EXTREMES = frozenset({"pmax", "pmin"})
GATHERS = frozenset({"all_gather", "all_gather_invariant"})

SHAPES = frozenset(
    {
        "convert_element_type",
        "reshape",
        "squeeze",
        "transpose",
        "copy",
        "copy_p",
        "broadcast_in_dim",
        "expand_dims",
        "rev",
    }
)
"""Steps that only move numbers, or change their type."""

_SAME = frozenset({"stop_gradient", "pvary", "pcast", "reduce_precision"})
LINEAR = SHAPES | _SAME | {"neg", "real", "imag", "optimization_barrier", "slice", "dynamic_slice", "pad", "gather"}
ADDITIONS = frozenset({"add", "sub", "add_any"})
PRODUCTS = frozenset({"dot_general", "conv_general_dilated", "mul"})
TOTALS = frozenset(
    {"reduce_sum", "scatter-add", "cumsum", "reduce_window_sum", "select_and_scatter_add", "psum_scatter"}
)

TESTS = frozenset(
    {
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "is_finite",
        "and",
        "or",
        "not",
        "xor",
        "argmax",
        "argmin",
        "sign",
        "reduce_and",
    }
    | {"reduce_or"}
)
"""Steps whose results are decisions, which may be counted afterwards."""

INNER = {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr"}
"""The parameters that have the program inside of a step, where it is not called jaxpr."""

FOLDED: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b if b else math.nan,
    "max": max,
    "min": min,
    "neg": lambda a: -a,
    **dict.fromkeys(SHAPES | _SAME, lambda a: a),
}
"""What steps make of constants."""

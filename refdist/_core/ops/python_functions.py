"""Python functions among operations: a `function` that calls one runs in Python."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.where import HERE
from refdist._core.ops.tensor_functions import cast, convert_to_tensor
from refdist._core.seam.draft import leave_draft_for_data


def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,  # noqa: N803, the documented name
    stateful: bool = True,
    name: Any = None,
) -> Any:
    """Call a Python function with arrays of numpy; a `function` that does so runs in Python."""
    if HERE.get().draft is not None:
        leave_draft_for_data()
    return _returned(func(*[np.asarray(convert_to_tensor(value))[()] for value in inp]), Tout)


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: Any = None) -> Any:  # noqa: N803
    """Call a Python function with tensors; a `function` that does so runs in Python."""
    if HERE.get().draft is not None:
        leave_draft_for_data()
    return _returned(func(*[convert_to_tensor(value) for value in inp]), Tout)


def _returned(result: Any, dtypes: Any) -> Any:
    """As many tensors as there are dtypes; a function may return one of them in a list, or by itself."""
    several: list[Any] = list(result) if isinstance(result, (list, tuple)) else [] if result is None else [result]
    expected: list[Any] = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]
    if len(several) != len(expected):
        raise InvalidArgumentError(
            f"A Python function returned {len(several)} values; expected {len(expected)}, one for each dtype in Tout. Return as "
            f"many, or correct Tout."
        )
    tensors = [cast(convert_to_tensor(one), dtype) for one, dtype in zip(several, expected, strict=True)]
    return tensors if isinstance(dtypes, (list, tuple)) else tensors[0]

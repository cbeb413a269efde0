"""Python functions among operations: a `function` that calls one runs in Python."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
    if isinstance(dtypes, (list, tuple)):
        return [cast(convert_to_tensor(one), dtype) for one, dtype in zip(result, dtypes, strict=True)]
    return cast(convert_to_tensor(result), dtypes)

"""Values of several components as tables for notebooks: which device has what."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from refdist._core.base.html_tables import folded, page, table
from refdist._core.base.jax_facts import is_concrete, is_jax, is_random_key
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor, dtype_name

_HEAD = ("device", "kind", "value")


def value_table(title: str, noun: str, values: Sequence[Any]) -> str:
    """A row for each component; of many, the first ones and the last.

    Args:
        noun: what the component of a number is.
    """
    rows = [
        (f"... {len(values) - 9:,} more", "", "", "") if index is None else (str(index), *described(values[index]))
        for index in folded(len(values))
    ]
    filled = [at for at in range(4) if any(row[at] for row in rows)]
    return page(table(title, [(noun, *_HEAD)[at] for at in filled], [[row[at] for at in filled] for row in rows]))


def described(value: Any) -> tuple[str, str, str]:
    """The device of a component, its kind, and what is in it, in few letters whatever its size.

    >>> described(np.zeros([1000, 1000], np.float32))
    ('', 'float32[1000,1000]', '[[0., ..., 0.], ..., [0., ..., 0.]]')
    >>> described("text")
    ('', 'str', "'text'")
    """
    tensor = isinstance(value, np.ndarray) or is_concrete(value)
    if not tensor or is_random_key(value):
        return "", "" if is_jax(value) else type(value).__name__, repr(value)
    array = np.asarray(value)
    kind = f"{dtype_name(array.dtype)}[{','.join(map(str, array.shape))}]"
    edges = 3 if array.ndim < 2 else 1
    text = np.array2string(array, separator=", ", threshold=12, edgeitems=edges, max_line_width=10_000)
    return _device(value), kind, " ".join(text.split())


def _device(value: Any) -> str:
    if isinstance(value, Tensor):
        return Device(value.device).short
    return str(value.device) if is_jax(value) else ""

"""Values of several components as text, as the documentation prints them."""

from typing import Any

from refdist._core.base.jax_facts import is_concrete
from refdist._core.devices.tensor import dtype_name, numpy_text


def block(title: str, lines: list[str]) -> str:
    """A line for each component.

    >>> print(block("PerReplica", ["1", "2"]))
    PerReplica:{
      0: 1,
      1: 2
    }
    """
    numbered = ",\n".join(f"  {index}: {line}" for index, line in enumerate(lines))
    return f"{title}:{{\n{numbered}\n}}"


def long_text(value: Any) -> str:
    """A component as `repr` prints it: a tensor of any backend in the documented form."""
    if not is_concrete(value):
        return repr(value)
    return f"<tf.Tensor: shape={tuple(value.shape)}, dtype={dtype_name(value.dtype)}, numpy={numpy_text(value)}>"


def short_text(value: Any) -> str:
    """A component as `print` prints it."""
    if is_concrete(value):  # an array of JAX, which prints in a form of its own
        return f"tf.Tensor({value}, shape={tuple(value.shape)}, dtype={dtype_name(value.dtype)})"
    return str(value)

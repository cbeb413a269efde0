"""What arrays of JAX lack that tensors have: a program for TensorFlow calls `numpy()` on what it gets."""

from typing import Any

import numpy as np
from jax._src.array import ArrayImpl


def install() -> None:
    """Give arrays of JAX the method by which tensors become numpy arrays; tracers, which have no numbers yet, have none."""
    setattr(ArrayImpl, "numpy", _numpy)  # noqa: B010, the class does not declare it


def _numpy(self: Any) -> Any:
    """The value as a numpy array, or as a scalar of numpy where there is one number."""
    return np.array(self, copy=True)[()]

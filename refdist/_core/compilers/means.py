"""A sum divided by a number of replicas."""

import jax
import jax.numpy as jnp
import numpy as np

from refdist._core.devices.tensor import mean_dtype


def averaged(total: jax.Array, count: int) -> jax.Array:
    """Divide a sum by a count in its own dtype; integers become as wide as JAX allows, since its own division uses 32 bits."""
    if total.dtype.kind in "iu":
        return total.astype(jax.dtypes.canonicalize_dtype(mean_dtype(total.dtype))) / count
    divisor = np.asarray(count).astype(total.dtype)
    if total.dtype.itemsize <= 2 and float(divisor) != count:  # narrow floats cannot represent the count
        return (total.astype(jnp.float32) / count).astype(total.dtype)
    return total / divisor

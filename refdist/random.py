"""`tf.random`."""

from refdist._core.base.entropy import set_seed
from refdist._core.ops.random_numbers import uniform

__all__ = ["set_seed", "uniform"]

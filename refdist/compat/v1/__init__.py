"""`tf.compat.v1`: what v1 programs need around a strategy."""

from refdist.compat.v1 import distribute
from refdist.compat.v1.variables import enable_eager_execution, fixed_size_partitioner, get_variable
from refdist.input_iterator import ConfigProto

__all__ = [
    "ConfigProto",
    "distribute",
    "enable_eager_execution",
    "fixed_size_partitioner",
    "get_variable",
]

"""`tf.compat.v1`: what v1 programs need around a strategy."""

from refdist.compat.v1 import distribute
from refdist.compat.v1.variables import enable_eager_execution, executing_eagerly, fixed_size_partitioner, get_variable

__all__ = ["distribute", "enable_eager_execution", "executing_eagerly", "fixed_size_partitioner", "get_variable"]

"""`tf.bitwise`: operations on the bits of integers."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.operation_table import bitwise_and, bitwise_or, bitwise_xor

__getattr__ = _lacking("bitwise")

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
]

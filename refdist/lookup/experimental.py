"""`tf.lookup.experimental`."""

from refdist._core.ops.lookup_tables import DenseHashTable, MutableHashTable
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("lookup.experimental")

__all__ = ["DenseHashTable", "MutableHashTable"]

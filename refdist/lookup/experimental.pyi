from refdist._core.ops.lookup_tables import DenseHashTable as DenseHashTable, MutableHashTable as MutableHashTable

__all__ = ["DenseHashTable", "MutableHashTable"]

"""`tf.lookup`: tables from strings or integers to values."""

from refdist._core.ops.lookup_tables import (
    KeyValueTensorInitializer,
    StaticHashTable,
    StaticVocabularyTable,
    TextFileIndex,
    TextFileInitializer,
)
from refdist._core.ops.missing_names import lacking as _lacking
from refdist.lookup import experimental

__getattr__ = _lacking("lookup")

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]

"""`tf.data`: datasets as lazy chains of small stages."""

from refdist.data import experimental
from refdist.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from refdist.data.options import Options
from refdist.data.readers import TextLineDataset, TFRecordDataset

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
]

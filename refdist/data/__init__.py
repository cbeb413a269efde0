"""`tf.data`: datasets as lazy chains of small stages."""

from refdist._core.input.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from refdist._core.input.dataset_options import Options
from refdist._core.input.readers import TextLineDataset, TFRecordDataset
from refdist.data import experimental

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

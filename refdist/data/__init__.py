"""`tf.data`: datasets as lazy chains of small stages."""

from refdist._core.input.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from refdist._core.input.dataset_options import Options, ThreadingOptions
from refdist._core.input.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from refdist._core.ops.missing_names import lacking as _lacking
from refdist.data import experimental

__getattr__ = _lacking("data")

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "FixedLengthRecordDataset",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]

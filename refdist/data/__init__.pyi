from refdist._core.input.dataset import (
    AUTOTUNE as AUTOTUNE,
    Dataset as Dataset,
    INFINITE_CARDINALITY as INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY,
)
from refdist._core.input.dataset_options import Options as Options, ThreadingOptions as ThreadingOptions
from refdist._core.input.readers import (
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    TFRecordDataset as TFRecordDataset,
    TextLineDataset as TextLineDataset,
)
from refdist.data import experimental as experimental

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

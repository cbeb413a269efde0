"""`tf.data.experimental`."""

from refdist._core.input.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from refdist._core.input.dataset_options import (
    SHARD_HINT,
    AutoShardPolicy,
    AutotuneOptions,
    DistributeOptions,
    OptimizationOptions,
    ThreadingOptions,
)
from refdist._core.ops.late_names import late_names as _late_names

_LATE = {
    "refdist._core.files.csv_datasets": "CsvDataset TFRecordWriter make_csv_dataset",
    "refdist._core.input.optional": "Optional get_next_as_optional",
    "refdist._core.input.experimental_transforms": """
        Counter assert_cardinality bucket_by_sequence_length cardinality choose_from_datasets
        copy_to_device dense_to_ragged_batch dense_to_sparse_batch enumerate_dataset from_list get_single_element group_by_window
        ignore_errors load map_and_batch parallel_interleave prefetch_to_device sample_from_datasets
        save scan shuffle_and_repeat take_while unbatch unique
    """,
}
__getattr__, __dir__ = _late_names("data.experimental", globals(), _LATE)

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "DistributeOptions",
    "OptimizationOptions",
    "ThreadingOptions",
]

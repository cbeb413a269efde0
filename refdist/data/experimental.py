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
from refdist._core.input.experimental_transforms import (
    Counter,
    assert_cardinality,
    bucket_by_sequence_length,
    cardinality,
    choose_from_datasets,
    copy_to_device,
    enumerate_dataset,
    from_list,
    get_single_element,
    group_by_window,
    ignore_errors,
    map_and_batch,
    parallel_interleave,
    prefetch_to_device,
    sample_from_datasets,
    scan,
    shuffle_and_repeat,
    take_while,
    unbatch,
    unique,
)
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("data.experimental")

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "Counter",
    "DistributeOptions",
    "OptimizationOptions",
    "ThreadingOptions",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "enumerate_dataset",
    "from_list",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "map_and_batch",
    "parallel_interleave",
    "prefetch_to_device",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "unbatch",
    "unique",
]

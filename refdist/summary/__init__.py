"""`tf.summary`: values for TensorBoard."""

from refdist._core.files.event_file import SummaryWriter, create_file_writer, create_noop_writer
from refdist._core.files.summaries import (
    flush,
    graph,
    histogram,
    image,
    record_if,
    scalar,
    should_record_summaries,
    text,
    trace_export,
    trace_off,
    trace_on,
    write,
)
from refdist._core.ops.missing_names import lacking as _lacking
from refdist.summary import experimental

__getattr__ = _lacking("summary")

__all__ = [
    "SummaryWriter",
    "create_file_writer",
    "create_noop_writer",
    "experimental",
    "flush",
    "graph",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "trace_export",
    "trace_off",
    "trace_on",
    "write",
]

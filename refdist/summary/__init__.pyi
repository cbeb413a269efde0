from refdist._core.files.event_file import (
    SummaryWriter as SummaryWriter,
    create_file_writer as create_file_writer,
    create_noop_writer as create_noop_writer,
)
from refdist._core.files.summaries import (
    flush as flush,
    graph as graph,
    histogram as histogram,
    image as image,
    record_if as record_if,
    scalar as scalar,
    should_record_summaries as should_record_summaries,
    text as text,
    trace_export as trace_export,
    trace_off as trace_off,
    trace_on as trace_on,
    write as write,
)
from refdist.summary import experimental as experimental

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

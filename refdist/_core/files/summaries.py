"""`tf.summary`: values for TensorBoard. In replicas, the first one writes, as in TensorFlow."""

import contextlib
import functools
import warnings
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from refdist._core.base.convert import to_array
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE, entered
from refdist._core.files.event_file import SummaryWriter, default_writer, recording, steps
from refdist._core.files.images import encode_png
from refdist._core.ops.byte_strings import Array, byte_strings
from refdist._core.ops.tensor_functions import convert_to_tensor, fresh
from refdist._core.seam.draft import leave_draft_for_data
from refdist._core.variables.tensors import Readable, current_value


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Record a number."""
    return _recorded(name, lambda: _number(name, data), step, "scalars", description)


def histogram(
    name: str, data: Any, step: Any = None, buckets: int | None = None, description: str | None = None
) -> Any:
    """Record how numbers are distributed, in buckets of equal width."""
    return _recorded(name, lambda: _counted(data, 30 if buckets is None else buckets), step, "histograms", description)


def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None) -> Any:
    """Record the first images of a batch: of uint8, or of floats from 0 to 1."""
    return _recorded(name, lambda: _images(name, data, max_outputs), step, "images", description)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Record text, which TensorBoard reads as Markdown."""
    return _recorded(name, lambda: byte_strings(data, f"tf.summary.text({name!r})"), step, "text", description)


def write(tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: Any = None) -> Any:
    """Record a tensor as it is."""
    plugin, content = "", b""
    if metadata is not None:
        plugin, content = metadata.plugin_data.plugin_name, metadata.plugin_data.content
    return _recorded(tag, lambda: to_array(current_value(tensor)), step, plugin, None, prefix="", content=content)


def flush(writer: SummaryWriter | None = None, name: Any = None) -> None:
    """Pass what the default writer, or another, has written on to the operating system."""
    chosen = writer or default_writer()
    if chosen is not None:
        chosen.flush()


@contextlib.contextmanager
def record_if(condition: Any) -> Generator[None]:
    """Record in a block only if a condition holds: a truth value, a tensor, or a function that returns one."""
    if not (callable(condition) or isinstance(condition, Readable) or is_tracer(condition)):
        condition = bool(np.asarray(condition))  # so that a function of which nothing is recorded here can be compiled
    with entered(recording=recording()._replace(condition=condition)):
        yield


def should_record_summaries() -> Any:
    """Say whether values are recorded here: there is a writer, record_if() allows it, and this is the first replica."""
    return fresh(np.array(_recording()))


def get_step() -> Any:
    """The default step."""
    return steps().step


def set_step(step: Any) -> None:
    """Set the default step: a number, or a variable that counts; None takes it back."""
    steps().step = step


@contextlib.contextmanager
def summary_scope(name: str, default_name: str = "summary", values: Any = None) -> Generator[tuple[str, str]]:
    """Put a name before those of the values recorded in a block; delivers the name of a value, and the prefix."""
    tag = f"{HERE.get().name_scope}{name or default_name}"
    with entered(name_scope=f"{tag}/"):
        yield tag, f"{tag}/"


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: str | None = None) -> None:
    """Accept the call; no trace is taken."""
    _not_written("trace_on()", "a graph or a profile", "jax.profiler.trace() writes profiles that TensorBoard reads")


def trace_off() -> None:
    """Accept the call; no trace was taken."""


def trace_export(name: str, step: Any = None, profiler_outdir: str | None = None) -> None:
    """Accept the call; there is no trace to write."""
    _not_written(
        "trace_export()", "a graph or a profile", "jax.profiler.trace() writes profiles that TensorBoard reads"
    )


def graph(graph_data: Any) -> Any:
    """Accept a graph, which is not written: functions here are programs of JAX."""
    _not_written("graph()", "a graph", "tf.function(...).experimental_get_compiler_ir() has the text of a program")
    return fresh(np.array(False))


@functools.cache
def _not_written(call: str, what: str, instead: str) -> None:
    """Say once that something is not written."""
    warnings.warn(
        f"tf.summary.{call} was called, which writes {what} in TensorFlow; expected scalars, histograms, images or text. Nothing "
        f"is written; {instead}.",
        UserWarning,
        stacklevel=3,
    )


def _recorded(
    name: str,
    make: Callable[[], Array],
    step: Any,
    plugin: str,
    description: str | None,
    prefix: str | None = None,
    content: bytes = b"",
) -> Any:
    writer = default_writer()
    if writer is not None and recording().condition is not False and HERE.get().draft is not None:
        _runs_in_python()
    recorded = _recording()
    if recorded and writer is not None:
        number = _step(name, steps().step if step is None else step)
        tag = f"{HERE.get().name_scope if prefix is None else prefix}{name}"
        writer.write(tag, make(), number, plugin, description, content)
    return fresh(np.array(recorded))


def _recording() -> bool:
    if (draft := HERE.get().draft) is not None:
        draft.summarizes = True
    if default_writer() is None or recording().condition is False:
        return False
    leave_draft_for_data()
    here = HERE.get()
    if here.frame is not None and here.frame.replica is not None and here.frame.replica.replica_id_in_sync_group:
        return False
    condition = recording().condition
    condition = condition() if callable(condition) else current_value(condition)
    return bool(np.asarray(condition))


@functools.cache
def _runs_in_python() -> None:
    warnings.warn(
        "A value was recorded by tf.summary in a tf.function, which therefore runs in Python, operation by operation; expected "
        "summaries outside of functions, because a compiled program writes no files. Return the value and record it there, to "
        "be quicker.",
        UserWarning,
        stacklevel=4,
    )


def _step(name: str, step: Any) -> int:
    step = current_value(step)
    if step is None:
        raise ValueError(
            f"tf.summary was to record {name!r} without a step; expected one. Pass step=, or call "
            f"tf.summary.experimental.set_step()."
        )
    array = np.asarray(step)
    if array.ndim or array.dtype.kind not in "iu":
        raise TypeError(f"The step of {name!r} is {step!r}; expected an integer. Convert it with int().")
    return int(array)


def _number(name: str, data: Any) -> Array:
    array = np.asarray(convert_to_tensor(data))
    if array.ndim or array.dtype.kind == "O":
        raise ValueError(
            f"tf.summary.scalar({name!r}) got a tensor of shape {array.shape} and dtype {array.dtype}; expected one number. "
            f"Reduce it, for example with tf.reduce_mean()."
        )
    return array.astype(np.float32)


def _counted(data: Any, buckets: int) -> Array:
    """A row for each bucket: from where, to where, and how many."""
    numbers = np.asarray(convert_to_tensor(data)).astype(np.float64).ravel()
    if not numbers.size or not buckets:
        return np.zeros((buckets, 3))
    low, high = numbers.min(), numbers.max()
    if low == high:
        counts = np.zeros(buckets)
        counts[-1] = numbers.size
        return np.stack([np.full(buckets, low), np.full(buckets, low), counts], -1)
    counts, edges = np.histogram(numbers, buckets, (low, high))
    return np.stack([edges[:-1], edges[1:], counts], -1)


def _images(name: str, data: Any, most: int) -> Array:
    """The width and height as text, and each image as a PNG."""
    array = np.asarray(convert_to_tensor(data))
    if array.ndim != 4:
        raise ValueError(
            f"tf.summary.image({name!r}) got a tensor of shape {array.shape}; expected images, height, width and channels. Add a "
            f"dimension with image[tf.newaxis]."
        )
    if array.dtype.kind not in "iu":
        array = (np.clip(array.astype(np.float32), 0, 1) * 255.5).astype(np.uint8)
    coded = np.asarray(encode_png(array[:most].astype(np.uint8))).tolist()
    return np.array([str(array.shape[2]).encode(), str(array.shape[1]).encode(), *coded], object)

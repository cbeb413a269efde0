"""The files that TensorBoard reads: records of events, each with a step and a tensor under a name."""

import importlib
import itertools
import os
import time
import weakref
from typing import Any, NamedTuple

from refdist._core.base.where import HERE, entered
from refdist._core.files.tensor_bytes import tensor_message
from refdist._core.input.tfrecord import TFRecordWriter
from refdist._core.ops.byte_strings import Array, text

_NUMBERS = itertools.count()


class SummaryWriter:
    """Writes what `tf.summary` records while it is the default writer."""

    def __init__(self, folder: str | None, suffix: str = ".v2") -> None:
        self._records = None if folder is None else _opened(folder, suffix)
        self._closed = False
        if self._records is not None:
            weakref.finalize(self, self._records.close)  # also at exit, before Python takes its modules apart

    def as_default(self, step: Any = None) -> "_Default":
        """Make it the default writer for a `with` block, and a step the default step."""
        self._require_open()
        return _Default(self, step)

    def set_as_default(self, step: Any = None) -> None:
        """Make it the default writer from here on, and a step the default step."""
        self._require_open()
        FOR_GOOD.writer = self
        if step is not None:
            steps().step = step

    def init(self) -> None:
        """Do nothing: the file is there already."""
        self._require_open()

    def flush(self) -> None:
        """Pass what was written on to the operating system."""
        if self._records is not None and not self._closed:
            self._records.flush()

    def close(self) -> None:
        """Finish the file; a second call does nothing."""
        self._closed = True
        if self._records is not None:
            self._records.close()

    def write(
        self, tag: str, array: Array, step: int, plugin: str, description: str | None, content: bytes = b""
    ) -> None:
        """Write one value, and what the plugin that shows it has to know."""
        self._require_open()
        if self._records is None:
            return
        value = message("SummaryValue")(tag=tag, tensor=tensor_message(array))
        if plugin:
            value.metadata.plugin_data.plugin_name = plugin
            value.metadata.plugin_data.content = content
        if description:
            value.metadata.summary_description = description
        summary = message("Summary")(value=[value])
        self._records.write(message("Event")(wall_time=time.time(), step=step, summary=summary).SerializeToString())

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError(
                "A summary writer was used after close(); expected one that is open. Make another with "
                "tf.summary.create_file_writer()."
            )


class Steps:
    """The default step, which a variable may count."""

    def __init__(self, step: Any = None) -> None:
        self.step = step


class Recording(NamedTuple):
    """How values are recorded in a block of code; None is what was set without a `with` block."""

    writer: SummaryWriter | None = None
    steps: Steps | None = None  # where the step is kept that values have without one of their own
    condition: Any = True  # whether to record at all: a truth value, or a function that returns one


class ForGood:
    """What was set without a `with` block."""

    def __init__(self) -> None:
        self.writer: SummaryWriter | None = None
        self.steps = Steps()


FOR_GOOD = ForGood()
_UNCHANGED = Recording()


def recording() -> Recording:
    """How values are recorded here."""
    return HERE.get().recording or _UNCHANGED


def steps() -> Steps:
    """Where the default step is kept: in the innermost block that has one of its own."""
    return recording().steps or FOR_GOOD.steps


def default_writer() -> SummaryWriter | None:
    """The writer that is the default here."""
    return recording().writer or FOR_GOOD.writer


class _Default:
    """A block of code in which a writer is the default."""

    def __init__(self, writer: SummaryWriter, step: Any) -> None:
        self._writer, self._step = writer, step

    def __enter__(self) -> SummaryWriter:
        around = recording()
        steps = around.steps if self._step is None else Steps(self._step)
        self._block = entered(recording=around._replace(writer=self._writer, steps=steps))
        self._block.__enter__()
        return self._writer

    def __exit__(self, *exception: object) -> None:
        self._block.__exit__(*exception)
        self._writer.flush()


def create_file_writer(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: str | None = None,
    name: Any = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """Make a writer of event files in a folder; what is queued is written when it is flushed, at the latest."""
    return SummaryWriter(text(logdir, "create_file_writer()"), ".v2" if filename_suffix is None else filename_suffix)


def create_noop_writer() -> SummaryWriter:
    """Make a writer that writes nothing."""
    return SummaryWriter(None)


def _opened(folder: str, suffix: str) -> TFRecordWriter:
    os.makedirs(folder, exist_ok=True)
    host = importlib.import_module("socket").gethostname()  # takes 10 ms to load, and is rarely needed
    name = f"events.out.tfevents.{int(time.time())}.{host}.{os.getpid()}.{next(_NUMBERS)}{suffix}"
    records = TFRecordWriter(os.path.join(folder, name))
    records.write(message("Event")(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
    records.flush()
    return records


def message(name: str) -> Any:
    """The class of a protocol message, which takes a while to load."""
    return importlib.import_module("refdist._core.files.messages").message(name)

"""The callback `TensorBoard`, which Keras writes with TensorFlow's `tf.summary`, and here with that of refdist."""

import importlib
import types
import warnings
from typing import Any

from refdist._core.files import event_file, summaries
from refdist._core.files.messages import message

_callbacks: Any = importlib.import_module("keras.src.callbacks.tensorboard")

_SUMMARY = types.SimpleNamespace(
    create_file_writer=event_file.create_file_writer,
    histogram=summaries.histogram,
    image=summaries.image,
    record_if=summaries.record_if,
    scalar=summaries.scalar,
    trace_export=summaries.trace_export,
    trace_on=summaries.trace_on,
)


def install() -> None:
    """Let the callback write its events without TensorFlow."""
    _callbacks.TensorBoard.summary = property(lambda _: _SUMMARY)
    _callbacks.keras_model_summary = _model_summary


def _model_summary(name: str, data: Any, step: Any = None) -> Any:
    """Record the layers of a model, which TensorBoard shows as a graph."""
    try:
        layers = data.to_json()
    except Exception as error:
        warnings.warn(
            f"TensorBoard was to show a model that has no JSON ({error}); expected layers with get_config(). Add it to your "
            f"layers, or pass write_graph=False; training goes on.",
            UserWarning,
            stacklevel=2,
        )
        return False
    metadata = message("SummaryMetadata")()
    metadata.plugin_data.plugin_name = "graph_keras_model"
    metadata.plugin_data.content = b"1"  # the version of the plugin's format
    with summaries.summary_scope(name, "graph_keras_model") as (tag, _):
        return summaries.write(tag, layers, step, metadata)

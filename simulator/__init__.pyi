from simulator import libraries as libraries, presets as presets
from simulator.predictions.collectives import (
    predict_all_gather as predict_all_gather,
    predict_all_to_all as predict_all_to_all,
    predict_broadcast as predict_broadcast,
    predict_reduce_scatter as predict_reduce_scatter,
    predict_send as predict_send,
)
from simulator.devices.controls import (
    busy as busy,
    memory_report as memory_report,
    now as now,
    overlap as overlap,
    report as report,
    step_report as step_report,
    steps as steps,
    trace as trace,
)
from simulator.machines.fabric import Fabric as Fabric
from simulator.loops.folding import fold as fold
from refdist._core.input.ledger_findings import Delivery as Delivery, Finding as Finding
from refdist._core.input.sample_ledger import Ledger as Ledger, LedgerError as LedgerError, ledger as ledger
from simulator.devices.memory import OutOfMemory as OutOfMemory
from simulator.predictions.predicted_step import (
    Efficiency as Efficiency,
    StepPrediction as StepPrediction,
    Variation as Variation,
    predict_step as predict_step,
)
from simulator.predictions.prediction import Prediction as Prediction, predict_all_reduce as predict_all_reduce
from simulator.predictions.recording import trace_all_reduce as trace_all_reduce
from simulator.predictions.scaled_step import predict_scaled_step as predict_scaled_step
from simulator.base.step_records import Step as Step
from simulator.predictions.sweeping import Sweep as Sweep, sweep as sweep
from simulator.machines.topology import Cluster as Cluster, DeviceKind as DeviceKind, Links as Links
from simulator.recordings.traces import Arrow as Arrow, Span as Span, Trace as Trace

__all__ = [
    "Arrow",
    "Cluster",
    "Delivery",
    "DeviceKind",
    "Efficiency",
    "Fabric",
    "Finding",
    "Ledger",
    "LedgerError",
    "Links",
    "OutOfMemory",
    "Prediction",
    "Span",
    "Step",
    "StepPrediction",
    "Sweep",
    "Trace",
    "Variation",
    "busy",
    "fold",
    "ledger",
    "libraries",
    "memory_report",
    "now",
    "overlap",
    "predict_all_gather",
    "predict_all_reduce",
    "predict_all_to_all",
    "predict_broadcast",
    "predict_reduce_scatter",
    "predict_scaled_step",
    "predict_send",
    "predict_step",
    "presets",
    "report",
    "step_report",
    "steps",
    "sweep",
    "trace",
    "trace_all_reduce",
]

"""Virtual devices in one process, with exact numerics: choose them with `refdist.use("simulator", gpus=8)`."""

from simulator import libraries, presets
from simulator.collectives import (
    predict_all_gather,
    predict_all_to_all,
    predict_broadcast,
    predict_reduce_scatter,
    predict_send,
)
from simulator.controls import busy, memory_report, now, overlap, report, step_report, steps, trace
from simulator.fabric import Fabric
from simulator.folding import fold
from simulator.ledger import Delivery, Finding, Ledger, LedgerError, ledger
from simulator.memory import OutOfMemory
from simulator.predicted_step import Efficiency, StepPrediction, Variation, predict_step
from simulator.prediction import Prediction, predict_all_reduce
from simulator.recording import trace_all_reduce
from simulator.scaled_step import predict_scaled_step
from simulator.steps import Step
from simulator.sweeping import Sweep, sweep
from simulator.topology import Cluster, DeviceKind, Links
from simulator.traces import Arrow, Span, Trace

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

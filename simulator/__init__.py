"""Virtual devices in one process, with exact numerics: choose them with `refdist.use("simulator", gpus=8)`."""

from simulator import presets
from simulator.controls import busy, memory_report, now, overlap, report, step_report, steps, trace
from simulator.folding import fold
from simulator.ledger import Delivery, Finding, Ledger, LedgerError, ledger
from simulator.memory import OutOfMemory
from simulator.prediction import Prediction, predict_all_reduce
from simulator.recording import trace_all_reduce
from simulator.steps import Step
from simulator.topology import Cluster, DeviceKind, Links
from simulator.traces import Arrow, Span, Trace

__all__ = [
    "Arrow",
    "Cluster",
    "Delivery",
    "DeviceKind",
    "Finding",
    "Ledger",
    "LedgerError",
    "Links",
    "OutOfMemory",
    "Prediction",
    "Span",
    "Step",
    "Trace",
    "busy",
    "fold",
    "ledger",
    "memory_report",
    "now",
    "overlap",
    "predict_all_reduce",
    "presets",
    "report",
    "step_report",
    "steps",
    "trace",
    "trace_all_reduce",
]

"""Several workers: all in one process, in lockstep, or each in its own. Ours, not documented."""

from refdist._core.clusters.workers import run_workers
from refdist._core.processes.waiting_limits import set_limits

__all__ = ["run_workers", "set_limits"]

from refdist._core.clusters.workers import run_workers as run_workers
from refdist._core.processes.waiting_limits import set_limits as set_limits

__all__ = ["run_workers", "set_limits"]

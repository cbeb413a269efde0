"""Several workers in one process, in lockstep: ours, not documented."""

from refdist._core.clusters.workers import run_workers

__all__ = ["run_workers"]

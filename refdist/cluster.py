"""Several workers: all in one process, in lockstep, or each in its own. Ours, not documented."""

from refdist._core.ops.late_names import late_names as _late_names

__getattr__, __dir__ = _late_names(__name__, __spec__)

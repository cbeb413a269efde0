"""`tf.profiler.experimental`: accepted, and says once what profiles programs."""

from refdist._core.ops.machine_switches import Profile, Trace, start, stop
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("profiler.experimental")

__all__ = ["Profile", "Trace", "start", "stop"]

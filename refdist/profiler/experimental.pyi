from refdist._core.ops.machine_switches import Profile as Profile, Trace as Trace, start as start, stop as stop

__all__ = ["Profile", "Trace", "start", "stop"]

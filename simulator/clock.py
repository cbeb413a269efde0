"""Virtual time: one clock for each device of a cluster, moved on by work and by messages."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.prediction import Prediction, arrivals, in_step
from simulator.recording import record
from simulator.schedules import Schedule
from simulator.topology import Cluster
from simulator.traces import Span, Trace

Array = np.ndarray[Any, Any]


class Clock:
    """The present time of every device, and what each has done so far."""

    def __init__(self, cluster: Cluster, names: Sequence[str]) -> None:
        assert len(names) == cluster.device_count
        self.cluster, self.names = cluster, tuple(names)
        self.time = np.zeros(cluster.device_count)
        self.computing = np.zeros(cluster.device_count)  # seconds spent
        self.communicating = np.zeros(cluster.device_count)
        self.waiting = np.zeros(cluster.device_count)
        self.overlaps = False  # whether devices go on computing while they communicate
        self._free = np.zeros(cluster.device_count)  # when the last exchange of each device is over
        self.recorded: list[Trace] | None = None  # while somebody asks for it

    def now(self) -> float:
        """The time of the device that is furthest on."""
        return float(self.time.max())

    def work(self, device: int, seconds: float, name: str = "compute") -> None:
        """Let one device be busy."""
        if self.recorded is not None and seconds > 0:
            start = float(self.time[device])
            self.recorded.append(Trace((Span(self.names[device], name, start, start + seconds, "compute"),), ()))
        self.time[device] += seconds
        self.computing[device] += seconds

    def roofline(self, flops: float, size_bytes: float) -> float:
        """The seconds in which a device does so many operations on so many bytes, whichever takes longer."""
        kind = self.cluster.kind
        return max(flops / kind.flops_per_second, size_bytes / kind.memory_bandwidth_bytes_per_second)

    def collective(self, schedule: Schedule, devices: Sequence[int], payload_bytes: float) -> Prediction:
        """Let devices exchange messages; each begins when it is there, and goes on when its own have arrived."""
        chosen = np.asarray(devices)
        # One exchange after the other: what goes on in the background holds up the next one.
        begin = np.maximum(self.time[chosen], self._free[chosen])
        if self.recorded is not None:
            # What happens in the background has a track of its own beside the device's.
            names = [f"{name} exchange" for name in self.names] if self.overlaps else self.names
            self.recorded.append(
                record(self.cluster, schedule, payload_bytes, devices=chosen, begin=begin, names=names)
            )
        found = in_step(self.cluster, schedule, payload_bytes, 0, chosen) if np.all(begin == begin[0]) else None
        if found is not None:
            done = begin + found.seconds
        else:
            found, done = arrivals(self.cluster, schedule, payload_bytes, chosen, begin)
        # Who is there first waits for the last; the rest of the time is the exchange itself.
        latest = float(begin.max())
        for device, start, end in zip(chosen, begin, done, strict=True):
            there = min(max(latest, start), end)
            self.waiting[device] += 0.0 if self.overlaps else there - start
            self.communicating[device] += end - there
        self._free[chosen] = done
        if not self.overlaps:
            self.time[chosen] = done
        return found

    def together(self, devices: Sequence[int], seconds: float) -> None:
        """Let devices wait for the last of them, and then take the same time."""
        chosen = np.asarray(devices)
        begin = np.maximum(self.time[chosen], self._free[chosen])
        self.waiting[chosen] += begin.max() - begin
        self.communicating[chosen] += seconds
        self._free[chosen] = begin.max() + seconds
        if not self.overlaps:
            self.time[chosen] = self._free[chosen]

    def catch_up(self) -> None:
        """Let every device wait for the end of its exchanges."""
        self.waiting += np.maximum(self._free - self.time, 0.0)
        self.time = np.maximum(self.time, self._free)

    def report(self) -> str:
        """How long each device has computed, communicated and waited, as text."""
        lines = [f"{'device':12} {'time':>12} {'compute':>12} {'collective':>12} {'waiting':>12}"]
        shown = (
            range(len(self.names))
            if len(self.names) <= 16
            else [*range(8), *range(len(self.names) - 8, len(self.names))]
        )
        for place, device in enumerate(shown):
            if place and device != shown[place - 1] + 1:
                lines.append(f"... {len(self.names) - 16} more")
            columns = (self.time, self.computing, self.communicating, self.waiting)
            lines.append(f"{self.names[device]:12} " + " ".join(f"{_text(column[device]):>12}" for column in columns))
        return "\n".join(lines)


def _text(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> _text(0.00125), _text(3e-7), _text(2.0), _text(0.0)
    ('1.250 ms', '300.0 ns', '2.000 s', '0 s')
    """
    if seconds == 0:
        return "0 s"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if seconds >= scale or unit == "ns":
            return f"{_digits(seconds / scale)} {unit}"
    raise AssertionError


def _digits(number: float) -> str:
    return f"{number:.3f}" if number < 10 else f"{number:.2f}" if number < 100 else f"{number:.1f}"

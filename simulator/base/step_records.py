"""Steps: what the devices did in one run of a function over the replicas."""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One run: when it began and ended, and how long its devices computed, communicated and waited on average."""

    number: int
    devices: int
    start_seconds: float
    end_seconds: float
    compute_seconds: float
    collective_seconds: float
    waiting_seconds: float
    slowest: str  # the device that computed longest

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end_seconds - self.start_seconds


def report_of(steps: Sequence[Step]) -> str:
    """Steps as text, one on a line.

    >>> print(report_of([Step(1, 8, 0.0, 2.5e-3, 1.5e-3, 0.25e-3, 0.75e-3, "GPU:5")]))
      step      took   compute collective   waiting  slowest device
         1  2.500 ms  1.500 ms   250.0 us  750.0 us  GPU:5
    """
    lines = [f"{'step':>6} {'took':>9} {'compute':>9} {'collective':>10} {'waiting':>9}  slowest device"]
    for one in steps:
        took, *means = map(time_text, (one.seconds, one.compute_seconds, one.collective_seconds, one.waiting_seconds))
        compute, collective, waiting = means
        lines.append(f"{one.number:>6} {took:>9} {compute:>9} {collective:>10} {waiting:>9}  {one.slowest}")
    return "\n".join(lines)


def time_text(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> time_text(0.00125), time_text(3e-7), time_text(2.0), time_text(0.0)
    ('1.250 ms', '300.0 ns', '2.000 s', '0 s')
    """
    if seconds == 0:
        return "0 s"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if seconds >= scale or unit == "ns":
            return f"{_digits(seconds / scale)} {unit}"
    raise AssertionError


def size_text(size: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> size_text(0), size_text(1500), size_text(80e9)
    ('0 B', '1.50 kB', '80.0 GB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}" if size / scale >= 100 else f"{size / scale:#.3g} {unit}"
    return f"{size:.0f} B"


def _digits(number: float) -> str:
    return f"{number:.3f}" if number < 10 else f"{number:.2f}" if number < 100 else f"{number:.1f}"

"""Device names: every documented spelling, in one canonical form."""

import re
from collections.abc import Sequence

_SPELLING = re.compile(
    r"/?(?:job:(?P<job>[A-Za-z_]\w*))?/?(?:replica:(?P<replica>\d+))?/?(?:task:(?P<task>\d+))?"
    r"/?(?:device:)?(?P<kind>[A-Za-z]\w*?)(?::(?P<number>\d+))?/?"
)


class Device(str):
    """The full name of a device, which is also its identity.

    >>> Device("gpu:1")
    '/job:localhost/replica:0/task:0/device:GPU:1'
    >>> Device("/job:worker/task:2/device:CPU:0").task
    2
    """

    kind: str
    number: int
    job: str
    task: int

    def __new__(cls, name: str) -> "Device":
        if isinstance(name, Device):
            return name
        found = _SPELLING.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            raise ValueError(
                f"The device is {name!r}; expected a name such as 'GPU:0', '/cpu:0', '/device:GPU:1' or "
                f"'/job:localhost/replica:0/task:0/device:GPU:0'. Use one of these spellings."
            )
        job, replica = found["job"] or "localhost", int(found["replica"] or 0)
        task, kind, number = int(found["task"] or 0), found["kind"].upper(), int(found["number"] or 0)
        self = super().__new__(cls, f"/job:{job}/replica:{replica}/task:{task}/device:{kind}:{number}")
        self.kind, self.number, self.job, self.task = kind, number, job, task
        return self

    def at(self, job: str, task: int) -> "Device":
        """Return the device of the same kind and number in a task of a cluster.

        >>> Device("GPU:1").at("worker", 2)
        '/job:worker/replica:0/task:2/device:GPU:1'
        """
        return Device(f"/job:{job}/replica:0/task:{task}/device:{self.kind}:{self.number}")

    def beside(self, other: "Device") -> bool:
        """Say whether two devices belong to one task.

        >>> Device("/job:ps/task:1/device:CPU:0").beside(Device("CPU:0"))
        False
        """
        return (self.job, self.task) == (other.job, other.task)

    @property
    def short(self) -> str:
        """The name without job and task, for messages.

        >>> Device("/gpu:3").short
        'GPU:3'
        """
        return f"{self.kind}:{self.number}"


def resolve(name: str, available: Sequence[Device]) -> Device:
    """Find a device by any of its spellings, or raise an error that lists the devices."""
    return resolve_all([name], available)[0]


def resolve_all(names: Sequence[str], available: Sequence[Device]) -> tuple[Device, ...]:
    """Find several devices, each by any of its spellings."""
    there = frozenset(available)
    return tuple(_known(name, there, available) for name in names)


def _known(name: str, there: frozenset[Device], available: Sequence[Device]) -> Device:
    device = Device(name)
    if device not in there and "job:" not in name and available:
        device = device.at(available[0].job, available[0].task)  # a name without a job means a device of this task
    if device not in there:
        names = ", ".join(known.short for known in available[:16]) + (", ..." if len(available) > 16 else "")
        raise ValueError(
            f"The device {name!r} does not exist; expected one of the {len(available)} devices there are: {names}. "
            f"Name one of these, or ask for more devices with refdist.use(...)."
        )
    return device

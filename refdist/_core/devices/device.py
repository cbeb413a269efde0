"""Device names: every documented spelling, in one canonical form."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_SPELLING = re.compile(
    r"/?(?:job:(?P<job>[A-Za-z_]\w*))?/?(?:replica:(?P<replica>\d+))?/?(?:task:(?P<task>\d+))?"
    r"/?(?:device:)?(?P<kind>[A-Za-z]\w*?)(?::(?P<number>\d+|\*))?/?"
)
_TASK = re.compile(r"/?(?:job:(?P<job>[A-Za-z_]\w*))?/?(?:replica:\d+)?/?(?:task:(?P<task>\d+))?/?")


class PhysicalDevice(NamedTuple):
    """A device of the machine."""

    name: str
    device_type: str


class LogicalDevice(PhysicalDevice):
    """A device as strategies name it."""


DeviceName = str | LogicalDevice


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
        number = 0 if found["number"] in (None, "*") else int(found["number"])
        task, kind = int(found["task"] or 0), found["kind"].upper()
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


def resolve(name: DeviceName, available: Sequence[Device]) -> Device:
    """Find a device by any of its spellings, or raise an error that lists the devices."""
    return resolve_all([name], available)[0]


def resolve_all(names: Sequence[DeviceName], available: Sequence[Device]) -> tuple[Device, ...]:
    """Find several devices, each by any of its spellings."""
    there = frozenset(available)
    return tuple(_known(name, there, available) for name in names)


def resolve_within(name: DeviceName, outer: Device | None, available: Sequence[Device]) -> Device | None:
    """Find the device that a name means in the scope of another one: what the name leaves out is as it is there.

    >>> ps = Device("/job:ps/task:1/device:CPU:0")
    >>> resolve_within("/job:ps/task:1", None, [Device("CPU:0"), ps]) == ps
    True
    >>> resolve_within("/device:CPU:0", ps, [Device("CPU:0"), ps]) == ps
    True
    """
    text = _text(name)
    if not isinstance(text, str):
        return resolve(text, available)  # raises
    if not text.strip("/"):
        return outer
    task = _TASK.fullmatch(text)
    if task is None and ("job:" in text or outer is None or outer.beside(available[0])):
        return resolve(text, available)
    if task is None:
        own = Device(text).at(outer.job, outer.task) if outer is not None else Device(text)
        return own if own in available else resolve(text, available)
    start = outer or available[0]
    same_job = task["job"] in (None, start.job)
    number = int(task["task"]) if task["task"] else start.task if same_job else 0
    return resolve(start.at(task["job"] or start.job, number), available)


def _text(name: DeviceName) -> str:
    return name.name if isinstance(name, PhysicalDevice) else name


def _known(given: DeviceName, there: frozenset[Device], available: Sequence[Device]) -> Device:
    name = _text(given)
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

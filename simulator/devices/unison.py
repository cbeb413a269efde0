"""Devices in unison: all of them do what the first of them computes."""

import dataclasses
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refdist._core.devices.device import Device


@dataclasses.dataclass(frozen=True)
class Unison:
    """Devices of which the first acts for all, and what was given to them."""

    devices: tuple["Device", ...]
    places: Sequence[int]  # of those that are in the cluster
    source: "Device"  # where the tensor was that they were given
    ready: float  # when all of them have it, in virtual seconds

    def led_by(self, device: "Device | None") -> bool:
        """Say whether a device is the one that acts for all."""
        return device == self.devices[0]

    def has_brought(self, source: "Device", target: "Device") -> bool:
        """Say whether a device needs no copy from another one, because it was given the tensor or has computed it too."""
        return target in self.devices and source in (self.devices[0], self.source)


UNISON: ContextVar[Unison | None] = ContextVar("unison", default=None)
"""The devices that act in unison in the surrounding block, if there are any."""


@contextmanager
def entered_unison(unison: Unison) -> Generator[None]:
    """Let devices act in unison in a block."""
    token = UNISON.set(unison)
    try:
        yield
    finally:
        UNISON.reset(token)

"""The memory of virtual devices: what is resident, and who holds it."""

import threading
import weakref
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.base.step_records import size_text


class OutOfMemory(MemoryError):
    """A device was to hold more than it has room for."""


class Memory:
    """Counts the bytes of the tensors that are alive on each device, by the line that made them."""

    def __init__(self, names: Sequence[str], capacity_bytes: float) -> None:
        self._names, self._capacity = tuple(names), capacity_bytes
        self._bytes_of_line: list[Counter[str]] = [Counter() for _ in names]
        self._resident = np.zeros(len(names), np.int64)
        self._peak = np.zeros(len(names), np.int64)
        self._lock = threading.RLock()  # tensors come and go in several threads
        self._alive: dict[int, Any] = {}
        self._shared: dict[int, tuple[Any, frozenset[int], int, str]] = {}  # what several devices have of one array

    def resident(self, device: int) -> int:
        """The bytes that are on a device now."""
        return int(self._resident[device])

    def peak(self, device: int) -> int:
        """The most that was ever on it."""
        return int(self._peak[device])

    def hold(self, tensor: Any, device: int, made_at: str) -> None:
        """Count a tensor as long as it is alive, or raise where there is no room for it."""
        size, key = int(tensor.nbytes), id(tensor)
        with self._lock:
            now = int(self._resident[device]) + size
            if now > self._capacity:
                self.require([device], size, made_at)
            self._resident[device] = now
            if now > self._peak[device]:
                self._peak[device] = now
            self._bytes_of_line[device][made_at] += size
        self._alive[key] = weakref.ref(tensor, lambda _: self._release(key, device, made_at, size))

    def hold_on_each(self, array: Any, devices: Sequence[int], size: int, made_at: str) -> None:
        """Count an array of which each device has so many bytes, as long as it is alive or until it is let go."""
        key, places = id(array), list(devices)
        with self._lock:
            self.require(devices, size, made_at)
            self._resident[places] += size
        self._shared[key] = (weakref.ref(array, lambda _: self._let_go(key)), frozenset(places), size, made_at)

    def let_go(self, array: Any) -> None:
        """Count an array no longer, because tensors that were made of it are counted."""
        self._let_go(id(array))

    def require(self, devices: Sequence[int], size: float, made_at: str) -> None:
        """Raise where there is no room for so much more on each device, even for a moment."""
        places = list(devices)
        needed = self._resident[places] + int(size)
        if (needed > self._capacity).any():
            device = places[int(np.argmax(needed > self._capacity))]
            raise OutOfMemory(
                f"{self._names[device]} was to hold {size_text(size)} more, made at {made_at}; expected at most "
                f"{size_text(self._capacity)} in all, of which {size_text(self._resident[device])} are in use:\n"
                f"{self._largest(device)}\n"
                f"Use smaller batches, fewer or smaller variables, or a device with more memory."
            )
        self._peak[places] = np.maximum(self._peak[places], needed)

    def report(self) -> str:
        """What each device holds now, and held at most, as text."""
        width = max(12, *map(len, self._names))
        lines = [f"{'device':{width}} {'resident':>12} {'peak':>12}"]
        lines += [
            f"{name:{width}} {size_text(self._resident[place]):>12} {size_text(self._peak[place]):>12}"
            for place, name in enumerate(self._names[:32])
        ]
        more = len(self._names) - 32
        return "\n".join([*lines, *([f"... {more} more"] if more > 0 else [])])

    def _release(self, key: int, device: int, made_at: str, size: int) -> None:
        self._alive.pop(key, None)
        with self._lock:
            self._resident[device] -= size
            self._bytes_of_line[device][made_at] -= size
            if not self._bytes_of_line[device][made_at]:
                del self._bytes_of_line[device][made_at]

    def _let_go(self, key: int) -> None:
        _, places, size, _ = self._shared.pop(key, (None, frozenset[int](), 0, ""))
        with self._lock:
            self._resident[list(places)] -= size

    def _largest(self, device: int) -> str:
        lines = Counter(self._bytes_of_line[device])
        for _, places, size, made_at in self._shared.values():
            if device in places:
                lines[made_at] += size
        return "\n".join(f"  {size_text(size)} made at {made_at}" for made_at, size in lines.most_common(5))

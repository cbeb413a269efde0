"""What a run of the benchmarks was asked for."""

from dataclasses import dataclass

DEVICE_COUNTS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Settings:
    """Which cases to make."""

    backends: tuple[str, ...] = ("jax", "simulator")
    replicas: tuple[int, ...] | None = None
    """The numbers of replicas, where a case has some; None for those of each case."""
    devices: int = max(DEVICE_COUNTS)
    """How many real devices there are to use."""
    quick: bool = False

    def device_counts(self) -> tuple[int, ...]:
        """Return the numbers of replicas for which there are real devices."""
        return tuple(count for count in self.replicas or DEVICE_COUNTS if count <= self.devices)

    def virtual_counts(self, usual: tuple[int, ...]) -> tuple[int, ...]:
        """Return the numbers of virtual replicas: as asked for, or the usual ones of a case."""
        counts = self.replicas or usual
        return tuple(count for count in counts if not self.quick or count <= 1024)

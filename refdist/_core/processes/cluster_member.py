"""Which worker of which cluster a process is."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class ClusterMember:
    """Which worker of which cluster this process is."""

    coordinator: str  # where the coordination service is, or is to be
    index: int
    count: int
    addresses: tuple[str, ...] = ()  # of all workers, where they are known
    hosted: bool = False  # whether somebody else, such as the launcher, offers the service
    told_by: str = "TF_CONFIG"

    def name(self, index: int) -> str:
        """A worker, for messages."""
        place = f" ({self.addresses[index]})" if self.addresses else ""
        return f"Worker {index} of {self.count}{place}"

    @property
    def names(self) -> list[str]:
        """All workers, for messages."""
        return [self.name(index) for index in range(self.count)]

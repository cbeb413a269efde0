"""What is told, while somebody listens, of everything that replicas do together, and of every variable made or written.

`Where.journal` is the listener, and None almost always: then each of these places costs one look at it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from refdist._core.base.call_sites import Site


class Journal(Protocol):
    """Who listens. Nothing that is told may be changed, and nothing is expected in return."""

    def ran(self, strategy: Any, function: Any) -> None:
        """A strategy is about to run a function on its replicas."""
        ...

    def meets(self, kind: str, site: "Site") -> None:
        """Replicas have come to a meeting, which is now held; what is told until `met` belongs to it."""
        ...

    def met(self, payloads: Sequence[Any], answers: Sequence[Any] | None) -> None:
        """The meeting is over: what each replica has brought and what each gets, or None where holding it has failed."""
        ...

    def combined(self, kind: str, value: Any, result: Any) -> None:
        """Code outside of the replicas has combined a per-replica value."""
        ...

    def made(self, variable: Any) -> None:
        """A variable was made; each replica that makes it tells of the same one."""
        ...

    def written(self, variable: Any, verb: str, place: int | None, new: Sequence[Any]) -> None:
        """A variable is about to take a new value: all its copies, or the one in this place."""
        ...

    def adopted(self, storages: Sequence[Any]) -> None:
        """A compiled program has written the variables that keep their values in these storages."""
        ...

"""The options of `refdist.use` and `refdist.using`, for type checkers.

A backend of another package may have others; they pass a checker in a dict: `use("mine", **options)`.
"""

from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict

if TYPE_CHECKING:
    from simulator.libraries.library import Launch, Library
    from simulator.machines.topology import Cluster


class LookOptions(TypedDict, total=False):
    """What every backend can look at while it computes."""

    numerics: Literal["off", "check"]
    """Whether each reduction is judged against float64."""
    watch: Literal["off", "python"]
    """Whether to tell what replicas change in Python objects that they share, and which files workers write."""
    randomness: Literal["off", "check"]
    """Whether to tell where replicas draw the same numbers."""


class CountOptions(LookOptions, total=False):
    """How many devices there are of each kind; JAX has those of the machine, and host processors in the roles of others."""

    cpus: int
    """How many CPUs: one, unless told otherwise."""
    gpus: int
    """How many GPUs."""
    tpus: int | tuple[int, ...]
    """How many TPU cores, or the shape of their mesh."""


class ClusterOptions(LookOptions, total=False):
    """Devices of the simulator with links, memory and time."""

    cluster: "Required[Cluster]"
    """What the devices are, and how they are joined."""
    algorithm: str | None
    """The algorithm of all collectives; "auto" is the fastest."""
    accumulate: Any
    """The dtype in which narrower floats are added up: float32 or float64."""
    library: "Library | None"
    """The collective library whose times count."""
    launch: "Launch | None"
    """How the library is started."""

"""What a benchmark is: a name, what its numbers mean, a goal, and sides that do the same, each in its own way."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Who(enum.StrEnum):
    """Whose way to do it a side is; a column of the table each."""

    REFDIST = "refdist"
    RAW = "raw JAX"
    TENSORFLOW = "TensorFlow"
    LIMIT = "limit"


class Unit(enum.StrEnum):
    """What is shown of the seconds of a call, and of the amount that it did."""

    TIME = "time"
    """Seconds over the amount: a call is made of steps or replicas."""
    BYTE_RATE = "bytes per second"
    ITEM_RATE = "items per second"
    BYTES = "bytes"
    """Bytes over the amount; nothing is timed."""


class Timer(Protocol):
    """One side, ready to be measured."""

    cold: bool
    """Whether each call starts from nothing, as in a new process, so that the first one counts like any other."""

    def first(self) -> tuple[float, Any]:
        """Make the first call, which traces and compiles, and return its seconds and its result, waited for."""
        ...

    def seconds(self, calls: int) -> float:
        """Return how long some calls take, results waited for."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


@dataclass(frozen=True, slots=True)
class Side:
    """One way to do what a case asks for."""

    who: Who
    name: str
    start: Callable[[], Timer]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a case should reach; `kind` names a figure of its result (see `goals`)."""

    kind: str
    bound: float


@dataclass(frozen=True, slots=True)
class Case:
    """One benchmark, at one size."""

    name: str
    series: str
    """What cases have in common that differ in `replicas` or in their size only."""
    group: str
    sides: tuple[Side, ...] = ()
    replicas: int = 1
    backend: str = ""
    """The backend that it measures; empty where it measures none."""
    unit: Unit = Unit.TIME
    amount: float = 1.0
    goal: Goal | None = None
    headline: bool = True
    """Whether it has a row where there is no room for all."""
    patience: float = 1.0
    """How many times as long as others it is measured: more where a goal is near to what noise does."""
    makings: int = 1
    """How many times its sides are made anew within this time: one and the same program takes longer in some places of the
    memory than in others, by some percent."""
    tensorflow: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """By the name of a side, what to ask of an interpreter that has TensorFlow (see `peers`)."""
    together: Callable[[float], Mapping[Side, Sequence[float]]] | None = None
    """Instead of sides that are started one by one: measure all for that many seconds, and return the seconds of each round."""

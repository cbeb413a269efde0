"""Where the code is: one record in one context variable, which everything else asks."""

import functools
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from refdist._core.base.call_sites import Site
    from refdist._core.base.entropy import ElementDraws
    from refdist._core.base.journal import Journal
    from refdist._core.clusters.workers import Claims
    from refdist._core.devices.device import Device
    from refdist._core.files.event_file import Recording
    from refdist._core.input.sample_ledger import Ledger
    from refdist._core.replicas.context import ReplicaContext
    from refdist._core.replicas.graph import Graph
    from refdist._core.seam.backend import Backend
    from refdist._core.seam.draft import Draft, StagedRuns
    from refdist._core.seam.tapes import Tapes
    from refdist._core.strategies.strategy import StrategyBase

Creator = Callable[..., Any]
Turns = Callable[[int], Iterable[int]]
"""Puts so many into an order."""


class Frame(NamedTuple):
    """The scope or the replica of a strategy that the code has entered."""

    strategy: "StrategyBase"
    replica: "ReplicaContext | None"  # None in cross-replica context
    creators: tuple[Creator, ...]  # what a new variable passes through, innermost last
    updating: int | None = None  # the copy that extended.update is working on
    set_by_hand: bool = False  # by experimental_set_strategy


class Where(NamedTuple):
    """Everything that surrounds the code; replaced as a whole, never changed."""

    frame: Frame | None = None
    device: "Device | None" = None  # where new tensors go; None lets the operands decide, or else means the host
    draft: "Draft | None" = None  # the program that is being written
    graph: "Graph | None" = None  # the graph of v1 that is being built
    function: "StagedRuns | None" = None  # the `function` whose body runs in Python, while its runs are staged
    colocated: "Device | None" = None  # where variables go that are to live beside another one
    backend: "Backend | None" = None  # the one chosen for a block of code
    with_workers: "tuple[int, int, Claims] | None" = None  # which of how many workers that run together this one is
    worker: "tuple[StrategyBase, int] | None" = None  # the parameter-server worker that a scheduled function is on
    creations: dict[Any, Any] | None = None  # variables made in this run of replicas, one dict for all of them
    tapes: "Tapes | None" = None  # what records the operations, to take gradients of them
    name_scope: str = ""  # what names of values recorded here begin with
    recording: "Recording | None" = None  # how tf.summary records values
    drawing: "ElementDraws | None" = None  # where a function that a dataset calls finds random numbers
    ledger: "Ledger | None" = None  # who records which replica gets which sample
    called_from: "Site" = ()  # where the user called what a library such as Keras carries out, for messages
    journal: "Journal | None" = None  # who is told of what replicas do together and of every write
    turns: "Turns | None" = None  # in which order replicas go on after each meeting; None is their own order


class Process:
    """How often something was changed that holds everywhere in this process: the backend, or whether functions run in Python.

    Who remembers something that depends on it remembers this number as well.
    """

    changes = 0


where_of: Callable[[Iterable[Any]], Where] = functools.partial(tuple.__new__, Where)
"""Make a record from all its values, as Where(...) does, without the cost of the Python function that a named tuple calls."""

_PLACES = {name: place for place, name in enumerate(Where._fields)}
OUTSIDE = Where()  # of everything
HERE: ContextVar[Where] = ContextVar("where", default=OUTSIDE)


def entered(**changes: Any) -> "Entered":
    """Change where the code is for a `with` block: the only way to enter and to leave."""
    return Entered(changes)


class Entered:
    """A block of code whose surroundings differ in some respects.

    Not a generator: one that a Ctrl-C keeps from finishing would finish much later, and undo what is not its own.
    """

    __slots__ = ("_before", "_changes", "_inside")

    def __init__(self, changes: dict[str, Any]) -> None:
        self._changes = changes

    def __enter__(self) -> None:
        self._before = HERE.get()
        values = list(self._before)
        for name, value in self._changes.items():
            values[_PLACES[name]] = value
        self._inside = where_of(values)  # like _replace(), which takes twice as long
        HERE.set(self._inside)

    def __exit__(self, *exception: object) -> None:
        here = HERE.get()
        if here is self._inside:
            HERE.set(self._before)
        else:  # something was entered for good inside, such as by experimental_set_strategy, and stays
            HERE.set(here._replace(**{name: getattr(self._before, name) for name in self._changes}))

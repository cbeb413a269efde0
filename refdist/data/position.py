"""One pass over a pipeline, which can be left and taken up again."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from refdist import nest
from refdist.data.batching import Batch
from refdist.data.stage import Draws, Iteration, Stage
from refdist.data.transforms import Cache, Shuffle
from refdist.spec import spec_of


@dataclasses.dataclass
class Progress:
    """How far a loop is within an element that takes several steps, as the batches of several workers do."""

    skip: int = 0  # steps of the first element that an earlier loop has done
    done: int = 0
    complete: bool = True
    before: dict[str, Any] | None = None  # the position before the element


class Pass:
    """Delivers the elements of a pipeline, and knows how far it has come.

    A position is the number of elements that went into what was delivered, counted before the last batching, and what
    the shuffles drew from. So it holds for other batch sizes and other numbers of replicas too.
    """

    def __init__(self, stage: Stage, state: dict[str, Any] | None = None) -> None:
        self._unit = _unit(stage)
        before = 0 if state is None else _checked(state, self._unit)["consumed"]
        self._iteration = Iteration()
        resumed = stage.resumed(before)
        self._counts_itself = isinstance(resumed.anchor(), Batch)
        self._iteration.anchor = resumed.anchor()
        self._iteration.consumed = before
        shuffles = list(_shuffles(resumed, None))
        known = state["shuffles"] if state is not None else [draws for _, draws in shuffles]
        if len(known) != len(shuffles):
            raise ValueError(
                f"The position is of a pipeline with {len(known)} shuffles; expected {len(shuffles)}, as this one has. Restore "
                f"it to the pipeline that it was taken from."
            )
        pairs = zip(shuffles, known, strict=True)
        self._draws: list[Draws] = [self._iteration.enter(shuffle, draws) for (shuffle, _), draws in pairs]
        self._elements: Iterator[Any] = resumed.elements(self._iteration)
        self._failure: Exception | None = None
        self._delivered, self._shape = 0, None
        self.progress = Progress(skip=int((state or {}).get("step", 0)))

    def __iter__(self) -> "Pass":
        return self

    def __next__(self) -> Any:
        if self._failure is not None:
            raise self._failure  # a pass that has failed does not look like one that has ended
        try:
            element = self._same_shape(next(self._elements))
        except StopIteration:
            raise
        except Exception as error:
            self._failure = error
            raise
        if not self._counts_itself:
            self._iteration.consumed += 1
        return element

    def _same_shape(self, element: Any) -> Any:
        """An element, or an error where it is another nest than the first one: replicas share what comes in one step."""
        shape = nest.shape_of(element)
        if not self._delivered:
            self._shape = shape
        elif shape != self._shape:
            raise ValueError(
                f"Element {self._delivered} of this pass is {spec_of(element)}, which has another structure than the first one; "
                f"expected the same nest for every element. Return the same tuples and dicts each time."
            )
        self._delivered += 1
        return element

    @property
    def consumed(self) -> int:
        """How many elements went into what was delivered, counted before the last batching."""
        return self._iteration.consumed

    def state(self) -> dict[str, Any]:
        """The position, as data that JSON takes."""
        if self._iteration.unseeded:
            raise ValueError(
                "A position was asked of a pipeline that shuffles without a seed inside flat_map() or interleave(); expected a "
                "seed there, because that order cannot be found again. Pass seed= to the inner shuffle()."
            )
        shuffles = [[draws.seed, draws.number] for draws in self._draws]
        return {"consumed": self._iteration.consumed, "unit": self._unit, "shuffles": shuffles}


def _shuffles(stage: Stage, kept: Iterator[Any] | None) -> Iterator[tuple[Shuffle, list[int] | None]]:
    """All shuffles of a pipeline, with what they drew from where a cache has kept their elements."""
    if isinstance(stage, Cache) and stage.draws and kept is None:
        kept = iter(stage.draws)
    if isinstance(stage, Shuffle):
        yield stage, None if kept is None else next(kept)
    for one in stage.inputs:
        yield from _shuffles(one, kept)


def _unit(stage: Stage) -> str:
    """What is counted: samples, or else elements of which the size depends on the pipeline; and whose share of them."""
    anchor = stage.anchor()
    shares = [one.share for one in anchor.walk() if one.share]
    if isinstance(anchor, Batch):
        return ", ".join(["samples", *shares])
    sizes = [f"batches of {one.size}" for one in anchor.walk() if isinstance(one, Batch)]
    return ", ".join([anchor.name, *sizes, *shares])


def _checked(state: Any, unit: str) -> dict[str, Any]:
    pairs = state.get("shuffles") if isinstance(state, dict) else None
    sound = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    if not sound or not isinstance(state.get("consumed"), int) or state["consumed"] < 0:
        raise ValueError(
            f"The position is {state!r}; expected what state() returned. Save it as it is, for example as JSON."
        )
    if state.get("unit") != unit:
        raise ValueError(
            f"The position counts {state.get('unit')!r}; expected {unit!r}, as this pipeline does. Restore it to one with the same "
            f"stages; only where it ends in batch() may the batch size differ."
        )
    return state

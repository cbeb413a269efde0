"""One pass over a pipeline, which can be left and taken up again."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from refdist._core.base import nest
from refdist._core.input.batching import Batch
from refdist._core.input.stage import DELIVERING, Draws, Iteration, Stage
from refdist._core.input.transforms import Cache, Shuffle
from refdist._core.replicas.specs import spec_of
from refdist._core.seam.draft import leave_draft_for_data

_KEYS = {"consumed", "unit", "shuffles", "samples", "whole"}
State = dict[str, Any]
End = (
    Exception | type[StopIteration]
)  # a class, because an exception that is kept keeps everything that it came through


class Run(Protocol):
    """What a loop takes its elements from."""

    end: End | None  # what it raised when it had ended or failed, with everything delivered, and will raise again

    def __next__(self) -> Any: ...

    def mark(self) -> Callable[[], State]:
        """The position after what was delivered, worked out when it is wanted."""
        ...

    def live(self) -> bool:
        """Say whether data come from a function of the user, which may not deliver the same again."""
        ...


class Loop:
    """A loop in which only what has reached the caller counts: interrupted by Ctrl-C, it goes on as if it was not asked.

    What is in the middle of an element when it is interrupted has lost its place. It is thrown away, and the loop starts
    again at the position after the last element that was delivered.
    """

    def __init__(
        self, begin: Callable[[State | None], Run], convert: Callable[[Any], Any] = lambda element: element
    ) -> None:
        self._begin, self._convert = begin, convert
        self._start(None)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        leave_draft_for_data()
        run, mark, sound = self._at
        if not sound:
            run = self._again(run, mark)
        self._at = run, mark, False
        try:
            element = self._convert(next(run))
            after = run.mark()
            # Nothing that can be interrupted comes between this line and the caller.
            self._at = run, after, True
            return element
        except BaseException:
            self._settle(mark)
            raise

    def state(self) -> State:
        """Say where the loop is, as data that JSON takes."""
        return self._at[1]()

    def restore(self, state: State) -> None:
        """Go on where a loop over the same data was, also on other replicas: no element is lost, and none comes twice."""
        self._start(require_position(state))

    def _start(self, state: State | None) -> None:
        run = self._begin(state)
        self._at = run, run.mark(), True  # the last: whether the run is where the mark says

    def _settle(self, mark: Callable[[], State]) -> None:
        """Keep the position before an error, and the run only where it has come to an end, which it remembers."""
        run = self._at[0]
        self._at = run, mark, run.end is not None

    def _again(self, run: Run, mark: Callable[[], State]) -> Run:
        """A new run from a position, in place of one that was interrupted."""
        if run.live():
            raise RuntimeError(
                "The loop was interrupted while data were read from a function of the program; expected it to start again, because "
                "nobody knows whether the function would deliver the same. If it does, go on: iterator.restore(iterator.state())."
            )
        try:
            return self._begin(mark())
        except ValueError as error:
            error.add_note("raised because the loop was interrupted, and has to find its position again")
            raise


@dataclasses.dataclass
class Progress:
    """How far a loop is within an element that takes several steps, as the batches of several workers do."""

    before: Callable[[], State]  # the position before the element
    samples: int = 0  # of the element that were delivered; 0 where it is complete

    def mark(self) -> Callable[[], State]:
        """The position within the element."""
        return functools.partial(_within, self.before, self.samples)


def _within(before: Callable[[], State], samples: int) -> State:
    state = before()
    return {**state, "samples": state.get("samples", 0) + samples}


class Pass:
    """Delivers the elements of a pipeline, and knows how far it has come.

    A position is the number of elements that went into what was delivered, counted before the last batching, and what
    the shuffles drew from. So it holds for other batch sizes and other numbers of replicas too.
    """

    def __init__(self, stage: Stage, state: dict[str, Any] | None = None) -> None:
        self._unit = _unit(stage)
        before = 0 if state is None else _checked(state, stage)["consumed"]
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
        outer = DELIVERING.get()
        if outer is not None and state is None:
            outer.unseeded += [True for shuffle, _ in shuffles if not shuffle.seeded]
            outer.reshuffled += [True for shuffle, _ in shuffles if shuffle.reshuffle]
        pairs = zip(shuffles, known, strict=True)
        self._draws: list[Draws] = [self._iteration.enter(shuffle, draws) for (shuffle, _), draws in pairs]
        self._elements: Iterator[Any] = resumed.elements(self._iteration)
        self.end: End | None = None
        self._delivered, self._shape = 0, None
        given = state or {}
        self.skip: int = given.get("samples", 0)  # of what comes, an earlier loop has delivered so many
        self.whole: int | None = given.get("whole")  # the size of a batch, found in a loop
        self.progress = Progress(self.mark())

    def __iter__(self) -> "Pass":
        return self

    def __next__(self) -> Any:
        if self.end is not None:
            raise self.end  # a pass that has failed does not look like one that has ended
        try:
            element = self._same_shape(next(self._elements))
        except StopIteration:
            self.end = StopIteration
            raise
        except Exception as error:
            self.end = error
            raise
        if not self._counts_itself:
            self._iteration.consumed += 1
        return element if not self.skip else self._rest(element)

    def _rest(self, element: Any) -> Any:
        """What is left of an element, or of the next one: counted in samples, because batches may have another size now."""
        start, size = self.skip, len(nest.flatten(element)[0])
        self.skip = max(0, start - size)
        return nest.map_structure(lambda leaf: leaf[start:], element) if start < size else next(self)

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

    def live(self) -> bool:
        """Say whether data come from a function of the user, which may not deliver the same again."""
        return bool(self._iteration.live)

    def mark(self) -> Callable[[], State]:
        """The position, worked out when it is wanted: a loop that nobody asks for its position need not have one."""
        return functools.partial(self._state, self._iteration.consumed, self.skip, self.whole)

    def _state(self, consumed: int, skip: int, whole: int | None) -> State:
        if self._iteration.unseeded or self._iteration.reshuffled:
            raise ValueError(
                "A position was asked of a pipeline that shuffles without a seed inside flat_map(), interleave() or "
                "from_generator(), or in another order for every loop inside from_generator(); expected an order that can be found "
                "again. Pass seed= to the inner shuffle(), and in a generator reshuffle_each_iteration=False."
            )
        shuffles = [[draws.seed, draws.number] for draws in self._draws]
        state = {"consumed": consumed, "unit": self._unit, "shuffles": shuffles}
        return {**state, **{name: own for name, own in (("samples", skip), ("whole", whole)) if own}}


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


def require_position(state: Any) -> dict[str, Any]:
    """The same, or an error where it is no position: none at all would mean to start anew, in silence."""
    if not _is_position(state):
        raise ValueError(
            f"The position is {state!r}; expected what state() returned. Save it as it is, for example as JSON."
        )
    return state


def _checked(state: dict[str, Any], stage: Stage) -> dict[str, Any]:
    anchor, unit = stage.anchor(), _unit(stage)
    if state["unit"] != unit:
        raise ValueError(
            f"The position counts {state['unit']!r}; expected {unit!r}, as this pipeline does. Restore it to one with the same "
            f"stages; only where it ends in batch() may the batch size differ."
        )
    total = (anchor.inputs[0] if isinstance(anchor, Batch) else anchor).cardinality()
    if 0 <= total < state["consumed"]:
        raise ValueError(
            f"The position is after {state['consumed']} of {unit}; expected at most {total}, as many as this pipeline has. Restore "
            f"it to the data that it was taken from."
        )
    return state


def _is_position(state: Any) -> bool:
    """Say whether something has the form of a position; what it does not know, it would ignore."""
    if not isinstance(state, dict) or not {"consumed", "unit", "shuffles"} <= state.keys() <= _KEYS:
        return False
    pairs = state["shuffles"]
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return False
    counts = [state["consumed"], state.get("samples", 0), state.get("whole", 1), *itertools.chain(*pairs)]
    return all(type(count) is int and count >= 0 for count in counts)

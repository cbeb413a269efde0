"""One pass over a pipeline, which can be interrupted and resumed."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from refdist._core.base import nest
from refdist._core.base.where import HERE
from refdist._core.input.batching import Batch
from refdist._core.input.stage import DELIVERING, Iteration, ShuffleSeed, Stage
from refdist._core.input.transforms import Cache, Shuffle
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec, spec_of
from refdist._core.seam.draft import leave_draft_for_data

_KEYS = {"consumed", "unit", "shuffles", "samples", "whole"}
State = dict[str, Any]
# StopIteration as a class, because a stored exception would keep every frame of its traceback alive.
End = Exception | type[StopIteration]


class Resumable(Protocol):
    """What a loop takes its elements from: something that knows its position."""

    end: End | None  # what it raised once all elements were delivered, and will raise again

    def __next__(self) -> Any: ...

    def mark(self) -> Callable[[], State]:
        """Return a function that computes the position after the last delivered element."""
        ...

    def unrepeatable(self) -> bool:
        """Say whether data come from a user's function that may not deliver the same data again."""
        ...


class Loop:
    """A loop in which only what has reached the caller counts: after a Ctrl-C, it continues as if nothing had been asked.

    A pipeline that is interrupted in the middle of an element has lost its place. It is thrown away, and a new one begins
    after the last element that was delivered.
    """

    def __init__(
        self, begin: Callable[[State | None], Resumable], convert: Callable[[Any], Any] = lambda element: element
    ) -> None:
        self._begin, self._convert = begin, convert
        self._start(None)

    def __iter__(self) -> Any:
        leave_draft_for_data()  # a program has a certain number of steps, and a loop as many as there are elements
        return self

    def __next__(self) -> Any:
        self._require_place()
        draft = HERE.get().draft
        if draft is not None:
            return draft.next_of(self)
        elements, mark, in_place = self._at
        if self._put_back:
            element, after = self._put_back.pop()
            self._at = elements, after, in_place
            return element
        if not in_place:
            elements = self._resumed(elements, mark)
        self._at = elements, mark, False
        try:
            element = self._convert(next(elements))
            after = elements.mark()
            # Nothing that can be interrupted comes between this line and the caller.
            self._at = elements, after, True
            return element
        except BaseException:
            self._settle(mark)
            raise

    @property
    def element_spec(self) -> Any:
        """The spec of an element."""
        raise NotImplementedError

    @functools.cached_property
    def kind(self) -> Any:
        """What iterators over elements of the same spec have in common; None where the spec is not known."""
        try:
            spec = self.element_spec
        except Exception:  # of a user's function, on which the spec depends
            return None
        return nest.shape_of(spec), tuple(nest.flatten(spec))

    @property
    def dtypes(self) -> set[Any]:
        """The dtypes of the tensors in an element, as far as its spec is known."""
        return {spec.dtype for spec in self._specs if isinstance(spec, TensorSpec)}

    @property
    def shapes(self) -> list[tuple[int | None, ...] | None]:
        """The shapes of the tensors in an element, as far as its spec is known."""
        return [spec.shape for spec in self._specs]

    @functools.cached_property
    def _specs(self) -> list[Any]:
        """The spec of each leaf of an element, as one replica sees it; nothing where the spec is not known."""
        leaves = () if self.kind is None else self.kind[1]
        return [leaf.specs[0] if isinstance(leaf, PerReplicaSpec) else leaf for leaf in leaves]

    @property
    def mark(self) -> Callable[[], State]:
        """A function that computes the position of the loop as it is now."""
        return self._at[1]

    def put_back(self, element: Any, mark: Callable[[], State]) -> None:
        """Undo the delivery of the last element, which the next call delivers again.

        Args:
            mark: the one from before the element.
        """
        elements, after, in_place = self._at
        self._put_back.append((element, after))
        self._at = elements, mark, in_place

    def _require_place(self) -> None:
        """Raise where the code that asks for an element cannot have one."""

    def state(self) -> State:
        """Return the position of the loop, as data that fit into JSON."""
        return self._at[1]()

    def restore(self, state: State) -> None:
        """Continue where a loop over the same data was, even with other replicas: no element is lost or repeated."""
        self._start(require_position(state))

    def saved_state(self) -> State:
        """Return the position in a form that holds on all workers, which then must all ask for it."""
        return self.state()

    def restore_saved(self, saved: Any) -> None:
        """Continue where the loop was on this worker."""
        self.restore(saved)

    def _start(self, state: State | None) -> None:
        elements = self._begin(state)
        self._put_back: list[tuple[Any, Callable[[], State]]] = []  # elements that wait, the next one last, with marks
        self._at = elements, elements.mark(), True  # the last: whether the elements continue at the mark

    def _settle(self, mark: Callable[[], State]) -> None:
        """Go back to the position before an error; elements that have ended remember it, and may be asked again."""
        elements = self._at[0]
        self._at = elements, mark, elements.end is not None

    def _resumed(self, elements: Resumable, mark: Callable[[], State]) -> Resumable:
        """Begin again at a position, in place of elements that were interrupted."""
        if elements.unrepeatable():
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
    """How far a loop has come within an element that takes several steps, as with several workers."""

    before: Callable[[], State]  # the position before the element
    samples: int = 0  # how many samples of the element were delivered; 0 if all were

    def mark(self) -> Callable[[], State]:
        """Return a function that computes the position within the element."""
        return functools.partial(_within, self.before, self.samples)


def _within(before: Callable[[], State], samples: int) -> State:
    state = before()
    return {**state, "samples": state.get("samples", 0) + samples}


class Pass:
    """Delivers the elements of a pipeline, and knows how far it has come.

    A position is the number of elements that were delivered, counted before the last batching, together with the seeds
    of the shuffles. So it also holds for other batch sizes and other numbers of replicas.
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
        known = state["shuffles"] if state is not None else [seed for _, seed in shuffles]
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
        self._seeds: list[ShuffleSeed] = [self._iteration.start_shuffle(shuffle, seed) for (shuffle, _), seed in pairs]
        self._elements: Iterator[Any] = resumed.elements(self._iteration)
        self.end: End | None = None
        self._delivered, self._shape = 0, None
        given = state or {}
        self.skip: int = given.get("samples", 0)  # how many of the next samples an earlier loop has delivered
        self.first_batch_size: int | None = given.get("whole")  # where the pipeline does not tell the batch size
        self.progress = Progress(self.mark())

    def __iter__(self) -> "Pass":
        return self

    def __next__(self) -> Any:
        if self.end is not None:
            raise self.end  # so that a pass that has failed does not look like one that has ended
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
        """Return what is left of an element, or of a later one: skipped by sample, because the batch size may have changed."""
        start, size = self.skip, len(nest.flatten(element)[0])
        self.skip = max(0, start - size)
        return nest.map_structure(lambda leaf: leaf[start:], element) if start < size else next(self)

    def _same_shape(self, element: Any) -> Any:
        """Return an element, or raise if its structure differs from the first one's: the elements of one step form one value."""
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
        """How many elements were delivered, counted before the last batching."""
        return self._iteration.consumed

    def unrepeatable(self) -> bool:
        """Say whether data come from a user's function that may not deliver the same data again."""
        return bool(self._iteration.unrepeatable)

    def mark(self) -> Callable[[], State]:
        """Return a function that computes the position: a loop that nobody asks for its position need not have one."""
        return functools.partial(self._state, self._iteration.consumed, self.skip, self.first_batch_size)

    def _state(self, consumed: int, skip: int, first_batch_size: int | None) -> State:
        if self._iteration.unseeded or self._iteration.reshuffled:
            raise ValueError(
                "A position was asked of a pipeline that shuffles without a seed inside flat_map(), interleave() or "
                "from_generator(), or in another order for every loop inside from_generator(); expected an order that can be found "
                "again. Pass seed= to the inner shuffle(), and in a generator reshuffle_each_iteration=False."
            )
        shuffles = [[seed.seed, seed.pass_number] for seed in self._seeds]
        state = {"consumed": consumed, "unit": self._unit, "shuffles": shuffles}
        return {**state, **{name: value for name, value in (("samples", skip), ("whole", first_batch_size)) if value}}


def _shuffles(stage: Stage, kept: Iterator[Any] | None) -> Iterator[tuple[Shuffle, list[int] | None]]:
    """Find all shuffles of a pipeline, with their seeds if a cache has kept their elements."""
    if isinstance(stage, Cache) and stage.shuffle_seeds and kept is None:
        kept = iter(stage.shuffle_seeds)
    if isinstance(stage, Shuffle):
        yield stage, None if kept is None else next(kept)
    for one in stage.inputs:
        yield from _shuffles(one, kept)


def _unit(stage: Stage) -> str:
    """Name what is counted: samples, or else elements whose size depends on the pipeline; and which share of them."""
    anchor = stage.anchor()
    shares = [one.share for one in anchor.walk() if one.share]
    if isinstance(anchor, Batch):
        return ", ".join(["samples", *shares])
    sizes = [f"batches of {one.size}" for one in anchor.walk() if isinstance(one, Batch)]
    return ", ".join([anchor.name, *sizes, *shares])


def require_position(state: Any) -> dict[str, Any]:
    """Return a position, or raise if it is not one: None would silently mean to start from the beginning."""
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
    """Say whether something has the form of a position, without keys that would be ignored."""
    if not isinstance(state, dict) or not {"consumed", "unit", "shuffles"} <= state.keys() <= _KEYS:
        return False
    pairs = state["shuffles"]
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return False
    counts = [state["consumed"], state.get("samples", 0), state.get("whole", 1), *itertools.chain(*pairs)]
    return all(type(count) is int and count >= 0 for count in counts)

"""One pass over a pipeline, which can be left and taken up again."""

from collections.abc import Iterator
from typing import Any

from refdist.data.batching import Batch
from refdist.data.stage import Draws, Iteration, Stage
from refdist.data.transforms import Shuffle


class Pass:
    """Delivers the elements of a pipeline, and knows how far it has come.

    A position is the number of elements that went into what was delivered, counted before the last batching, and what
    the shuffles drew from. So it holds for other batch sizes and other numbers of replicas too.
    """

    def __init__(self, stage: Stage, state: dict[str, Any] | None = None) -> None:
        before = 0 if state is None else _checked(state)["consumed"]
        self._iteration = Iteration()
        resumed = stage.resumed(before)
        self._counts_itself = isinstance(resumed.anchor(), Batch)
        self._iteration.anchor = resumed.anchor()
        self._iteration.consumed = before
        shuffles = [one for one in resumed.walk() if isinstance(one, Shuffle)]
        known = state["shuffles"] if state is not None else [None] * len(shuffles)
        if len(known) != len(shuffles):
            raise ValueError(
                f"The position is of a pipeline with {len(known)} shuffles; expected {len(shuffles)}, as this one has. Restore "
                f"it to the pipeline that it was taken from."
            )
        self._draws: list[Draws] = [self._iteration.enter(*pair) for pair in zip(shuffles, known, strict=True)]
        self._elements: Iterator[Any] = resumed.elements(self._iteration)

    def __iter__(self) -> "Pass":
        return self

    def __next__(self) -> Any:
        element = next(self._elements)
        if not self._counts_itself:
            self._iteration.consumed += 1
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
        return {"consumed": self._iteration.consumed, "shuffles": [[draws.seed, draws.number] for draws in self._draws]}


def _checked(state: Any) -> dict[str, Any]:
    if (
        not isinstance(state, dict)
        or not isinstance(state.get("consumed"), int)
        or not isinstance(state.get("shuffles"), list)
    ):
        raise ValueError(
            f"The position is {state!r}; expected what state() returned. Save it as it is, for example as JSON."
        )
    return state

"""The elements that one call of a function takes from iterators."""

from collections.abc import Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.errors import OutOfRangeError
from refdist._core.input.position import Loop
from refdist._core.staging.trace_count import Sizes


class Elements:
    """What one call takes from iterators: while its body is traced for the first time, or before that, as a program asks for it."""

    def __init__(self, sources: Sequence[Loop] = ()) -> None:
        self._turn, self._first = 0, 0
        self._clear()
        for loop in sources:
            self._take(loop)
        self._complete = bool(sources)  # whether it is known what the body takes

    def _clear(self) -> None:
        self._taken: list[tuple[Loop, Any, Any]] = []  # with the position from before
        self._places: dict[int, int] = {}
        self.leaves: list[Any] = []
        self._declared: list[Sizes] = []  # their shapes, as far as they are the same for all elements

    def start(self, first: int) -> None:
        """Begin to trace a body.

        Args:
            first: the place of the first leaf of an element, after the arguments of the call.
        """
        self._turn, self._first = 0, first
        if not self._complete:
            self.put_back()

    def next_of(self, loop: Loop) -> Any:
        """The next element of an iterator."""
        if self._turn == len(self._taken) and not self._complete:
            self._take(loop)
        if self._turn == len(self._taken) or self._taken[self._turn][0] is not loop:
            raise _other_elements()
        self._turn += 1
        return self._taken[self._turn - 1][1]

    def finish(self) -> None:
        """Raise if the body has left elements that its other programs take."""
        if self._turn < len(self._taken):
            raise _other_elements()

    def _take(self, loop: Loop) -> None:
        """Read one more element."""
        mark = loop.mark
        try:
            element = next(loop)
        except StopIteration:
            raise OutOfRangeError(
                "An iterator had no more elements in a function; expected one for each next(). Call the function as often as "
                "there are batches, or catch tf.errors.OutOfRangeError around it."
            ) from None
        self._taken.append((loop, element, mark))
        leaves = nest.flatten(element)
        for leaf, declared in zip(leaves, loop.shapes or [None] * len(leaves), strict=True):
            self._places[id(leaf)] = len(self.leaves)
            self.leaves.append(leaf)
            self._declared.append(declared)

    def place_of(self, leaf: Any) -> tuple[int, Sizes]:
        """The place of a leaf of an element among the leaves of the call, and its shape as far as it is known before."""
        place = self._places[id(leaf)]
        return self._first + place, self._declared[place]

    @property
    def sources(self) -> list[Loop]:
        """The iterators that elements were taken from, in this order."""
        return [loop for loop, _, _ in self._taken]

    def put_back(self) -> None:
        """Give the iterators back what was taken from them."""
        while self._taken:
            loop, element, mark = self._taken.pop()
            loop.put_back(element, mark)
        self._clear()


def _other_elements() -> RuntimeError:
    return RuntimeError(
        "A function took other elements from its iterators than when it was traced before; expected the same number of them, from "
        "the same iterators, in each call. Choose the iterator outside of the function, and pass it as an argument."
    )

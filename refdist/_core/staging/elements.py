"""The elements that one call of a function takes from iterators."""

from typing import Any

from refdist._core.base import nest
from refdist._core.base.errors import OutOfRangeError
from refdist._core.input.position import Loop


class Elements:
    """What one call takes from iterators; each writing of its program begins again with the first."""

    def __init__(self) -> None:
        self._taken: list[tuple[Loop, Any, Any]] = []  # with the position from before
        self._turn, self._first = 0, 0
        self._places: dict[int, int] = {}
        self.leaves: list[Any] = []

    def start(self, first: int) -> None:
        """Begin to write a program.

        Args:
            first: the place of the first leaf of an element, after the arguments of the call.
        """
        self._turn, self._first = 0, first

    def next_of(self, loop: Loop) -> Any:
        """The next element of an iterator, which is read unless an earlier writing has read it."""
        if self._turn == len(self._taken):
            self.take(loop)
        source, element, _ = self._taken[self._turn]
        if source is not loop:
            raise RuntimeError(
                "A function took elements from its iterators in another order than when it was called first; expected the same "
                "order in each call. Choose the iterator outside of the function, and pass it as an argument."
            )
        self._turn += 1
        return element

    def take(self, loop: Loop) -> None:
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
        for leaf in nest.flatten(element):
            self._places[id(leaf)] = len(self.leaves)
            self.leaves.append(leaf)

    def place_of(self, leaf: Any) -> int:
        """The place of a leaf of an element among the leaves of the call."""
        return self._first + self._places[id(leaf)]

    @property
    def sources(self) -> list[Loop]:
        """The iterators that elements were taken from, in this order."""
        return [loop for loop, _, _ in self._taken]

    @property
    def all_used(self) -> bool:
        """Whether the last writing has asked for all of them."""
        return self._turn == len(self._taken)

    def put_back(self) -> None:
        """Give the iterators back what was taken from them."""
        while self._taken:
            loop, element, mark = self._taken.pop()
            loop.put_back(element, mark)

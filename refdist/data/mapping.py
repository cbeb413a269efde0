"""The stages that call a function of the user on each element."""

import collections
import contextvars
import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refdist import nest
from refdist.data.sources import element_of
from refdist.data.stage import UNKNOWN_CARDINALITY, Iteration, Stage
from refdist.device import Device
from refdist.spec import TensorSpec, common, spec_of
from refdist.tensor import Tensor, make

_HOST = Device("CPU:0")
_END: Any = object()


def called(method: str, function: Callable[..., Any], index: int, element: Any) -> Any:
    """What a user's function says of an element; an error in it says which element that was."""
    try:
        return call(function, element)
    except Exception as error:
        error.add_note(f"raised in {method}() at element {index} of this pass")
        raise


def call(function: Callable[..., Any], element: Any) -> Any:
    """Call a user's function with an element, a tuple as several arguments; its tensors cannot be changed."""
    shown = nest.map_structure(lambda array: make(np.asarray(array), _HOST), element)
    return function(*shown) if isinstance(shown, tuple) and not hasattr(shown, "_fields") else function(shown)


def plain(result: Any) -> Any:
    """What a user's function returned, as a nest of arrays; a list of tensors is a tuple, as in TensorFlow."""
    if isinstance(result, list) and any(hasattr(part, "shape") for part in result):
        result = tuple(result)
    return element_of(nest.map_structure(lambda leaf: np.asarray(leaf) if isinstance(leaf, Tensor) else leaf, result))


class Map(Stage):
    """Calls a function on each element; several at a time where asked for, in order all the same."""

    name = "MapDataset"
    one_to_one = True

    def __init__(self, stage: Stage, function: Callable[..., Any], parallel: int) -> None:
        super().__init__(stage)
        self._function, self._parallel, self._spec = function, parallel, None
        # With several calls at a time, elements are taken from the input before they are delivered, so its count is not ours.
        self.one_to_one = parallel <= 1

    def spec(self) -> Any:
        if self._spec is None:
            self._spec = self._tried()
        return self._spec

    def each(self, iteration: Iteration) -> Iterator[Any]:
        elements = self.inputs[0].elements(iteration)
        if self._parallel > 1:
            yield from self._ahead(elements)
        else:
            for index, element in enumerate(elements):
                yield self._mapped(index, element)

    def _mapped(self, index: int, element: Any) -> Any:
        return plain(called("map", self._function, index, element))

    def _ahead(self, elements: Iterator[Any]) -> Iterator[Any]:
        futures = importlib.import_module("concurrent.futures")  # costs 10 ms, and is rarely needed
        with futures.ThreadPoolExecutor(self._parallel) as pool:
            waiting = collections.deque[Any]()
            failure: Exception | None = None
            for index in itertools.count():
                element = _END
                try:
                    element = next(elements, _END)
                except Exception as error:
                    failure = error  # it comes after the elements that were read before it
                if element is _END:
                    break
                # In the context of the caller, so that the function sees the same strategy and backend.
                waiting.append(pool.submit(contextvars.copy_context().run, self._mapped, index, element))
                if len(waiting) >= self._parallel:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            if failure is not None:
                raise failure

    def _tried(self) -> Any:
        """The spec of a result: tried on zeros twice, so that sizes that follow an unknown one show."""
        specs: list[Any] = []
        for size in (1, 2):
            zeros = nest.map_structure(lambda leaf: _zeros(leaf, size), self.inputs[0].spec())  # noqa: B023
            specs.append(spec_of(plain(call(self._function, zeros))))
        return common(specs[0], specs[1])


class Filter(Stage):
    """Keeps the elements for which a function says so."""

    name = "FilterDataset"

    def __init__(self, stage: Stage, predicate: Callable[..., Any]) -> None:
        super().__init__(stage)
        self._predicate = predicate

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for index, element in enumerate(self.inputs[0].elements(iteration)):
            if bool(called("filter", self._predicate, index, element)):
                yield element

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY  # of data without end too: there may be few that are wanted


class Interleave(Stage):
    """Makes a dataset of each element, and takes some elements of each in turn."""

    name, method = "InterleaveDataset", "interleave"

    def __init__(self, stage: Stage, function: Callable[..., Any], cycle: int = 1, block: int = 1) -> None:
        super().__init__(stage)
        self._function, self._cycle, self._block = function, cycle, block

    def spec(self) -> Any:
        for element in self.inputs[0].elements(Iteration(peeking=True)):
            return self._stage(0, element).spec()
        return self._stage(0, nest.map_structure(lambda leaf: _zeros(leaf, 0), self.inputs[0].spec())).spec()

    def each(self, iteration: Iteration) -> Iterator[Any]:
        elements = enumerate(self.inputs[0].elements(iteration))
        coming = (self._stage(*numbered).elements(iteration.inner()) for numbered in elements)
        # A slot that has run out is filled again when its turn comes.
        slots: list[Iterator[Any] | None] = [None] * self._cycle
        turn, empty, exhausted = 0, 0, False
        while empty < self._cycle:
            if slots[turn] is None and not exhausted:
                slots[turn] = next(coming, None)
                exhausted = slots[turn] is None
            slot, taken = slots[turn], 0
            for element in itertools.islice(slot, self._block) if slot is not None else ():
                taken += 1
                yield element
            empty = empty + 1 if slot is None else 0
            if taken < self._block:
                slots[turn] = None
            turn = (turn + 1) % self._cycle

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY

    def _stage(self, index: int, element: Any) -> Stage:
        made = called(self.method, self._function, index, element)
        if not hasattr(made, "stage"):
            raise TypeError(
                f"The function given to {self.method}() returned a {type(made).__name__} for element {index}; expected a Dataset. "
                f"Wrap the result, for example with tf.data.Dataset.from_tensors()."
            )
        return made.stage


class FlatMap(Interleave):
    """Makes a dataset of each element, and delivers them one after the other."""

    name, method = "FlatMapDataset", "flat_map"


def _zeros(leaf: TensorSpec, size: int) -> Any:
    return np.full(
        tuple(size if one is None else one for one in leaf.shape), b"" if leaf.dtype == object else 0, leaf.dtype
    )

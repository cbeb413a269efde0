"""The stages that call a function of the user on each element."""

import collections
import contextlib
import contextvars
import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor, make
from refdist._core.input.sources import element_of
from refdist._core.input.stage import UNKNOWN_CARDINALITY, Iteration, Stage
from refdist._core.input.windows import Held
from refdist._core.replicas.specs import DatasetSpec, TensorSpec, common, is_dataset, spec_of

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
    shown = nest.map_structure(lambda leaf: leaf if is_dataset(leaf) else make(np.asarray(leaf), _HOST), element)
    return function(*shown) if isinstance(shown, tuple) and not hasattr(shown, "_fields") else function(shown)


def plain(result: Any) -> Any:
    """What a user's function returned, as a nest of arrays; a list is a tuple, as in TensorFlow."""
    result = tuple(result) if isinstance(result, list) else result
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
        self.name = "MapDataset" if parallel <= 1 else "ParallelMapDataset"

    def spec(self) -> Any:
        if self._spec is None:
            self._spec = self._spec_of_results()
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
        pool = futures.ThreadPoolExecutor(self._parallel)
        try:
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
        finally:
            # Nobody waits for the threads: a loop that was left may be collected anywhere, also where a thread is being started.
            pool.shutdown(wait=False, cancel_futures=True)

    def _spec_of_results(self) -> Any:
        spec = self.inputs[0].spec()
        found = _tried(self._spec_of_result, spec, _zeros(spec))
        with contextlib.suppress(Exception):  # what ones are to the function is not its fault
            # Where the sizes follow the values, ones show it.
            return common(found, self._spec_of_result(nest.map_structure(_ones, spec)))
        return found

    def _spec_of_result(self, element: Any) -> Any:
        return spec_of(plain(call(self._function, element)))


class Filter(Stage):
    """Keeps the elements for which a function says so."""

    name = "FilterDataset"

    def __init__(self, stage: Stage, predicate: Callable[..., Any]) -> None:
        super().__init__(stage)
        self._predicate = predicate

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for index, element in enumerate(self.inputs[0].elements(iteration)):
            if self._wants(index, element):
                yield element

    def require_sense(self) -> None:
        self._wants(0, _zeros(self.spec()))

    def _wants(self, index: int, element: Any) -> bool:
        wanted = np.asarray(called("filter", self._predicate, index, element))
        if wanted.dtype != bool or wanted.shape:
            raise ValueError(
                f"The predicate given to filter() returned {wanted} for element {index}; expected a single bool. Compare, for "
                f"example x % 2 == 1, and return the result."
            )
        return bool(wanted)

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY  # of data without end too: there may be few that are wanted


class Interleave(Stage):
    """Makes a dataset of each element, and takes some elements of each in turn."""

    name, method = "InterleaveDataset", "interleave"

    def __init__(self, stage: Stage, function: Callable[..., Any], cycle: int = 1, block: int = 1) -> None:
        super().__init__(stage)
        self._function, self._cycle, self._block = function, cycle, block

    def spec(self) -> Any:
        # Tried on the first element, where there is one: a function may not know what to do with zeros.
        spec = self.inputs[0].spec()
        first = next(self.inputs[0].elements(Iteration(peeking=True)), _END)
        return _tried(lambda element: self._stage(0, element).spec(), spec, _zeros(spec) if first is _END else first)

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


def _tried(spec_for: Callable[[Any], Any], spec: Any, element: Any) -> Any:
    """The spec of what a function makes: tried on an element, and on a larger one where sizes that follow it must show."""
    found = spec_for(element)
    if all(None not in leaf.shape for leaf in nest.flatten(spec)):
        return found
    return common(found, spec_for(nest.map_structure(_larger, spec, element)))


def _zeros(spec: Any) -> Any:
    return nest.map_structure(_zero, spec)


def _zero(leaf: TensorSpec | DatasetSpec) -> Any:
    if isinstance(leaf, DatasetSpec):
        return leaf.of(Held([_zeros(leaf.element_spec)], lambda: leaf.element_spec))
    shape = tuple(1 if size is None else size for size in leaf.shape)
    return np.full(shape, _nothing(leaf), leaf.dtype)


def _ones(leaf: TensorSpec | DatasetSpec) -> Any:
    zero = _zero(leaf)
    return zero if isinstance(leaf, DatasetSpec) or leaf.dtype == object else np.ones_like(zero)


def _larger(leaf: TensorSpec | DatasetSpec, array: Any) -> Any:
    if isinstance(leaf, DatasetSpec):
        return array
    sizes = zip(leaf.shape, np.shape(array), strict=True)
    shape = tuple(size + 1 if known is None else size for known, size in sizes)
    return np.resize(array, shape) if np.size(array) else np.full(shape, _nothing(leaf), leaf.dtype)


def _nothing(leaf: TensorSpec) -> Any:
    return b"" if leaf.dtype == object else 0

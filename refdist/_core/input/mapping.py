"""The stages that call a user's function on each element."""

import collections
import contextlib
import contextvars
import functools
import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.entropy import ElementDraws
from refdist._core.base.where import entered
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor, make
from refdist._core.input.sources import element_of
from refdist._core.input.stage import UNKNOWN_CARDINALITY, Iteration, Stage
from refdist._core.input.windows import InMemoryElements
from refdist._core.replicas.specs import DatasetSpec, common, is_dataset, spec_of
from refdist._core.replicas.values import of_parts

_HOST = Device("CPU:0")
_END: Any = object()


def call_on_element(
    method: str, function: Callable[..., Any], index: int, element: Any, turn: int | None = None
) -> Any:
    """Call a user's function with an element; an error in it says which element that was.

    Args:
        turn: how often it was called before, which decides about its random numbers; as many times as there were elements.
    """
    try:
        return call(function, element, index if turn is None else turn)
    except Exception as error:
        error.add_note(f"raised in {method}() at element {index} of this pass")
        raise


def call(function: Callable[..., Any], element: Any, turn: int = 0) -> Any:
    """Call a user's function with an element as read-only tensors; a tuple becomes several arguments."""
    shown = nest.map_structure(_shown, element)
    with entered(drawing=ElementDraws(turn)):
        return function(*shown) if isinstance(shown, tuple) and not hasattr(shown, "_fields") else function(shown)


def _shown(leaf: Any) -> Any:
    if is_dataset(leaf):
        return leaf
    return leaf.tensor(_shown) if of_parts(leaf) else make(np.asarray(leaf), _HOST)


def to_arrays(result: Any) -> Any:
    """Convert what a user's function returned to a nest of arrays; a list becomes a tuple, as in TensorFlow."""
    result = tuple(result) if isinstance(result, list) else result
    return element_of(nest.map_structure(lambda leaf: np.asarray(leaf) if isinstance(leaf, Tensor) else leaf, result))


class Map(Stage):
    """Calls a function on each element; with parallel calls, the results still come in order."""

    name = "MapDataset"
    one_to_one = True

    def __init__(self, stage: Stage, function: Callable[..., Any], parallel: int, spec: Any = None) -> None:
        super().__init__(stage)
        self._function, self._parallel, self._spec, self._begin = function, parallel, spec, 0
        # Parallel calls take elements from the input before their results are delivered, so the two counts differ.
        self.one_to_one = parallel <= 1
        self.name = "MapDataset" if parallel <= 1 else "ParallelMapDataset"

    def spec(self) -> Any:
        if self._spec is None:
            self._spec = self._spec_of_results()
        return self._spec

    def each(self, iteration: Iteration) -> Iterator[Any]:
        elements, turns = self.inputs[0].elements(iteration), iteration.turns(self, self._begin)
        if self._parallel > 1:
            yield from self._parallel_results(elements, turns)
        else:
            for index, element in enumerate(elements):
                yield self.mapped(index, element, next(turns))

    def mapped(self, index: int, element: Any, turn: int | None = None) -> Any:
        """What the function makes of one element."""
        return to_arrays(call_on_element("map", self._function, index, element, turn))

    def resumed(self, consumed: int) -> Stage:
        left = super().resumed(consumed)
        if isinstance(left, Map):
            left._begin = self._begin + consumed  # so that its random numbers go on
        return left

    def _parallel_results(self, elements: Iterator[Any], turns: Iterator[int]) -> Iterator[Any]:
        futures = importlib.import_module("concurrent.futures")  # takes 10 ms, and is rarely needed
        pool = futures.ThreadPoolExecutor(self._parallel)
        try:
            waiting = collections.deque[Any]()
            failure: Exception | None = None
            for index in itertools.count():
                element = _END
                try:
                    element = next(elements, _END)
                except Exception as error:
                    failure = error  # raised after the elements that were read before it
                if element is _END:
                    break
                # In the context of the caller, so that the function sees the same strategy and backend.
                waiting.append(pool.submit(contextvars.copy_context().run, self.mapped, index, element, next(turns)))
                if len(waiting) >= self._parallel:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            if failure is not None:
                raise failure
        finally:
            # Without waiting: an abandoned loop may be collected anywhere, even while a thread is being started.
            pool.shutdown(wait=False, cancel_futures=True)

    def _spec_of_results(self) -> Any:
        spec = self.inputs[0].spec()
        samples = _samples(self.inputs[0]) if _has_strings(spec) else []
        try:
            found = _spec_by_trial(self._spec_of_result, spec, zeros_of(spec))
        except Exception:
            if not samples:
                raise
            # An empty string is no example and no image.
            return functools.reduce(common, map(self._spec_of_result, samples))
        # If sizes depend on values, others give other sizes than zeros; a function that cannot take ones is not wrong.
        for element in (nest.map_structure(_ones, spec), *samples):
            with contextlib.suppress(Exception):
                found = common(found, self._spec_of_result(element))
        return found

    def _spec_of_result(self, element: Any) -> Any:
        return spec_of(to_arrays(call(self._function, element)))


def is_true(method: str, predicate: Callable[..., Any], index: int, element: Any, turn: int | None = None) -> bool:
    """What a predicate says about an element."""
    kept = np.asarray(call_on_element(method, predicate, index, element, turn))
    if kept.dtype != bool or kept.shape:
        raise ValueError(
            f"The predicate given to {method}() returned {kept} for element {index}; expected a single bool. Compare, for "
            f"example x % 2 == 1, and return the result."
        )
    return bool(kept)


class Filter(Stage):
    """Keeps the elements for which a function returns True."""

    name = "FilterDataset"

    def __init__(self, stage: Stage, predicate: Callable[..., Any]) -> None:
        super().__init__(stage)
        self._predicate = predicate

    def each(self, iteration: Iteration) -> Iterator[Any]:
        turns = iteration.turns(self)
        for index, element in enumerate(self.inputs[0].elements(iteration)):
            if is_true("filter", self._predicate, index, element, next(turns)):
                yield element

    def require_valid(self) -> None:
        is_true("filter", self._predicate, 0, zeros_of(self.spec()))

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY  # even for infinite data, of which it may keep few


class Interleave(Stage):
    """Makes a dataset of each element, and takes a few elements of each in turn."""

    name, method = "InterleaveDataset", "interleave"

    def __init__(self, stage: Stage, function: Callable[..., Any], cycle: int = 1, block: int = 1) -> None:
        super().__init__(stage)
        self._function, self._cycle, self._block = function, cycle, block

    def spec(self) -> Any:
        # Tried on the first element, if there is one, because the function may not accept zeros.
        spec = self.inputs[0].spec()
        first = next(self.inputs[0].elements(Iteration(peeking=True)), _END)
        return _spec_by_trial(
            lambda element: self._stage(0, element).spec(), spec, zeros_of(spec) if first is _END else first
        )

    def each(self, iteration: Iteration) -> Iterator[Any]:
        elements = enumerate(self.inputs[0].elements(iteration))
        coming = (self._stage(*numbered).elements(iteration.inner()) for numbered in elements)
        # A slot that has run out is refilled when its turn comes.
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
        made = call_on_element(self.method, self._function, index, element)
        if not hasattr(made, "stage"):
            raise TypeError(
                f"The function given to {self.method}() returned a {type(made).__name__} for element {index}; expected a Dataset. "
                f"Wrap the result, for example with tf.data.Dataset.from_tensors()."
            )
        return made.stage


class FlatMap(Interleave):
    """Makes a dataset of each element, and delivers them one after the other."""

    name, method = "FlatMapDataset", "flat_map"


def _has_strings(spec: Any) -> bool:
    return any(not isinstance(leaf, DatasetSpec) and leaf.dtype == object for leaf in nest.flatten(spec))


def _samples(stage: Stage) -> list[Any]:
    """The first elements of a stage, or others of the same kind that are read sooner."""
    while stage.same_elements:
        stage = stage.inputs[0]
    return list(itertools.islice(stage.elements(Iteration(peeking=True)), 2))


def _spec_by_trial(spec_for: Callable[[Any], Any], spec: Any, element: Any) -> Any:
    """Find the spec of what a function makes by trying it on an element, and on a larger one if sizes may vary."""
    found = spec_for(element)
    if all(None not in leaf.shape for leaf in nest.flatten(spec)):
        return found
    return common(found, spec_for(nest.map_structure(_larger, spec, element)))


def zeros_of(spec: Any) -> Any:
    """An element of zeros and empty strings."""
    return nest.map_structure(_zero, spec)


def _zero(leaf: Any) -> Any:
    if isinstance(leaf, DatasetSpec):
        return leaf.of(InMemoryElements([zeros_of(leaf.element_spec)], lambda: leaf.element_spec))
    if of_parts(leaf):
        return leaf.example(1, _zero_value(leaf))
    shape = tuple(1 if size is None else size for size in leaf.sizes)
    return np.full(shape, _zero_value(leaf), leaf.dtype)


def _ones(leaf: Any) -> Any:
    zero = _zero(leaf)
    if isinstance(leaf, DatasetSpec) or leaf.dtype == object:
        return zero
    return zero.mapped(np.ones_like) if of_parts(leaf) else np.ones_like(zero)


def _larger(leaf: Any, array: Any) -> Any:
    if isinstance(leaf, DatasetSpec):
        return array
    if of_parts(leaf):
        return leaf.example(2, _zero_value(leaf))
    sizes = zip(leaf.sizes, np.shape(array), strict=True)
    shape = tuple(size + 1 if known is None else size for known, size in sizes)
    return np.resize(array, shape) if np.size(array) else np.full(shape, _zero_value(leaf), leaf.dtype)


def _zero_value(leaf: Any) -> Any:
    return b"" if leaf.dtype == object else 0

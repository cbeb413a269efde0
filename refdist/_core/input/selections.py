"""The stages that choose elements by what is in them, or among several datasets, or that carry a state along."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.errors import FailedPreconditionError, InvalidArgumentError
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import make
from refdist._core.input.mapping import Map, call_on_element, is_true, to_arrays, zeros_of
from refdist._core.input.stage import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Iteration, Stage
from refdist._core.input.transforms import Shuffle
from refdist._core.input.windows import InMemoryElements
from refdist._core.replicas.specs import TensorSpec, common, spec_of

_HOST = Device("CPU:0")
_NOTHING = Stage()


class TakeWhile(Stage):
    """Ends before the first element for which a function returns False."""

    name = "_TakeWhileDataset"

    def __init__(self, stage: Stage, predicate: Callable[..., Any]) -> None:
        super().__init__(stage)
        self._predicate = predicate

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for index, element in enumerate(self.inputs[0].elements(iteration)):
            if not is_true("take_while", self._predicate, index, element):
                return
            yield element

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY


class Scan(Stage):
    """Calls a function on a state and each element; it returns the next state, and what is delivered."""

    name = "_ScanDataset"

    def __init__(self, stage: Stage, initial: Any, function: Callable[[Any, Any], Any]) -> None:
        super().__init__(stage)
        self._initial, self._function = to_arrays(initial), function

    def spec(self) -> Any:
        return spec_of(self._next(0, self._initial, zeros_of(self.inputs[0].spec()))[1])

    def each(self, iteration: Iteration) -> Iterator[Any]:
        state = self._initial
        for index, element in enumerate(self.inputs[0].elements(iteration)):
            state, output = self._next(index, state, element)
            yield output

    def _next(self, index: int, state: Any, element: Any) -> tuple[Any, Any]:
        # Both are single arguments, whatever nests they are.
        made = call_on_element("scan", lambda pair: self._function(*pair), index, [state, element])
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise TypeError(
                f"The function given to scan() returned {made!r} for element {index}; expected a pair: the next state, and what is "
                f"delivered. Return both."
            )
        return to_arrays(made[0]), to_arrays(made[1])


class Unique(Stage):
    """Delivers each value once."""

    name = "_UniqueDataset"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        spec = stage.spec()
        if nest.is_nested(spec) or spec.dtype not in (np.int32, np.int64, object):
            raise TypeError(
                f"unique() was called on elements {spec}; expected single tensors of tf.int32, tf.int64 or tf.string. Take one of "
                f"them with map()."
            )

    def each(self, iteration: Iteration) -> Iterator[Any]:
        seen: set[Any] = set()
        for element in self.inputs[0].elements(iteration):
            array = np.asarray(element)
            key = array.shape, tuple(array.ravel().tolist())
            if key not in seen:
                seen.add(key)
                yield element

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY


class Choose(Stage):
    """Takes the next element of one of several datasets; the last input says of which."""

    name = "_DirectedInterleaveDataset"

    def __init__(self, stages: Sequence[Stage], choices: Stage, stop_on_empty: bool) -> None:
        super().__init__(*stages, choices)
        self._stop = stop_on_empty
        if not stages:
            raise ValueError("Elements were to be chosen from no datasets; expected at least one. Pass a list of them.")
        if choices.spec() != TensorSpec((), np.int64):
            raise TypeError(
                f"The dataset of choices has elements {choices.spec()}; expected the numbers of datasets, of tf.int64. Make one "
                f"with tf.data.Dataset.range()."
            )
        self.spec()  # raises if they do not fit together

    def spec(self) -> Any:
        found = self.inputs[0].spec()
        for stage in self.inputs[1:-1]:
            try:
                found = common(found, stage.spec())
            except ValueError as error:
                raise TypeError(f"Elements were to be chosen from datasets that differ. {error}") from error
        return found

    def each(self, iteration: Iteration) -> Iterator[Any]:
        *stages, choices = self.inputs
        open_ = {number: stage.elements(iteration) for number, stage in enumerate(stages)}
        for choice in choices.elements(iteration):
            number = int(choice)
            if not 0 <= number < len(stages):
                raise InvalidArgumentError(
                    f"Dataset {number} was chosen; expected 0 to {len(stages) - 1}, because there are {len(stages)}. Correct the "
                    f"choices."
                )
            if number not in open_:
                continue
            for element in itertools.islice(open_[number], 1):
                yield element
                break
            else:
                if self._stop:
                    return
                del open_[number]
                if not open_:
                    return

    def is_empty(self) -> bool:
        return False

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY


class Counting(Stage):
    """Numbers without end, each so much above the one before."""

    name = "_ScanDataset"  # what TensorFlow makes it of

    def __init__(self, start: int, step: int, dtype: Any) -> None:
        super().__init__()
        self._start, self._step, self._dtype = start, step, dtype

    def spec(self) -> Any:
        return TensorSpec((), self._dtype)

    def each(self, iteration: Iteration) -> Iterator[Any]:
        return (self._dtype.type(number) for number in itertools.count(self._start, self._step))

    def cardinality(self) -> int:
        return INFINITE_CARDINALITY


class RandomNumbers(Shuffle):
    """Numbers without end from a seed, which a position records like that of a shuffle."""

    name = "_RandomDataset"
    same_elements = False

    def __init__(self, seed: int | None, rerandomize: bool, draw: "Callable[[np.random.Generator], Any]") -> None:
        super().__init__(_NOTHING, 1, seed, rerandomize)
        self.inputs, self._draw = (), draw

    def spec(self) -> Any:
        return TensorSpec((), np.int64)

    def rows(self, iteration: Iteration) -> None:
        return None

    def each(self, iteration: Iteration) -> Iterator[Any]:
        generator = iteration.generator(self)
        while True:
            yield np.int64(self._draw(generator))

    def cardinality(self) -> int:
        return INFINITE_CARDINALITY


class GroupByWindow(Stage):
    """Collects elements by a key, and makes a dataset of each full group, and at the end of those that are not full."""

    name = "_GroupByWindowDataset"

    def __init__(
        self,
        stage: Stage,
        of: Callable[[Stage], Any],
        key_of: Callable[..., Any],
        reduce: Callable[[Any, Any], Any],
        size_of: Callable[[Any], Any],
    ) -> None:
        super().__init__(stage)
        self._of, self._key_of, self._reduce, self._size_of = of, key_of, reduce, size_of

    def spec(self) -> Any:
        zeros = zeros_of(self.inputs[0].spec())
        return self._made(0, [zeros]).spec()

    def each(self, iteration: Iteration) -> Iterator[Any]:
        groups: dict[int, list[Any]] = {}
        for index, element in enumerate(self.inputs[0].elements(iteration)):
            key = int(np.asarray(call_on_element("group_by_window", self._key_of, index, element)))
            group = groups.setdefault(key, [])
            group.append(element)
            if len(group) >= self._size(key):
                del groups[key]
                yield from self._made(key, group).elements(iteration.inner())
        for key in sorted(groups):
            yield from self._made(key, groups[key]).elements(iteration.inner())

    def _size(self, key: int) -> int:
        size = int(np.asarray(self._size_of(np.int64(key))))
        if size < 1:
            raise InvalidArgumentError(
                f"The window of the key {key} has size {size}; expected at least 1. Correct window_size."
            )
        return size

    def _made(self, key: int, elements: list[Any]) -> Stage:
        made = self._reduce(
            make(np.array(key, np.int64), _HOST), self._of(InMemoryElements(elements, self.inputs[0].spec))
        )
        if not hasattr(made, "stage"):
            raise TypeError(
                f"The reduce_func given to group_by_window() returned a {type(made).__name__}; expected a Dataset. Return, for "
                f"example, window.batch(size)."
            )
        return made.stage

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY


class IgnoreErrors(Stage):
    """Leaves out the elements for which the function of the map() before it raises an error."""

    name = "_IgnoreErrorsDataset"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        if not isinstance(stage, Map):
            raise NotImplementedError(
                f"ignore_errors() was called on a {stage.name}; expected the result of map(), because a reader that has failed "
                f"cannot go on. Call it right after map()."
            )

    def spec(self) -> Any:
        try:
            return super().spec()
        except Exception:  # the function may fail on zeros, as on other elements
            for element in self.each(Iteration(peeking=True)):
                return spec_of(element)
            raise

    def each(self, iteration: Iteration) -> Iterator[Any]:
        mapped = self.inputs[0]
        assert isinstance(mapped, Map)
        for index, element in enumerate(mapped.inputs[0].elements(iteration)):
            try:
                made = mapped.mapped(index, element)
            except Exception:  # whatever the user's function raises
                continue
            yield made

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY


class AssertCardinality(Stage):
    """Promises a number of elements, and raises if there are more or fewer."""

    name = "_AssertCardinalityDataset"

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self._count = count

    def each(self, iteration: Iteration) -> Iterator[Any]:
        found = 0
        for element in self.inputs[0].elements(iteration):
            found += 1
            if found > self._count >= 0:
                raise self._wrong("at least", found)
            yield element
        if found != self._count:
            raise self._wrong("only", found)

    def _wrong(self, how: str, found: int) -> FailedPreconditionError:
        promised = "without end" if self._count < 0 else f"{self._count}"
        return FailedPreconditionError(
            f"A dataset has {how} {found} elements; expected {promised}, which assert_cardinality() says. Correct the number."
        )

    def cardinality(self) -> int:
        return self._count

"""Where elements come from: arrays, ranges, functions, and the loaders of other libraries."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.convert import to_array
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.input.rows import Block, Rows
from refdist._core.input.stage import DELIVERING, UNKNOWN_CARDINALITY, Iteration, Stage
from refdist._core.replicas.specs import TensorSpec, common, is_dataset, spec_of, unbatched
from refdist._core.replicas.values import of_parts

_END: Any = object()


def read_only_copy(value: Any) -> np.ndarray[Any, Any]:
    """Copy a value to an array that cannot be changed."""
    array = np.array(to_array(value), copy=True)
    array.setflags(write=False)
    return array


def arrays_of(value: Any) -> Any:
    """Make a nest of tuples and dicts with arrays as leaves; a list becomes one array, as in TensorFlow's datasets."""
    if isinstance(value, Mapping):
        return {key: arrays_of(part) for key, part in value.items()}
    if isinstance(value, tuple):
        parts = [arrays_of(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.host_parts() if of_parts(value) else read_only_copy(value)


class TensorSlices(Stage):
    """The rows of arrays."""

    name = "TensorSliceDataset"

    def __init__(self, tensors: Any) -> None:
        super().__init__()
        self._arrays = arrays_of(tensors)
        leaves = nest.flatten(self._arrays)
        if not leaves:
            raise ValueError("from_tensor_slices() got an empty nest; expected at least one array. Pass the data.")
        for leaf in leaves:
            if leaf.ndim == 0 or len(leaf) != len(leaves[0] if leaves[0].ndim else [0]):
                raise ValueError(
                    f"from_tensor_slices() got arrays of shape {', '.join(str(one.shape) for one in leaves)}; expected the same "
                    f"first dimension in all of them. Use from_tensors() for a single element."
                )
        self._count = len(leaves[0])
        self._single = leaves[0] if leaves[0] is self._arrays else None

    def spec(self) -> Any:
        return unbatched(spec_of(self._arrays))

    def rows(self, iteration: Iteration) -> Rows:
        return Rows(self._take, lambda: iter([range(self._count)] if self._count else []))

    def is_empty(self) -> bool:
        return not self._count

    def cardinality(self) -> int:
        return self._count

    def _take(self, block: Block) -> Any:
        index = slice_of(block)
        if self._single is not None:
            return read_only(self._single[index])
        return nest.map_structure(lambda array: read_only(array[index]), self._arrays)


class Tensors(Stage):
    """One element."""

    name = "TensorDataset"

    def __init__(self, tensors: Any) -> None:
        super().__init__()
        self._element = arrays_of(tensors)

    def spec(self) -> Any:
        return spec_of(self._element)

    def rows(self, iteration: Iteration) -> Rows:
        def take(block: Block) -> Any:
            count = len(block)
            return nest.map_structure(lambda array: _repeated(array, count), self._element)

        return Rows(take, lambda: iter([range(1)]))

    def cardinality(self) -> int:
        return 1


def _repeated(array: Any, count: int) -> Any:
    return array.stacked([array] * count) if of_parts(array) else np.broadcast_to(array, (count, *array.shape))


class Range(Stage):
    """Counts, as Python's `range` does."""

    name = "RangeDataset"

    def __init__(self, numbers: range, dtype: Any) -> None:
        super().__init__()
        self._numbers, self._dtype = numbers, numpy_dtype(dtype)

    def spec(self) -> Any:
        return TensorSpec((), self._dtype)

    def rows(self, iteration: Iteration) -> Rows:
        return Rows(self._take, lambda: iter([range(len(self._numbers))] if self._numbers else []))

    def is_empty(self) -> bool:
        return not self._numbers

    def cardinality(self) -> int:
        return len(self._numbers)

    def _take(self, block: Block) -> Any:
        start, step = self._numbers.start, self._numbers.step
        if isinstance(block, range):
            first, stride = start + step * block.start, step * block.step
            return read_only(np.arange(first, first + stride * len(block), stride, dtype=self._dtype))
        return read_only((start + step * block).astype(self._dtype))


class Generated(Stage):
    """What the iterator of a function delivers, converted to the promised spec and checked against it."""

    name = "FlatMapDataset"
    repeatable = False  # whether it certainly delivers the same data again

    def __init__(self, generator: Callable[..., Iterable[Any]], args: tuple[Any, ...], spec: Any) -> None:
        super().__init__()
        self._generator, self._args, self._promise, self._guess = generator, args, spec, None
        self._last: Any = None

    def spec(self) -> Any:
        if self._promise is not None and not any(isinstance(leaf, DtypeSpec) for leaf in nest.flatten(self._promise)):
            return self._promise
        if self._guess is None:
            self._guess = self._guessed_spec()
        return self._guess

    def each(self, iteration: Iteration) -> Iterator[Any]:
        elements: Iterator[Any] | None = None
        if not self.repeatable:
            iteration.unrepeatable.append(True)
        for index in itertools.count():
            try:
                around = DELIVERING.set(iteration)
                try:
                    elements = iter(self._elements()) if elements is None else elements
                    element = next(elements, _END)
                finally:
                    DELIVERING.reset(around)
                if element is _END:
                    return
                element = self.converted(element)
                promised = element_of(element) if self._promise is None else _promised(element, self._promise, index)
            except Exception as error:
                error.add_note(f"raised while element {index} of {self.name} was made")
                raise
            yield promised

    def converted(self, element: Any) -> Any:
        """Return an element as the function delivers it; loaders override this, because their nests differ."""
        return element

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY

    def _elements(self) -> Iterable[Any]:
        elements = self._generator(*self._args)
        if isinstance(elements, Iterator) and elements is self._last:
            raise TypeError(
                "The function that makes the data returned the same iterator again, which is used up; expected a new one for "
                "every loop. Make the iterator inside the function."
            )
        self._last = elements
        return elements

    def _guessed_spec(self) -> Any:
        """The common spec of the first two elements; sizes in which they differ are unknown."""
        seen = [spec_of(element) for element in itertools.islice(self.each(Iteration()), 2)]
        if not seen:
            raise ValueError(
                "The data are empty, so that nothing is known of their elements; expected at least one. Give an output_signature."
            )
        return common(seen[0], seen[-1])


class DtypeSpec(TensorSpec):
    """The promise of an element of which only the dtype is known."""

    def is_compatible_with(self, other: Any) -> bool:
        return bool(self.dtype == other.dtype)


class Loader(Generated):
    """Batches that another library delivers: anything that can be iterated over repeatedly."""

    name = "LoaderDataset"

    def __init__(self, loader: Any) -> None:
        if isinstance(loader, (str, bytes, Mapping)):
            raise TypeError(
                f"The data are a {type(loader).__name__}; expected a tf.data.Dataset, or a list of batches. Make a dataset with "
                f"tf.data.Dataset.from_tensor_slices()."
            )
        if isinstance(loader, Iterator):
            raise TypeError(
                f"The data are a {type(loader).__name__}, which can be iterated over once; expected a dataset, a list, or a "
                f"function that returns a new iterator. Wrap it: lambda: make_iterator()."
            )
        if (isinstance(loader, type) or not callable(loader)) and not hasattr(loader, "__iter__"):
            raise TypeError(
                f"The data are a {type(loader).__name__}; expected a tf.data.Dataset, or something that can be iterated over, "
                f"such as a list of batches. Make a dataset with tf.data.Dataset.from_tensor_slices()."
            )
        super().__init__(_iterable_factory(loader), (), None)
        self.repeatable = isinstance(loader, (list, tuple))
        self._length = len(loader) if isinstance(loader, Sized) else UNKNOWN_CARDINALITY

    def converted(self, element: Any) -> Any:
        return _loaded(element)

    def cardinality(self) -> int:
        return self._length


def _iterable_factory(loader: Any) -> Callable[[], Iterable[Any]]:
    return (lambda: loader) if hasattr(loader, "__iter__") else loader


def element_of(value: Any) -> Any:
    """Return one element as a nest of arrays that nothing else can change; tuples and dicts are nests, lists are arrays."""
    if isinstance(value, Mapping):
        return {key: element_of(part) for key, part in value.items()}
    if isinstance(value, tuple):
        parts = [element_of(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataset(value):
        return value
    if of_parts(value):
        return value.host_parts()
    array = value if isinstance(value, np.ndarray) and value.dtype.kind not in "OSU" else to_array(value)
    # A buffer that is reused for the next element must not change this one.
    return read_only(array.copy()) if array.flags.writeable else array


def _loaded(value: Any) -> Any:
    """Convert a batch of another library, where a list of arrays is a nest, not one array."""
    if isinstance(value, Mapping):
        return {key: _loaded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and any(
        isinstance(part, (list, tuple, Mapping)) or np.ndim(part) for part in value
    ):
        parts = [_loaded(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def slice_of(block: Block) -> Any:
    """Return an index for an array: for a range a slice, which copies nothing."""
    return slice(block.start, block.stop, block.step) if isinstance(block, range) else block


def read_only(array: Any) -> Any:
    """Return the same array, made read-only; parts of ragged and sparse tensors are never written."""
    if not of_parts(array):
        array.setflags(write=False)
    return array


def _promised(element: Any, spec: Any, index: int) -> Any:
    """Return an element in the promised dtypes, or raise an error that says which one breaks the promise."""
    try:
        arrays = element_of(_typed(element, spec))
        nest.assert_same_structure(spec, arrays)
        fits = all(s.is_compatible_with(a) for s, a in zip(nest.flatten(spec), nest.flatten(arrays), strict=True))
    except (ValueError, TypeError) as error:
        raise _broken_promise(element, spec, index) from error
    if not fits:
        raise _broken_promise(element, spec, index)
    return arrays


def _broken_promise(element: Any, spec: Any, index: int) -> TypeError:
    found = spec_of(element_of(element))
    return TypeError(
        f"Element {index} of the generator is {found}; expected {spec}, as promised. Correct the generator or its "
        f"output_signature."
    )


def _typed(element: Any, spec: Any) -> Any:
    """Give the parts of an element the promised dtypes, because an empty list has none of its own."""
    if isinstance(spec, Mapping) and isinstance(element, Mapping):
        return {key: _typed(part, spec.get(key)) for key, part in element.items()}
    if isinstance(spec, tuple) and isinstance(element, tuple) and len(spec) == len(element):
        parts = [_typed(part, promised) for part, promised in zip(element, spec, strict=True)]
        return type(element)(*parts) if hasattr(element, "_fields") else tuple(parts)
    if not isinstance(spec, TensorSpec):
        return element
    empty = isinstance(element, list) and not np.size(element)
    return np.empty(np.shape(element), spec.dtype) if empty else to_array(element, spec.dtype)


class FileNames(TensorSlices):
    """Names of files, which can be divided among workers."""

    name = "ListFilesDataset"

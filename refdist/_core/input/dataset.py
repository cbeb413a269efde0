"""Dataset: a lazy chain of small stages, with the documented methods."""

import contextlib
import glob
import operator
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.callables import require_callable
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import make
from refdist._core.input import batching, mapping, sources, transforms, windows
from refdist._core.input.capture import captured
from refdist._core.input.dataset_options import SHARD_HINT, Options
from refdist._core.input.optional import AskedForNext
from refdist._core.input.position import Pass
from refdist._core.input.rarer_methods import RarerMethods
from refdist._core.input.stage import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Skip, Stage
from refdist._core.replicas import context
from refdist._core.replicas.specs import TensorSpec, require_tensor, shapes_text, types_text
from refdist._core.replicas.values import of_parts
from refdist._core.seam.draft import leave_draft_for_data

AUTOTUNE = -1

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset"]


class Dataset(RarerMethods):
    """A sequence of elements that starts over with every loop.

    >>> list(Dataset.range(5).batch(2).as_numpy_iterator())
    [array([0, 1]), array([2, 3]), array([4])]
    """

    def __init__(self, stage: Stage) -> None:
        if stage.is_empty():
            stage.require_valid()  # because there will be no element to raise the error
        self.stage = stage

    @staticmethod
    def of(stage: Stage) -> "Dataset":
        """Make a dataset of a stage; the constructors of subclasses take other arguments."""
        return Dataset(stage)

    @staticmethod
    def from_tensors(tensors: Any, name: Any = None) -> "Dataset":
        """Make a dataset of one element."""
        return Dataset(sources.Tensors(tensors))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: Any = None) -> "Dataset":
        """Make a dataset of the rows of arrays."""
        return Dataset(sources.TensorSlices(tensors))

    @staticmethod
    def range(*args: int, output_type: Any = np.int64, name: Any = None) -> "Dataset":
        """Count, as Python's `range` does."""
        try:
            numbers = range(*(int(argument) for argument in args))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"range() got {args!r}; expected one to three integers, the step not 0. {error}."
            ) from error
        return Dataset(sources.Range(numbers, output_type))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: tuple[Any, ...] | None = None,
        output_signature: Any = None,
        name: Any = None,
    ) -> "Dataset":
        """Make a dataset of what a function's iterator delivers; the function is called again for every loop."""
        if not callable(generator):
            raise TypeError(
                f"from_generator() got a {type(generator).__name__}; expected a function that returns an iterator. Pass the "
                f"function itself, uncalled."
            )
        spec = output_signature
        if spec is not None and (output_types is not None or output_shapes is not None):
            raise TypeError(
                "from_generator() got output_signature and output_types or output_shapes; expected one of the two. Leave out "
                "the types and shapes."
            )
        if output_types is not None:
            shapes = output_shapes if output_shapes is not None else nest.map_structure(lambda _: None, output_types)
            spec = _specs(output_types, shapes)
        spec = nest.map_structure(_dtype_alone, spec)
        return Dataset(sources.Generated(generator, tuple(args or ()), spec))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: Any = None
    ) -> "Dataset":
        """List the files that match one or more patterns, shuffled unless told otherwise."""
        patterns, seed = _patterns(file_pattern), _seed("list_files", seed)
        names = sorted({name for pattern in patterns for name in glob.glob(pattern)})
        if not names:
            raise ValueError(f"No file matches {', '.join(patterns)}; expected at least one. Correct the pattern.")
        found = Dataset(sources.FileNames(np.array([name.encode() for name in names], dtype=object)))
        return found if shuffle is False else found.shuffle(len(names), seed=seed)

    @staticmethod
    def zip(*datasets: Any, name: Any = None) -> "Dataset":
        """Put the elements of several datasets side by side."""
        shape = datasets[0] if len(datasets) == 1 else datasets
        flat = nest.flatten(shape)
        if not flat or isinstance(shape, list) or not all(isinstance(one, Dataset) for one in flat):
            raise TypeError(
                f"zip() got {shape!r}; expected datasets, or a tuple or dict of them. Make datasets of the parts."
            )
        return Dataset(transforms.Zip(nest.map_structure(lambda _: 0, shape), [one.stage for one in flat]))

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: Any = None,
        name: Any = None,
    ) -> "Dataset":
        """Call a function on each element; parallel calls keep the order."""
        parallel = 4 if num_parallel_calls == AUTOTUNE else 1
        if num_parallel_calls not in (None, AUTOTUNE):
            parallel = _positive("map", "num_parallel_calls", num_parallel_calls)
        return Dataset(mapping.Map(self.stage, _function("map", map_func), parallel))

    def filter(self, predicate: Callable[..., Any], name: Any = None) -> "Dataset":
        """Keep the elements for which a function returns True."""
        return Dataset(mapping.Filter(self.stage, _function("filter", predicate)))

    def flat_map(self, map_func: Callable[..., Any], name: Any = None) -> "Dataset":
        """Make a dataset of each element, and deliver them one after the other."""
        return Dataset(mapping.FlatMap(self.stage, _function("flat_map", map_func)))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: Any = None,
    ) -> "Dataset":
        """Make a dataset of each element, and take a few elements of several of them in turn."""
        cycle = 4 if cycle_length in (None, AUTOTUNE) else _positive("interleave", "cycle_length", cycle_length)
        block = 1 if block_length is None else _positive("interleave", "block_length", block_length)
        return Dataset(mapping.Interleave(self.stage, _function("interleave", map_func), cycle, block))

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: Any = None,
    ) -> "Dataset":
        """Combine so many elements into a batch; the last batch may be smaller."""
        return Dataset(batching.Batch(self.stage, _positive("batch", "batch_size", batch_size), bool(drop_remainder)))

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: Any = None,
    ) -> "Dataset":
        """Combine elements of different sizes into batches, padded to the largest or to given shapes."""
        padding = batching.Padding(padded_shapes, padding_values)
        size = _positive("padded_batch", "batch_size", batch_size)
        return Dataset(batching.Batch(self.stage, size, bool(drop_remainder), padding))

    def unbatch(self, name: Any = None) -> "Dataset":
        """Take batches apart."""
        return Dataset(batching.Unbatch(self.stage))

    def rebatch(self, batch_size: int, drop_remainder: bool = False, name: Any = None) -> "Dataset":
        """Cut batches, joined, into batches of another size."""
        return Dataset(
            batching.Rebatch(self.stage, _positive("rebatch", "batch_size", batch_size), bool(drop_remainder))
        )

    def window(
        self, size: int, shift: int | None = None, stride: int = 1, drop_remainder: bool = False, name: Any = None
    ) -> "Dataset":
        """Make datasets of so many elements each, every stride-th one, each starting `shift` elements after the one before."""
        count = _positive("window", "size", size)
        shift = count if shift is None else _positive("window", "shift", shift)
        step = _positive("window", "stride", stride)
        return Dataset(windows.Window(self.stage, Dataset.of, count, shift, step, bool(drop_remainder)))

    def repeat(self, count: int | None = None, name: Any = None) -> "Dataset":
        """Deliver the elements so many times; forever without a count, or with -1."""
        return Dataset(transforms.Repeat(self.stage, -1 if count is None else _integer("repeat", "count", count)))

    def shuffle(
        self, buffer_size: int, seed: int | None = None, reshuffle_each_iteration: bool | None = None, name: Any = None
    ) -> "Dataset":
        """Shuffle the elements within a buffer; the same seed gives the same order."""
        size, seed = _positive("shuffle", "buffer_size", buffer_size), _seed("shuffle", seed)
        return Dataset(transforms.Shuffle(self.stage, size, seed, reshuffle_each_iteration is not False))

    def shard(self, num_shards: int, index: int, name: Any = None) -> "Dataset":
        """Keep every num_shards-th element, starting at the given index."""
        count = num_shards if num_shards == SHARD_HINT else _positive("shard", "num_shards", num_shards)
        if count != SHARD_HINT and not 0 <= _integer("shard", "index", index) < count:
            raise ValueError(
                f"shard() got index={index}; expected 0 to {count - 1}, for {count} shards. Correct the index."
            )
        return Dataset(transforms.Shard(self.stage, count, int(index)))

    def take(self, count: int, name: Any = None) -> "Dataset":
        """Keep the first elements."""
        return Dataset(transforms.Take(self.stage, _integer("take", "count", count)))

    def skip(self, count: int, name: Any = None) -> "Dataset":
        """Skip the first elements."""
        return Dataset(Skip(self.stage, _integer("skip", "count", count)))

    def concatenate(self, dataset: "Dataset", name: Any = None) -> "Dataset":
        """Deliver another dataset after this one."""
        if not isinstance(dataset, Dataset):
            raise TypeError(
                f"concatenate() got a {type(dataset).__name__}; expected a Dataset. Make one, for example with range()."
            )
        made = transforms.Concatenate(self.stage, dataset.stage)
        made.spec()  # raises if the two do not fit together
        return Dataset(made)

    def enumerate(self, start: int = 0, name: Any = None) -> "Dataset":
        """Number the elements."""
        return Dataset(transforms.Enumerate(self.stage, _integer("enumerate", "start", start)))

    def prefetch(self, buffer_size: int | None, name: Any = None) -> "Dataset":
        """Say how many elements may be made before they are wanted; None is AUTOTUNE."""
        given = AUTOTUNE if buffer_size is None else int(buffer_size) if isinstance(buffer_size, bool) else buffer_size
        return Dataset(transforms.Prefetch(self.stage, _integer("prefetch", "buffer_size", given)))

    def cache(self, filename: str = "", name: Any = None) -> "Dataset":
        """Keep the elements of the first complete loop, in memory or in a file that later programs find."""
        return Dataset(transforms.Cache(self.stage, str(filename)))

    def with_options(self, options: Options, name: Any = None) -> "Dataset":
        """Set options of the dataset; earlier ones stay, unless these override them."""
        if not isinstance(options, Options):
            raise TypeError(
                f"with_options() got a {type(options).__name__}; expected a tf.data.Options. Make one and set its attributes."
            )
        return Dataset(transforms.WithOptions(self.stage, options.merged_into(self.options())))

    def apply(self, transformation_func: Callable[["Dataset"], "Dataset"]) -> "Dataset":
        """Hand the dataset to a function that returns another one."""
        require_callable(transformation_func, "apply()")
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"apply() got a {type(made).__name__} from its function; expected a Dataset. Return one.")
        return made

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any], name: Any = None) -> Any:
        """Fold all elements into one state: `state = reduce_func(state, element)`."""
        require_callable(reduce_func, "reduce()")
        state = nest.map_structure(to_tensor, sources.element_of(initial_state))
        for element in self:
            state = reduce_func(state, element)
        return state

    def cardinality(self) -> Any:
        """Count the elements, as a tensor; INFINITE_CARDINALITY and UNKNOWN_CARDINALITY are below 0."""
        return to_tensor(np.int64(self.stage.cardinality()))

    def options(self) -> Options:
        """The options that were set for the dataset."""
        return next(
            (stage.options for stage in self.stage.walk() if isinstance(stage, transforms.WithOptions)), Options()
        )

    @property
    def element_spec(self) -> Any:
        """Shape and dtype of an element, as a nest of TensorSpecs."""
        return self.stage.spec()

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Deliver the elements as numpy arrays and scalars."""
        return DatasetIterator(self, _scalar)

    def __iter__(self) -> "DatasetIterator":
        leave_draft_for_data()
        return DatasetIterator(self, to_tensor)

    def __len__(self) -> int:
        count = self.stage.cardinality()
        if count < 0:
            kind = "has no end" if count == INFINITE_CARDINALITY else "has an unknown number of elements"
            raise TypeError(f"len() of a dataset that {kind}; expected a finite one. Use take(), or count in a loop.")
        return count

    def __bool__(self) -> bool:
        return True

    def _repr_html_(self) -> str:
        from refdist._core.input.stage_tables import stage_table  # for notebooks only

        return stage_table(type(self).__name__, self.stage)

    def __repr__(self) -> str:
        spec = self.element_spec
        return f"<{self.stage.name} shapes: {shapes_text(spec)}, types: {types_text(spec)}>"


class DatasetIterator(AskedForNext):
    """One loop over a dataset; its position can be saved and restored."""

    def __init__(self, dataset: Dataset, leaf: Callable[[Any], Any]) -> None:
        self._dataset = dataset
        super().__init__(lambda state: Pass(dataset.stage, state), lambda element: nest.map_structure(leaf, element))

    @property
    def element_spec(self) -> Any:
        """Shape and dtype of an element."""
        return self._dataset.element_spec


def to_tensor(array: Any) -> Any:
    """Put an element's array on the current device, as a tensor; strings stay on the host."""
    if isinstance(array, Dataset):
        return array
    if of_parts(array):
        return array.tensor(to_tensor)
    value = np.asarray(array)
    if value.dtype.kind == "O":
        return make(value, "CPU:0")
    return context.backend().put(value, HERE.get().device)


def _scalar(array: Any) -> Any:
    value = array.numpy() if of_parts(array) else np.asarray(require_tensor(array))
    return value[()] if value.ndim == 0 else value


def _function(method: str, function: Any) -> Callable[..., Any]:
    require_callable(function, f"{method}()")
    return captured(function)


def _integer(method: str, name: str, value: Any) -> int:
    with contextlib.suppress(TypeError):
        if not isinstance(value, bool):
            return operator.index(value)
    raise TypeError(f"{method}() got {name}={value!r}; expected an integer. Convert it with int().")


def _seed(method: str, seed: Any) -> int | None:
    return None if seed is None else _integer(method, "seed", int(seed) if isinstance(seed, bool) else seed)


def _patterns(given: Any) -> list[str]:
    flat: list[Any] = np.ravel(np.array(list(given) if isinstance(given, (set, frozenset)) else given, object)).tolist()
    try:
        return [os.fsdecode(pattern) for pattern in flat]
    except TypeError as error:
        raise TypeError(
            f"list_files() got {given!r}; expected a pattern such as 'data/*.tfrecord', or a list of them. Write them as text."
        ) from error


def _positive(method: str, name: str, value: Any) -> int:
    number = _integer(method, name, value)
    if number < 1:
        raise ValueError(f"{method}() got {name}={number}; expected at least 1. Give a larger number.")
    return number


def _dtype_alone(spec: Any) -> Any:
    """The spec of a part of an element, as a promise of its dtype alone where its shape may be any."""
    return sources.DtypeSpec((), spec.dtype) if isinstance(spec, TensorSpec) and spec.shape is None else spec


def _specs(types: Any, shapes: Any) -> Any:
    if isinstance(types, dict):
        return {key: _specs(part, shapes[key]) for key, part in types.items()}
    if isinstance(types, (tuple, list)):
        return tuple(_specs(part, shape) for part, shape in zip(types, shapes, strict=True))
    return sources.DtypeSpec((), types) if shapes is None else TensorSpec(tuple(shapes), types)

"""The methods of datasets that fewer programs use."""

import collections
import importlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from refdist._core.base import nest
from refdist._core.base.callables import require_callable
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError, NotFoundError
from refdist._core.input import batching, part_batches, selections
from refdist._core.input.capture import captured
from refdist._core.input.stage import Iteration, Stage


class RarerMethods:
    """What `Dataset` has beside the methods that nearly every program uses."""

    stage: Stage

    @staticmethod
    def of(stage: Stage) -> Any:
        """Make a dataset of a stage."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    if not TYPE_CHECKING:  # to a type checker, an object with this method has every attribute

        def __getattr__(self, name: str) -> Never:
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            remedy = (
                f": refdist has no tf.data.Dataset.{name}; use {_LACKING[name]} instead." if name in _LACKING else ""
            )
            raise AttributeError(f"{text}{remedy}", name=name, obj=self)

    @classmethod
    def load(cls, path: str, element_spec: Any = None, compression: str | None = None, reader_func: Any = None) -> Any:
        """Read what save() has written; not what TensorFlow's has."""
        if reader_func is not None:
            raise NotImplementedError(
                "load() got reader_func; expected none, because there is one file. Use shuffle() and the like on what it returns."
            )
        file = os.path.join(path, _SAVED)
        if not os.path.exists(file):
            raise NotFoundError(
                f"load() found no {_SAVED} in {path!r}; expected a folder that save() of refdist wrote. Write data of TensorFlow "
                f"with tf.io.TFRecordWriter, and read them with tf.data.TFRecordDataset."
            )
        return cls.of(element_files().SavedElements(file, compression))

    def save(
        self, path: str, compression: str | None = None, shard_func: Any = None, checkpoint_args: Any = None
    ) -> None:
        """Write all elements to a folder, from which load() reads them."""
        if shard_func is not None or checkpoint_args is not None:
            raise NotImplementedError(
                "save() got shard_func or checkpoint_args; expected none, because it writes one file at once. Leave them out."
            )
        os.makedirs(path, exist_ok=True)
        written = element_files().write(
            os.path.join(path, _SAVED), self.stage.elements(Iteration()), self.stage.spec(), compression
        )
        collections.deque(written, maxlen=0)

    @classmethod
    def counter(cls, start: int = 0, step: int = 1, dtype: Any = np.int64, name: Any = None) -> Any:
        """Count without end."""
        return cls.of(selections.Counting(int(start), int(step), numpy_dtype(dtype)))

    @classmethod
    def random(cls, seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: Any = None) -> Any:
        """Draw integers below 2**32 without end; they are not those of TensorFlow."""
        return cls.of(
            selections.RandomNumbers(
                seed, bool(rerandomize_each_iteration), lambda generator: generator.integers(2**32)
            )
        )

    @classmethod
    def choose_from_datasets(
        cls, datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Any:
        """Take elements of several datasets, as a dataset of their numbers says."""
        stages, (choice,) = _stages("choose_from_datasets", datasets), _stages("choose_from_datasets", [choice_dataset])
        return cls.of(selections.Choose(stages, choice, stop_on_empty_dataset))

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Sequence[Any],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Any:
        """Take elements of several datasets at random, by weights; which ones, TensorFlow draws otherwise."""
        every = _stages("sample_from_datasets", datasets)
        try:
            shares = np.ones(len(every)) if weights is None else np.asarray(weights, np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"sample_from_datasets() got weights={weights!r}; expected a number for each dataset. Pass a list, or none."
            ) from error
        if shares.shape != (len(every),):
            raise ValueError(
                f"sample_from_datasets() got weights of shape {shares.shape}; expected {(len(every),)}, one for each dataset. "
                f"Correct them."
            )
        stages = [stage for stage, share in zip(every, shares, strict=True) if share > 0]
        odds = shares[shares > 0] / max(shares[shares > 0].sum(), 1e-300)
        if len(stages) == 1:
            return cls.of(stages[0])
        numbers = selections.RandomNumbers(
            seed, bool(rerandomize_each_iteration), lambda generator: generator.choice(len(odds), p=odds)
        )
        return cls.of(selections.Choose(stages, numbers, stop_on_empty_dataset))

    def take_while(self, predicate: Callable[..., Any], name: Any = None) -> Any:
        """End before the first element for which a function returns False."""
        return self.of(selections.TakeWhile(self.stage, _function("take_while", predicate)))

    def scan(self, initial_state: Any, scan_func: Callable[[Any, Any], Any], name: Any = None) -> Any:
        """Carry a state along: `state, output = scan_func(state, element)`."""
        return self.of(selections.Scan(self.stage, initial_state, _function("scan", scan_func)))

    def unique(self, name: Any = None) -> Any:
        """Deliver each value once."""
        return self.of(selections.Unique(self.stage))

    def ignore_errors(self, log_warning: bool = False, name: Any = None) -> Any:
        """Leave out the elements for which the function of map() raises an error."""
        return self.of(selections.IgnoreErrors(self.stage))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Any, Any], Any],
        window_size: int | None = None,
        window_size_func: Callable[[Any], Any] | None = None,
        name: Any = None,
    ) -> Any:
        """Collect elements by a key, and make a dataset of each full group."""
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                f"group_by_window() got window_size={window_size!r} and window_size_func={window_size_func!r}; expected one of "
                f"the two. Leave the other out."
            )
        size_of = window_size_func or (lambda _: window_size)
        key_of, reduce = _function("group_by_window", key_func), _function("group_by_window", reduce_func)
        return self.of(selections.GroupByWindow(self.stage, self.of, key_of, reduce, size_of))

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: Any = None,
    ) -> Any:
        """Make padded batches of elements of similar lengths."""
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError(
                f"bucket_by_sequence_length() got {len(bucket_boundaries)} boundaries and {len(bucket_batch_sizes)} batch sizes; "
                f"expected one size more. Add the size of batches of the longest elements."
            )
        length_of = _function("bucket_by_sequence_length", element_length_func)

        def key_of(*element: Any) -> Any:
            return np.searchsorted(bucket_boundaries, int(np.asarray(length_of(*element))), side="right")

        def batched(key: Any, window: Any) -> Any:
            size = bucket_batch_sizes[int(key)]
            if no_padding:
                return window.batch(size, drop_remainder)
            shapes = padded_shapes
            if pad_to_bucket_boundary:
                shapes = _to_boundary(window.element_spec if shapes is None else shapes, int(key), bucket_boundaries)
            return window.padded_batch(size, shapes, padding_values, drop_remainder)

        return self.of(
            selections.GroupByWindow(self.stage, self.of, key_of, batched, lambda key: bucket_batch_sizes[int(key)])
        )

    def ragged_batch(
        self, batch_size: int, drop_remainder: bool = False, row_splits_dtype: Any = np.int64, name: Any = None
    ) -> Any:
        """Combine elements of different sizes into ragged tensors."""
        rows = part_batches.AsRows(self.stage, numpy_dtype(row_splits_dtype))
        return self.of(rows).batch(batch_size, drop_remainder)

    def sparse_batch(self, batch_size: int, row_shape: Any, name: Any = None) -> Any:
        """Combine elements of different sizes into sparse tensors, the rows of which have one shape."""
        return self.of(batching.Batch(self.stage, int(batch_size), False, part_batches.IntoSparse(row_shape)))

    def get_single_element(self, name: Any = None) -> Any:
        """The only element."""
        found = list(itertools.islice(self, 2))
        if len(found) != 1:
            raise InvalidArgumentError(
                f"get_single_element() found {'no element' if not found else 'several elements'}; expected one. Use take(1), or "
                f"batch()."
            )
        return found[0]


_SAVED = "data.elements"


def element_files() -> Any:
    """The module that reads and writes files of elements, which needs readers."""
    return importlib.import_module("refdist._core.input.element_files")


_LACKING = {
    "fingerprint": "a hash of what the dataset is made of",
    "rejection_resample": "sample_from_datasets(), with a filter() for each class",
    "snapshot": "cache(), or tf.io.TFRecordWriter",
}


def _stages(method: str, datasets: Any) -> list[Stage]:
    several = isinstance(datasets, Iterable) and not isinstance(datasets, RarerMethods)
    found: list[Any] = list(datasets) if several else [None]
    for one in found:
        if not isinstance(one, RarerMethods):
            raise TypeError(
                f"{method}() got a {type(one if several else datasets).__name__}; expected a list of tf.data.Datasets. Make "
                f"datasets of the parts, for example with from_tensor_slices()."
            )
    return [one.stage for one in found]


def _function(method: str, function: Any) -> Callable[..., Any]:
    require_callable(function, f"{method}()")
    return captured(function)


def _to_boundary(shapes: Any, bucket: int, boundaries: Sequence[int]) -> Any:
    """Shapes in which unknown sizes are those of the longest elements of a bucket."""
    if bucket >= len(boundaries):
        raise InvalidArgumentError(
            f"An element is as long as the last boundary, {boundaries[-1]}, or longer; expected shorter ones, because of "
            f"pad_to_bucket_boundary=True. Add a boundary, or filter() the elements."
        )
    longest = boundaries[bucket] - 1

    def known(leaf: Any) -> tuple[int, ...]:
        return tuple(longest if size in (None, -1) else size for size in getattr(leaf, "shape", leaf))

    if not nest.is_nested(shapes) or all(size is None or isinstance(size, int) for size in nest.flatten(shapes)):
        return known(shapes)
    return nest.map_structure(known, shapes)

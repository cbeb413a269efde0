"""`tf.data.experimental`: functions that make what `Dataset.apply` takes, for methods that datasets have themselves."""

from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.input.dataset import Dataset
from refdist._core.input.selections import AssertCardinality
from refdist._core.input.sources import element_of

Transformation = Callable[[Dataset], Dataset]


def _of_method(method: str) -> Callable[..., Transformation]:
    def transformation(*args: Any, **kwargs: Any) -> Transformation:
        return lambda dataset: getattr(dataset, method)(*args, **kwargs)

    transformation.__name__ = method
    transformation.__doc__ = f"Make a function that calls `{method}` of a dataset."
    return transformation


bucket_by_sequence_length = _of_method("bucket_by_sequence_length")
dense_to_ragged_batch = _of_method("ragged_batch")
dense_to_sparse_batch = _of_method("sparse_batch")
enumerate_dataset = _of_method("enumerate")
group_by_window = _of_method("group_by_window")
ignore_errors = _of_method("ignore_errors")
scan = _of_method("scan")
take_while = _of_method("take_while")
unbatch = _of_method("unbatch")
unique = _of_method("unique")
choose_from_datasets = Dataset.choose_from_datasets
sample_from_datasets = Dataset.sample_from_datasets
Counter = Dataset.counter


load = Dataset.load


def save(dataset: Dataset, path: str, compression: str | None = None, **options: Any) -> None:
    """Write all elements to a folder."""
    dataset.save(path, compression, **options)


def cardinality(dataset: Dataset) -> Any:
    """Count the elements of a dataset."""
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: int) -> Transformation:
    """Promise how many elements there are; it is an error if there are more or fewer."""
    return lambda dataset: Dataset.of(AssertCardinality(dataset.stage, int(expected_cardinality)))


def get_single_element(dataset: Dataset) -> Any:
    """The only element of a dataset."""
    return dataset.get_single_element()


def prefetch_to_device(device: str, buffer_size: int | None = None) -> Transformation:
    """Read ahead; elements come to a device when they are used there."""
    return lambda dataset: dataset.prefetch(1 if buffer_size is None else buffer_size)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Leave a dataset as it is; elements come to a device when they are used there."""
    return lambda dataset: dataset.apply(lambda same: same)


def shuffle_and_repeat(buffer_size: int, count: int | None = None, seed: int | None = None) -> Transformation:
    """Shuffle, and start over."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> Transformation:
    """Call a function on each element, and make batches of the results."""
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool = False,
    buffer_output_elements: int | None = None,
    prefetch_input_elements: int | None = None,
) -> Transformation:
    """Make a dataset of each element, and take a few elements of several of them in turn."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def from_list(elements: Sequence[Any], name: Any = None) -> Dataset:
    """Make a dataset of a list of elements, which may be nests."""
    if not elements:
        raise ValueError("from_list() got no elements; expected at least one, which says what they are. Use range(0).")
    made = [element_of(one) for one in elements]
    return Dataset.from_generator(lambda: iter(made), output_signature=Dataset.from_tensors(elements[0]).element_spec)

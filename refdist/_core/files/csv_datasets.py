"""Datasets of files: `tf.data.experimental.CsvDataset`, `make_csv_dataset` and their like."""

import collections
import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from refdist._core.base.convert import to_array
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.files.tensor_bytes import decode_csv
from refdist._core.input.dataset import AUTOTUNE, Dataset
from refdist._core.input.mapping import Map
from refdist._core.input.readers import reading_stage
from refdist._core.input.tfrecord import TFRecordWriter as RecordFile
from refdist._core.replicas.specs import TensorSpec

_KINDS = (
    np.int32,
    np.int64,
    np.float32,
    np.float64,
)  # what columns may be, the narrowest first; otherwise they are text


class CsvDataset(Dataset):
    """The lines of files of comma-separated values, each a tuple of tensors.

    Args:
        record_defaults: for each column a dtype, which makes it required, or what stands for a field that is missing.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: str | None = None,
        buffer_size: int | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        defaults = [_default(one) for one in record_defaults]
        columns = None if exclude_cols is None else set(exclude_cols)
        if columns is not None and select_cols is not None:
            raise ValueError(
                "CsvDataset() got select_cols and exclude_cols; expected one of the two. Leave the other out."
            )

        def decode(line: Any) -> tuple[Any, ...]:
            chosen = select_cols
            if columns is not None:
                chosen = [one for one in range(len(defaults) + len(columns)) if one not in columns]
            return tuple(decode_csv(line, defaults, field_delim, use_quote_delim, na_value, chosen))

        stage = reading_stage("CsvDataset", filenames, compression_type, _lines(header, use_quote_delim))
        spec = tuple(TensorSpec((), one.dtype) for one in defaults)
        super().__init__(Map(stage, decode, 1, spec))


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Make batches of the lines of files: a dict of columns, with the label beside it if one is named."""
    files = [name.decode() for name in Dataset.list_files(file_pattern, shuffle=False).as_numpy_iterator()]
    options: dict[str, Any] = {
        "compression_type": compression_type,
        "field_delim": field_delim,
        "use_quote_delim": use_quote_delim,
    }

    def rows(skip: bool) -> Iterator[list[str]]:
        quoting = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
        stage = reading_stage("CsvDataset", files, compression_type, _lines(skip, use_quote_delim))
        lines = (line.decode(encoding) for line in Dataset(stage).as_numpy_iterator())
        return csv.reader(lines, delimiter=field_delim, quoting=quoting)

    names = list(column_names) if column_names is not None else next(rows(False))
    chosen = [
        names.index(one) if isinstance(one, str) else int(one)
        for one in (names if select_columns is None else select_columns)
    ]
    kept = [names[place] for place in sorted(chosen)]
    if label_name is not None and label_name not in kept:
        raise ValueError(
            f"make_csv_dataset() got label_name={label_name!r}; expected one of {', '.join(kept)}. Correct it."
        )
    if column_defaults is None:
        sample = list(itertools.islice(rows(header), num_rows_for_inference))
        column_defaults = [_kind([row[place] for row in sample], na_value) for place in sorted(chosen)]

    def named(*columns: Any) -> Any:
        features = collections.OrderedDict(zip(kept, columns, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    found = CsvDataset(files, column_defaults, header=header, na_value=na_value, select_cols=sorted(chosen), **options)
    made = found.ignore_errors() if ignore_errors else found
    made = made.shuffle(shuffle_buffer_size, shuffle_seed) if shuffle else made
    made = made.repeat(num_epochs) if num_epochs != 1 else made
    made = made.batch(batch_size, drop_remainder=num_epochs is None)
    return made.map(named).prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


class TFRecordWriter:
    """Writes a dataset of byte strings to a file of records."""

    def __init__(self, filename: str, compression_type: str | None = None) -> None:
        self._name, self._compression = filename, compression_type

    def write(self, dataset: Dataset) -> None:
        """Write all elements."""
        spec = dataset.element_spec
        if spec != TensorSpec((), object):
            raise TypeError(
                f"write() got a dataset of {spec}; expected scalars of tf.string. Use tf.io.serialize_tensor() in a map()."
            )
        with RecordFile(self._name, self._compression) as file:
            for element in dataset.as_numpy_iterator():
                file.write(element)


def _lines(header: bool, quotes: bool) -> Callable[[BinaryIO, str], Iterator[bytes]]:
    """How a file is read: without its first line if that has names, and with line ends that quotes surround."""

    def lines(file: BinaryIO, name: str) -> Iterator[bytes]:
        held = b""
        for number, line in enumerate(file):
            held += line
            if quotes and held.count(b'"') % 2:
                continue
            if number or not header:
                yield held.rstrip(b"\r\n")
            held = b""
        if held:
            yield held.rstrip(b"\r\n")

    return lines


def _default(given: Any) -> Any:
    """An array of the default of a column, or an empty one of the dtype that it has."""
    if isinstance(given, (np.dtype, type)):
        return np.empty(0, numpy_dtype(given))
    array = np.atleast_1d(to_array(given))
    return array.astype(np.float32) if isinstance(given, float) else array


def _kind(fields: Sequence[str], missing: str) -> Any:
    """What stands for a missing field of a column: zero, in the narrowest dtype that all fields fit, or no text."""
    for kind in _KINDS:
        if all(field in ("", missing) or _fits(field, kind) for field in fields):
            return np.zeros(1, kind)
    return np.array([b""], object)


def _fits(field: str, kind: Any) -> bool:
    try:
        number = int(field) if np.dtype(kind).kind == "i" else float(field)
    except ValueError:
        return False
    info = np.iinfo(kind) if np.dtype(kind).kind == "i" else np.finfo(kind)
    return info.min <= number <= info.max or number in (float("inf"), float("-inf")) or number != number

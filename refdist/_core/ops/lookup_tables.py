"""`tf.lookup`: tables from strings or integers to values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from refdist._core.base.convert import to_array
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from refdist._core.base.fingerprint import fingerprint
from refdist._core.base.jax_facts import is_jax
from refdist._core.devices.tensor import dtype_name
from refdist._core.ops.byte_strings import Array, byte_strings, string_tensor, text
from refdist._core.ops.tensor_functions import convert_to_tensor, fresh
from refdist._core.seam.draft import leave_draft_for_data


class TextFileIndex:
    """What of a text file is a key or a value, where it is no column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class KeyValueTensorInitializer:
    """Fills a table with keys and values."""

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: Any = None
    ) -> None:
        self.keys, self.values = _array(keys, key_dtype), _array(values, value_dtype)
        self.key_dtype, self.value_dtype = self.keys.dtype, self.values.dtype


class TextFileInitializer:
    """Fills a table with the lines of a file: whole lines, their numbers, or columns between delimiters."""

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: Any = None,
        value_index_offset: int = 0,
    ) -> None:
        self.key_dtype, self.value_dtype = numpy_dtype(key_dtype), numpy_dtype(value_dtype)
        for dtype, index in ((self.key_dtype, key_index), (self.value_dtype, value_index)):
            if index == TextFileIndex.LINE_NUMBER and dtype != np.int64:
                raise ValueError(
                    f"A TextFileInitializer was to take the numbers of lines as {dtype_name(dtype)}; expected tf.int64. Correct "
                    f"the dtype, or the index."
                )
        lines = _lines(text(filename, "TextFileInitializer()"), vocab_size)
        self.keys = _column(lines, key_index, self.key_dtype, delimiter, 0)
        self.values = _column(lines, value_index, self.value_dtype, delimiter, value_index_offset)


class _Table:
    """What all tables have in common."""

    def __init__(self, key_dtype: Any, value_dtype: Any, default_value: Any, name: Any) -> None:
        self.key_dtype, self.value_dtype, self.name = numpy_dtype(key_dtype), numpy_dtype(value_dtype), name
        self._default = _array(default_value, self.value_dtype)
        self._rows: dict[Any, Any] = {}

    @property
    def default_value(self) -> Any:
        """What a key has that is not in the table."""
        return _tensor(self._default)

    def size(self, name: Any = None) -> Any:
        """Count the keys."""
        return fresh(np.array(len(self._rows), np.int64))

    def lookup(self, keys: Any, name: Any = None) -> Any:
        """The values of keys, and the default for those that are not in the table."""
        array = self._keys(keys)
        found = np.empty((array.size, *self._default.shape), self.value_dtype)
        for index, key in enumerate(array.ravel().tolist()):
            found[index] = self._rows.get(key, self._default[()])
        return _tensor(found.reshape((*array.shape, *self._default.shape)))

    def export(self, name: Any = None) -> tuple[Any, Any]:
        """All keys and all values."""
        keys = _array(list(self._rows), self.key_dtype) if self._rows else np.empty(0, self.key_dtype)
        values = np.empty((len(keys), *self._default.shape), self.value_dtype)
        for index, value in enumerate(self._rows.values()):
            values[index] = value
        return _tensor(keys), _tensor(values)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _keys(self, keys: Any) -> Array:
        return self._checked(keys, self.key_dtype)

    def _checked(self, values: Any, dtype: Any) -> Array:
        """The array of keys or values, if it has the dtype of the table; Python's own are converted."""
        leave_draft_for_data()  # the table itself is no part of a program
        if isinstance(values, (str, bytes, int, float, list, tuple)):
            return _array(values, dtype)
        array = np.asarray(convert_to_tensor(values)) if dtype.kind != "O" else byte_strings(values, "A table")
        # JAX cuts integers to 32 bits, unless it is told otherwise.
        if array.dtype != dtype and not (is_jax(values) and array.dtype.kind == dtype.kind):
            raise TypeError(
                f"A table got a tensor of {dtype_name(array.dtype)}; expected {dtype_name(dtype)}. Convert it with tf.cast()."
            )
        return array.astype(dtype)


class StaticHashTable(_Table):
    """A table that is filled once.

    >>> import refdist as tf
    >>> table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), default_value=-1)
    >>> table.lookup(tf.constant(["b", "x"]))
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([ 2, -1], dtype=int32)>
    """

    def __init__(
        self, initializer: Any, default_value: Any, name: Any = None, experimental_is_anonymous: bool = False
    ) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype, default_value, name)
        if self._default.ndim:
            raise ValueError(
                f"A StaticHashTable got a default of shape {self._default.shape}; expected one value. Use "
                f"tf.lookup.experimental.MutableHashTable for rows."
            )
        self._rows = _filled(initializer)


class StaticVocabularyTable:
    """A table of numbers from 0 on, in which unknown keys share a few numbers after these."""

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: Any = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets < 1:
            raise ValueError(
                f"A StaticVocabularyTable got num_oov_buckets={num_oov_buckets}; expected at least 1. Use StaticHashTable for none."
            )
        if initializer is not None and initializer.value_dtype != np.int64:
            raise TypeError(
                f"A StaticVocabularyTable got values of {dtype_name(initializer.value_dtype)}; expected tf.int64. Make them with "
                f"tf.range(count, dtype=tf.int64)."
            )
        self._table = None if initializer is None else StaticHashTable(initializer, -1, name)
        self._buckets, self.name, self.value_dtype = num_oov_buckets, name, np.dtype("int64")
        own = np.dtype(object) if self._table is None else self._table.key_dtype
        self.key_dtype = own if lookup_key_dtype is None else numpy_dtype(lookup_key_dtype)

    def size(self, name: Any = None) -> Any:
        """Count the numbers: those of the keys, and those that the others share."""
        return fresh(np.array(self._known() + self._buckets, np.int64))

    def lookup(self, keys: Any, name: Any = None) -> Any:
        """The numbers of keys."""
        array = _array(keys, None) if isinstance(keys, (str, bytes, list, tuple)) else np.asarray(keys)
        found = np.full(array.shape, -1, np.int64) if self._table is None else np.asarray(self._table.lookup(keys))
        words = [key if isinstance(key, bytes) else str(key).encode() for key in array.ravel().tolist()]
        others = np.array([self._known() + fingerprint(word) % self._buckets for word in words], np.int64)
        return fresh(np.where(found < 0, others.reshape(array.shape), found).astype(np.int64))

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _known(self) -> int:
        return 0 if self._table is None else int(self._table.size())


class MutableHashTable(_Table):
    """A table whose rows come and go."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: Any = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name)

    def insert(self, keys: Any, values: Any, name: Any = None) -> None:
        """Set the values of keys."""
        keys, values = self._keys(keys), self._checked(values, self.value_dtype)
        if values.shape != (*keys.shape, *self._default.shape):
            raise InvalidArgumentError(
                f"A table got keys of shape {keys.shape} and values of shape {values.shape}; expected "
                f"{(*keys.shape, *self._default.shape)}. Pass one value for each key."
            )
        rows = values.reshape(-1, *self._default.shape)
        self._rows.update(zip(keys.ravel().tolist(), rows, strict=True))

    def remove(self, keys: Any, name: Any = None) -> None:
        """Take keys out; those that are not there are passed over."""
        for key in self._keys(keys).ravel().tolist():
            self._rows.pop(key, None)

    erase = remove


class DenseHashTable(MutableHashTable):
    """A table whose rows come and go, with two keys that it keeps to itself."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: Any = None,
        name: Any = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name)
        reserved = [("empty_key", empty_key), ("deleted_key", deleted_key)]
        self._reserved = {_array(key, self.key_dtype).item(): name for name, key in reserved}

    def _keys(self, keys: Any) -> Array:
        array = super()._keys(keys)
        used = [self._reserved[key] for key in array.ravel().tolist() if key in self._reserved]
        if used:
            raise InvalidArgumentError(
                f"A DenseHashTable got its {used[0]} as a key; expected any other. Choose {used[0]} among what is never a key."
            )
        return array


def _filled(initializer: Any) -> dict[Any, Any]:
    keys, values = initializer.keys, initializer.values
    if keys.shape != values.shape:
        raise InvalidArgumentError(
            f"A table got keys of shape {keys.shape} and values of shape {values.shape}; expected equal ones. Pass one value for "
            f"each key."
        )
    rows: dict[Any, Any] = {}
    for key, value in zip(keys.ravel().tolist(), values.ravel().tolist(), strict=True):
        if rows.setdefault(key, value) != value:
            raise FailedPreconditionError(
                f"A table got the key {key!r} with the values {rows[key]!r} and {value!r}; expected one. Remove one of them."
            )
    return rows


def _lines(name: str, vocab_size: int | None) -> list[bytes]:
    try:
        with open(name, "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError as error:
        raise NotFoundError(f"The file {name!r} does not exist; expected a file of keys. Correct its name.") from error
    lines = lines[:-1] if lines[-1] == b"" else lines
    if vocab_size is not None and vocab_size > len(lines):
        raise InvalidArgumentError(
            f"The file {name!r} has {len(lines)} lines; expected vocab_size={vocab_size}. Leave vocab_size out."
        )
    return lines[:vocab_size]


def _column(lines: Sequence[bytes], index: int, dtype: Any, delimiter: str, offset: int) -> Array:
    if index == TextFileIndex.LINE_NUMBER:
        return np.arange(len(lines), dtype=np.int64) + offset
    values = np.empty(len(lines), dtype)
    for number, line in enumerate(lines):
        fields = [line] if index == TextFileIndex.WHOLE_LINE else line.split(delimiter.encode())
        try:
            field = fields[max(index, 0)]
            values[number] = field if dtype.kind == "O" else dtype.type(field.decode())
        except (IndexError, ValueError) as error:
            raise InvalidArgumentError(
                f"Line {number} is {line!r}; expected a {dtype_name(dtype)} in column {max(index, 0)}, between delimiters "
                f"{delimiter!r}. Correct the file, or the delimiter."
            ) from error
    return values


def _array(value: Any, dtype: Any) -> Array:
    return to_array(np.asarray(value) if is_jax(value) else value, dtype)


def _tensor(array: Array) -> Any:
    return string_tensor(array) if array.dtype.kind == "O" else fresh(array)

"""ShardedVariable: a variable cut along its first axis, and the partitioners that say into how many pieces."""

import copy
import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from refdist._core.base.convert import to_array
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.indexed_slices import IndexedSlices, ShardSlices
from refdist._core.base.jax_facts import is_jax, is_tracer
from refdist._core.base.tensor_shape import StaticShape
from refdist._core.base.where import HERE, entered
from refdist._core.devices.device import Device
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues, Storage
from refdist._core.variables.scattering import Operation
from refdist._core.variables.tensors import current_value, require_single
from refdist._core.variables.variable import Variable

PartitionFunction = Callable[..., Sequence[int]]


class ShardedVariable(Variable):
    """Several variables that hold the rows of a larger one, in order, each on any device.

    It is read whole, written whole or by slices of rows, and saved as one variable; its checkpoints fit any number of shards.
    """

    def __init__(self, variables: Sequence[Variable], name: str = "ShardedVariable") -> None:
        if not isinstance(variables, (list, tuple)) or not all(isinstance(one, Variable) for one in variables):
            raise TypeError(f"ShardedVariable() got {variables!r}; expected a list of variables. Pass its shards.")
        kinds = {(one.shape[1:], one.dtype) for one in variables}
        if len(kinds) != 1 or not all(one.shape for one in variables):
            raise ValueError(
                f"ShardedVariable() got shards of {', '.join(f'{one.dtype}{one.shape}' for one in variables) or 'no kind'}; "
                f"expected one or more, of one dtype, that differ in their first axis only. Pass such variables."
            )
        first = variables[0]
        self._variables, self._name, self._container = tuple(variables), name, None
        self._strategy, self._backend, self._device = first.distribute_strategy, first.backend, Device(first.device)
        self._trainable, self._dtype = first.trainable, first.dtype
        self._synchronization, self._aggregation = first.synchronization, first.aggregation
        self._constraint = first.constraint
        ends = list(itertools.accumulate(one.shape[0] for one in variables))
        self._rows = [range(end - one.shape[0], end) for end, one in zip(ends, variables, strict=True)]
        self._shape = StaticShape((ends[-1], *first.shape[1:]))

    name = property(lambda self: self._name)

    shards = property(lambda self: self._variables)
    variables = property(lambda self: list(self._variables))

    @property
    def device(self) -> str:
        """Raise: each shard has a device of its own."""
        raise AttributeError(f"{self._name!r} has no device; expected that of a shard. Ask one of its variables.")

    @property
    def stored(self) -> Any:
        """All rows, on the current device, or else on that of the first shard."""
        to = HERE.get().device or self._device
        with entered(tapes=None):
            return self.backend.gather([one.read_value() for one in self._variables], 0, [to])[0]

    def read_value(self) -> Any:
        tapes = HERE.get().tapes
        if tapes is None:
            return self.stored
        read = [one.read_value() for one in self._variables]  # so that tapes know the shards, and what is made of them
        if not all(map(is_jax, read)):
            return self.stored  # no tape watches it
        joined = functools.partial(read[0].__array_namespace__().concatenate, axis=0)
        with entered(tapes=None):
            whole = joined(read)
        tapes.note(read, [whole], lambda *arrays: [joined(arrays)])
        tapes.has_read(self, whole)
        return whole

    def write(self, verb: str, operation: Operation, value: Any) -> Any:
        operand = self.operand(verb, value)

        def write() -> None:
            for one, rows in zip(self._variables, self._rows, strict=True):
                slices = isinstance(operand, IndexedSlices)
                one.write(verb, operation, _within(operand, rows) if slices else operand[rows.start : rows.stop])

        Storage.all_or_nothing([one.storage for one in self._variables], write)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "ShardedVariable":
        clone = memo[id(self)] = ShardedVariable(copy.deepcopy(self.variables, memo), self._name)
        return clone

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variables)

    def __repr__(self) -> str:
        parts = "\n".join(f"  {index}: {one!r}" for index, one in enumerate(self._variables))
        return f"ShardedVariable:{{\n{parts}\n}}"


def _within(slices: IndexedSlices, rows: range) -> IndexedSlices:
    """The slices that fall into a range of rows, numbered from the first of these."""
    own = slices.indices - rows.start
    inside = (own >= 0) & (own < len(rows))
    if is_tracer(own):
        # Which ones these are is known only when the program runs; JAX drops indices beyond the end.
        return ShardSlices(slices.values, own * inside + len(rows) * ~inside)
    return IndexedSlices(slices.values[inside], own[inside])


class Partitioner:
    """Says into how many pieces a variable is cut along each axis."""

    def __call__(self, shape: Sequence[int], dtype: Any, axis: int = 0) -> list[int]:
        """The number of pieces along each axis of a shape."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it cuts; define __call__ in it.")


class FixedShardsPartitioner(Partitioner):
    """Cuts into a given number of pieces.

    >>> FixedShardsPartitioner(num_shards=2)([10, 3], "float32")
    [2, 1]
    """

    def __init__(self, num_shards: int) -> None:
        self._count = _positive("num_shards", num_shards)

    def __call__(self, shape: Sequence[int], dtype: Any, axis: int = 0) -> list[int]:
        return _pieces(shape, axis, self._count)


class MinSizePartitioner(Partitioner):
    """Cuts into as many pieces as possible of at least a given number of bytes.

    >>> MinSizePartitioner(min_shard_bytes=4, max_shards=2)([6, 1], "float32")
    [2, 1]
    """

    def __init__(self, min_shard_bytes: int = 256 << 10, max_shards: int = 1, bytes_per_string: int = 16) -> None:
        self._bytes = _positive("min_shard_bytes", min_shard_bytes)
        self._most, self._text = _positive("max_shards", max_shards), _positive("bytes_per_string", bytes_per_string)

    def __call__(self, shape: Sequence[int], dtype: Any, axis: int = 0) -> list[int]:
        total = math.prod(shape) * _item_bytes(dtype, self._text)
        return _pieces(shape, axis, min(self._most, max(1, math.ceil(total / self._bytes))))


class MaxSizePartitioner(Partitioner):
    """Cuts into as few pieces as possible of at most a given number of bytes; larger ones if that would be too many pieces.

    >>> MaxSizePartitioner(max_shard_bytes=4)([6, 1], "float32")
    [6, 1]
    """

    def __init__(self, max_shard_bytes: int, max_shards: int | None = None, bytes_per_string: int = 16) -> None:
        self._bytes, self._text = _positive("max_shard_bytes", max_shard_bytes), bytes_per_string
        self._most = _positive("max_shards", max_shards) if max_shards else math.inf
        _positive("bytes_per_string", bytes_per_string)

    def __call__(self, shape: Sequence[int], dtype: Any, axis: int = 0) -> list[int]:
        row = math.prod(shape) // max(1, shape[axis]) * _item_bytes(dtype, self._text)
        rows = max(1, self._bytes // max(1, row))  # in one piece
        return _pieces(shape, axis, min(self._most, math.ceil(shape[axis] / rows)))


def create_sharded(partitioner: PartitionFunction, create: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """Make a variable in as many shards as a partitioner says: rows are split as evenly as possible, larger shards first.

    A variable that is not cut is an ordinary one. A function that makes the initial value is asked for one shard at a
    time if it takes partition_shape and partition_offset, and dtype and shape are given.
    """
    initial: Any = kwargs.get("initial_value")
    dtype, given = kwargs.get("dtype"), kwargs.get("shape")
    in_parts = given is not None and dtype is not None and _takes_parts(initial)
    if not in_parts:
        initial = kwargs["initial_value"] = _value(initial, dtype)
        require_single(initial, "Variable()")
    shape: tuple[int, ...] = tuple(np.shape(initial) if given is None else given)
    if not shape or (not in_parts and np.shape(initial) != shape):
        return create(**kwargs)  # which raises if something is wrong
    count = _count(partitioner, shape, numpy_dtype(initial.dtype if dtype is None else dtype))
    if count == 1:
        return create(**kwargs)
    base, extra = divmod(shape[0], count)
    starts = [index * base + min(index, extra) for index in range(count + 1)]
    shards: list[Variable] = []
    for index, (start, end) in enumerate(itertools.pairwise(starts)):
        own = {**kwargs, "shape": (end - start, *shape[1:])}
        if kwargs.get("name"):
            own["name"] = f"{kwargs['name']}/part_{index}"
        offset = (start, *[0] * (len(shape) - 1))
        value = initial(partition_shape=own["shape"], partition_offset=offset) if in_parts else initial[start:end]
        # A function that ignores these arguments returns all rows.
        own["initial_value"] = value[start:end] if np.shape(value) == shape else value
        shards.append(create(**own))
    return ShardedVariable(shards)


def _value(initial: Any, dtype: Any) -> Any:
    value = current_value(initial() if callable(initial) else initial)
    known = value is None or isinstance(value, (context.backend().tensor_type, DistributedValues))
    return value if known else to_array(value, dtype)


def _count(partitioner: PartitionFunction, shape: tuple[int, ...], dtype: Any) -> int:
    pieces = partitioner(shape=shape, dtype=dtype)
    ints = isinstance(pieces, (list, tuple)) and all(isinstance(one, (int, np.integer)) for one in pieces)
    if not ints or len(pieces) != len(shape) or pieces[0] < 1 or any(one != 1 for one in pieces[1:]):
        raise ValueError(
            f"variable_partitioner returned {pieces!r} for the shape {shape}; expected a list with a count of pieces of at least 1 "
            f"for the first axis, and 1 for each other. Cut along the first axis only."
        )
    return int(min(pieces[0], max(1, shape[0])))


def _takes_parts(initial: Any) -> bool:
    if not callable(initial):
        return False
    parameters = inspect.signature(initial).parameters
    every = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return every or {"partition_shape", "partition_offset"} <= parameters.keys()


def _pieces(shape: Sequence[int], axis: int, count: float) -> list[int]:
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"A shape {tuple(shape)} was to be cut along axis {axis}; expected one of its axes. Pass one.")
    pieces = [1] * len(shape)
    pieces[axis] = int(max(1, min(count, shape[axis])))
    return pieces


def _item_bytes(dtype: Any, text: int) -> int:
    kind = numpy_dtype(dtype)
    return text if kind.kind in "OSU" else kind.itemsize


def _positive(name: str, value: int) -> int:
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected an int of at least 1. Give a larger one.")
    return value

"""What kinds of arguments a call has, and the key by which its program is found again."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.dtypes import is_wide
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_tracer
from refdist._core.input.dataset import Dataset, DatasetIterator
from refdist._core.input.distributed_dataset import DistributedDataset, DistributedIterator
from refdist._core.input.input_iterator import InputIterator
from refdist._core.replicas.values import DistributedValues, PerReplica, of_parts
from refdist._core.staging.cache_keys import PLAIN, ByIdentity, argument_key, value_key
from refdist._core.variables.variable import Variable

# The types of tensors met so far, to recognise them quickly, and what tells the shape and dtype of one without a call of Python.
_TENSORS: dict[type, Callable[[Any], tuple[Any, Any]]] = {}
_SOURCES = (Dataset, DistributedDataset, InputIterator)
_ITERATORS = (DatasetIterator, DistributedIterator)


class ArgumentKinds:
    """Which arguments are tensors, per-replica values or Python values, and a key made from all of them."""

    __slots__ = ("has_tracers", "in_python", "key", "per_replica", "tensors", "text", "variables", "wide")

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.tensors: list[int] = []  # places of plain tensors
        self.per_replica: list[int] = []  # of values with a tensor for each replica
        self.variables: list[int] = []
        self.text: list[int] = []  # of text, which a program can only pass on
        self.in_python = False  # whether only Python can handle them
        self.wide = False  # whether there are 64-bit numbers
        self.has_tracers = False  # whether they belong to a program that is being written elsewhere
        self.key = tuple([self._key(place, leaf) for place, leaf in enumerate(leaves)])

    def without_shapes(self) -> tuple[Any, ...]:
        """The key without the shapes of tensors."""
        parts = list(self.key)
        for place in self.tensors:
            parts[place] = parts[place][1]
        for place in self.per_replica:
            _, count, (_, dtype) = parts[place]
            parts[place] = count, dtype
        return tuple(parts)

    def _key(self, place: int, leaf: Any) -> Any:
        if type(leaf) in _TENSORS:
            dtype = leaf.dtype
            self._add(place, dtype, self.tensors)
            return leaf.shape, dtype
        if isinstance(leaf, PLAIN) and not isinstance(leaf, np.generic):
            return value_key(leaf)
        if isinstance(leaf, Variable):
            self.variables.append(place)
            self.wide = self.wide or is_wide(leaf.dtype)
            return ByIdentity(leaf)
        if isinstance(leaf, DistributedValues):
            return self._distributed(place, leaf)
        if of_parts(leaf):
            self.in_python = (
                True  # the lengths of rows and the number of values are shapes, which programs have to know
            )
            return ByIdentity(leaf)
        dtype = getattr(leaf, "dtype", None)
        if dtype is None or not hasattr(leaf, "shape") or not hasattr(leaf, "__array__"):
            if isinstance(leaf, _ITERATORS):
                return self._iterator(leaf)
            self.in_python = self.in_python or isinstance(leaf, _SOURCES)
            return argument_key(leaf)
        if is_tracer(leaf):
            self.has_tracers = True
        else:
            _remember_type(leaf)
        self._add(place, dtype, self.tensors)
        return leaf.shape, dtype

    def _iterator(self, leaf: DatasetIterator | DistributedIterator) -> Any:
        """An iterator by the spec of its elements, which are inputs of the program."""
        if leaf.kind is None:
            return ByIdentity(leaf)
        self.wide = self.wide or any(map(is_wide, leaf.dtypes))
        return type(leaf), leaf.kind

    def _distributed(self, place: int, leaf: DistributedValues) -> Any:
        spec = leaf.spec
        if spec is not None:
            self._add(place, spec[1], self.per_replica)
            return "per replica", leaf.count, spec
        if any(hasattr(value, "shape") or isinstance(value, IndexedSlices) for value in leaf.values):
            # The replicas have slices, or tensors of different shapes, which no single program takes.
            self.in_python = True
            return None
        return type(leaf), tuple(map(value_key, leaf.values))

    def _add(self, place: int, dtype: Any, places: list[int]) -> None:
        if getattr(dtype, "kind", "V") in "OSU":  # JAX's random keys have no kind
            self.text.append(place)
            return
        places.append(place)
        self.wide = self.wide or is_wide(dtype)


def quick_key(args: Sequence[object]) -> tuple[Any, ...] | None:
    """A short key for the arguments of a call, if all of them are tensors of types met before; otherwise None."""
    parts: list[Any] = []
    for leaf in args:
        shape_and_dtype = _TENSORS.get(type(leaf))
        if shape_and_dtype is not None:
            parts.append(shape_and_dtype(leaf))
        elif type(leaf) is PerReplica:
            parts.append(leaf.known_kind or leaf.kind)
        else:
            return None
    return tuple(parts)


def _remember_type(tensor: object) -> None:
    inner = "aval." if hasattr(tensor, "aval") else ""  # where an array of JAX has them
    _TENSORS[type(tensor)] = operator.attrgetter(f"{inner}shape", f"{inner}dtype")

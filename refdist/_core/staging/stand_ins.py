"""What stands for the arguments of a call, and for the values of all replicas, while a program is written."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import dtype_name
from refdist._core.replicas.values import DistributedValues, Mirrored, PerReplica, select
from refdist._core.seam.compiler import Spec

if TYPE_CHECKING:
    from refdist._core.staging.replica_draft import ReplicaDraft


class SymbolicPerReplica(PerReplica):
    """One tensor that stands for every replica's own."""

    def __init__(self, draft: "ReplicaDraft", own: Any) -> None:
        self._draft, self.own = draft, own

    @property
    def values(self) -> tuple[Any, ...]:
        if HERE.get().draft is not self._draft:
            raise RuntimeError(
                "A per-replica value of a function was used after the function had been traced; expected it to be used inside. "
                "Return it from the function."
            )
        return tuple(of_local_replicas(self._draft, self.own))

    def component(self, index: int) -> Any:
        return self.own

    def beside(self, own: Any) -> "SymbolicPerReplica":
        """Another value of the same program that each replica has its own of."""
        return SymbolicPerReplica(self._draft, own)

    def __repr__(self) -> str:
        lines = ",\n".join(f"  {index}: {self.own!r}" for index in range(self.count))
        return f"{type(self).__name__.removeprefix('Symbolic')}:{{\n{lines}\n}}"

    __str__ = __repr__

    @property
    def count(self) -> int:
        return self._draft.compiler.local


class SymbolicMirrored(SymbolicPerReplica, Mirrored):
    """One tensor that stands for equal ones of every replica."""

    def nearest(self) -> Any:
        return self.own

    shape = property(lambda self: self.own.shape)
    dtype = property(lambda self: self.own.dtype)


class OpenSlices(NamedTuple):
    """Slices as a nest of their tensors: so they go through a program, which takes and makes tensors only."""

    values: Any
    indices: Any
    dense_shape: Any

    @classmethod
    def of(cls, leaf: Any, tensor: Callable[[Any], Any] = lambda part: part) -> Any:
        """Open slices, also those that stand for every replica's own; anything else stays itself."""
        if isinstance(leaf, IndexedSlices):
            slices = leaf.mapped(tensor)
            return cls(slices.values, slices.indices, slices.dense_shape)
        if isinstance(leaf, SymbolicPerReplica) and isinstance(leaf.own, IndexedSlices):
            return cls.of(leaf.own.mapped(leaf.beside))
        return leaf

    def closed(self) -> Any:
        """The slices; of parts with a component for each replica, a value with slices for each."""
        symbolic = next((part for part in self if isinstance(part, SymbolicPerReplica)), None)
        if symbolic is not None:
            return symbolic.beside(IndexedSlices(*(getattr(part, "own", part) for part in self)))
        several = next((part for part in self if isinstance(part, DistributedValues)), None)
        if several is None:
            return IndexedSlices(*self)
        return PerReplica([IndexedSlices(*select(tuple(self), index)) for index in range(several.count)])


def closed_slices(structure: Any) -> Any:
    """Close all slices in a nest."""

    def closed(leaf: Any) -> Any:
        return leaf.closed() if isinstance(leaf, OpenSlices) else leaf

    leaves, shape = nest.taken_apart(structure, _is_open)
    return nest.put_together(shape, list(map(closed, leaves)))


def has_slices(structure: Any) -> bool:
    """Say whether there are open slices in a nest."""
    return any(map(_is_open, nest.taken_apart(structure, _is_open)[0]))


def _is_open(node: Any) -> bool:
    return isinstance(node, OpenSlices)


def opened_slices(structure: Any) -> Any:
    """Open all slices in a nest."""
    return nest.map_structure(OpenSlices.of, structure)


def of_all_replicas(draft: "ReplicaDraft", own: Any) -> list[Any]:
    """What all replicas have, tensors or slices, of which this is the replica's own."""
    compiler = draft.compiler
    if not isinstance(own, IndexedSlices):
        return compiler.of_all_replicas(own)
    columns = [[None] * draft.count if part is None else compiler.of_all_replicas(part) for part in OpenSlices.of(own)]
    return [IndexedSlices(*row) for row in zip(*columns, strict=True)]


def of_local_replicas(draft: "ReplicaDraft", own: Any) -> list[Any]:
    """The same of the replicas in this process."""
    compiler = draft.compiler
    if compiler.local == compiler.count:
        return of_all_replicas(draft, own)
    if not isinstance(own, IndexedSlices):
        return compiler.of_local_replicas(own)
    columns = [[None] * compiler.local if p is None else compiler.of_local_replicas(p) for p in OpenSlices.of(own)]
    return [IndexedSlices(*row) for row in zip(*columns, strict=True)]


class PassedThrough:
    """An argument that the program cannot use, such as text: it can only be passed on."""

    def __init__(self, place: int, leaf: Any) -> None:
        self.place = place
        self.shape, self.dtype = spec_of(leaf)
        self.components = leaf.count if isinstance(leaf, DistributedValues) else None

    def given(self, value: Any) -> Any:
        """What is passed on, given the argument of a call."""
        return value


class PassedThroughValues(PassedThrough, PerReplica):
    """The same with a component for each replica of a strategy, which may not be known yet."""

    @property
    def spec(self) -> Any:
        return self.shape, self.dtype

    @property
    def values(self) -> tuple[Any, ...]:
        raise ValueError(
            f"The components of a per-replica value of {self.components} were asked for in a function; expected tensors, "
            f"one for each replica of the strategy that takes it. Make the value with the strategy that uses it."
        )

    def component(self, index: int) -> Any:
        return self

    @property
    def count(self) -> int:
        return self.components or 0

    def __repr__(self) -> str:
        tensor = f"Tensor(shape={tuple(self.shape)}, dtype={dtype_name(self.dtype)})"
        lines = ",\n".join(f"  {index}: {tensor}" for index in range(self.count))
        return f"PerReplica:{{\n{lines}\n}}"

    __str__ = __repr__

    def alone(self) -> "PassedThrough":
        """The one component, as the only replica has it."""
        return PassedThroughComponent(self.place, self)


class PassedThroughComponent(PassedThrough):
    """The one component of such an argument, for the only replica."""

    def given(self, value: Any) -> Any:
        return value.values[0]


def spec_of(leaf: Any) -> Spec:
    """The shape and dtype of a tensor, or of the components of a per-replica value, which share them."""
    if not isinstance(leaf, DistributedValues):
        return tuple(leaf.shape), leaf.dtype
    assert leaf.spec is not None
    return leaf.spec


def is_text(leaf: Any) -> bool:
    """Say whether a leaf is text that was made while the program is written: an array, because no program has tensors of it."""
    array: Any = leaf
    return isinstance(leaf, np.ndarray) and array.dtype.kind in "OSU"


def passed_through(place: int, leaf: Any) -> PassedThrough:
    """What stands for an argument that is not an input of the program."""
    return (PassedThroughValues if isinstance(leaf, DistributedValues) else PassedThrough)(place, leaf)

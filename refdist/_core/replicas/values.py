"""Values with one component per replica, and the copies of variables: kept apart, in compiled form, or both."""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from refdist._core.base import nest
from refdist._core.base.call_sites import call_site, where
from refdist._core.base.operators import add_operators
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import Tensor
from refdist._core.replicas.drift import SUSPECTS
from refdist._core.replicas.value_texts import block, long_text, short_text

if TYPE_CHECKING:
    from refdist._core.devices.device import Device
    from refdist._core.seam.compiler import Compiler

Result = TypeVar("Result")

WRITING = threading.RLock()  # held from reading a value to writing it, so that no other thread writes in between
_PLAIN_VALUES = frozenset({bool, int, float, complex, str, bytes, type(None)})
_TENSORS = {Tensor}


Held: TypeAlias = "tuple[Any, Compiler | None, Any]"
"""A value of several parts in one of three states; replaced as a whole, so that no Ctrl-C leaves a write half done.

The parts (None where there is only the compiled form), the compiler that has made the compiled form, and that form: all parts
as the programs of that compiler take them.
"""


def of_parts(value: Any) -> bool:
    """Say whether a value has a shape and a dtype and yet is no single tensor: a sparse or a ragged one."""
    return getattr(value, "of_parts", False)


def state_of(held: Held) -> str:
    """Name the state in which a value is held.

    >>> state_of(([1.0, 1.0], None, None))
    'apart'
    """
    parts, compiler, _ = held
    if compiler is None:
        return "apart"
    return "both" if parts is not None else "compiled"


class DistributedValues:
    """One value per replica, in the order of the replicas."""

    is_variable = False
    known_kind: "tuple[int, Any] | None" = None  # known once somebody has asked

    def __init__(self, values: Sequence[Any]) -> None:
        assert len(values) > 0
        # Values that workers have in common stay that one object.
        self.held: Held = (values if isinstance(values, tuple) else tuple(values), None, None)

    @classmethod
    def of_compiled(cls, compiler: "Compiler", compiled: Any, spec: Any) -> "DistributedValues":
        """Wrap what a compiled program has made for all replicas; it is taken apart only when needed."""
        made = cls.__new__(cls)
        made.held, made.known_kind = (None, compiler, compiled), (compiler.count, spec)
        return made

    @property
    def values(self) -> tuple[Any, ...]:
        """The components; documented code takes them from `experimental_local_results`."""
        parts, compiler, compiled = self.held
        if parts is None:
            assert compiler is not None
            parts = tuple(compiler.lower_each(compiled, self.kind[1]))
            self.held = (parts, compiler, compiled)
        return parts

    # What programs reach for in TensorFlow, where the documented way is experimental_local_results().
    _values = property(lambda self: self.values)

    @property
    def parts(self) -> Sequence[Any]:
        """The components that exist already; what a program has made is not taken apart."""
        return self.held[0] or ()

    def component(self, index: int) -> Any:
        """What one replica gets when this value is an argument of its function."""
        return self.values[index]

    @property
    def count(self) -> int:
        """How many components there are."""
        parts, compiler, _ = self.held
        if parts is not None:
            return len(parts)
        assert compiler is not None
        return compiler.local

    @property
    def spec(self) -> tuple[tuple[int, ...], Any] | None:
        """The shape and dtype of the components, where they are tensors that share both."""
        return self.kind[1]

    @property
    def kind(self) -> tuple[int, Any]:
        """How many components there are, and their shape and dtype: what tells the programs apart that take them."""
        if self.known_kind is None:
            specs = {
                (tuple(v.shape), v.dtype) if hasattr(v, "dtype") and not of_parts(v) else None for v in self.values
            }
            self.known_kind = self.count, specs.pop() if len(specs) == 1 else None
        return self.known_kind

    def compiled_for(self, compiler: "Compiler") -> Any:
        """The components in the form that the programs of a compiler take."""
        _, known, compiled = self.held
        if known is not compiler:
            compiled = compiler.lift_each(self.values)
            self.held = (self.values, compiler, compiled)
        return compiled

    def _repr_html_(self) -> str:
        from refdist._core.replicas.value_tables import value_table  # for notebooks only

        return value_table(f"{type(self).__name__} of {self.count:,} components", "replica", self.values)

    def __repr__(self) -> str:
        return block(type(self).__name__, [long_text(value) for value in self.values])

    def __str__(self) -> str:
        return block(type(self).__name__, [short_text(value) for value in self.values])


class PerReplica(DistributedValues):
    """Components that may differ from replica to replica; it is not one value, and is told where it is used as one."""

    @property
    def __array_interface__(self) -> Any:
        # numpy asks for this; with a method __array__ it would count as an array everywhere else, too.
        return _one_value(self)

    def __bool__(self) -> bool:
        return _one_value(self)

    def __iter__(self) -> Any:
        return _one_value(self)

    def __format__(self, spec: str) -> str:
        return _one_value(self) if spec else str(self)


def _one_value(value: Any) -> Any:
    """Raise for a value that is several, where one is needed."""
    if not isinstance(value, PerReplica) or isinstance(value, Mirrored):
        return value.nearest() if isinstance(value, Mirrored) else value
    frame = HERE.get().frame
    inside = frame is not None and frame.replica is not None
    remedy = "Pass it to run() as an argument" if inside else "Combine its components with strategy.reduce()"
    raise TypeError(
        f"A per-replica value, with {value.count} components, was used as one value at {where(call_site()[:1])}; expected a single "
        f"one, because each replica has its own. {remedy}, or take them apart with experimental_local_results()."
    )


add_operators(PerReplica, _one_value, truth=False)


class Mirrored(DistributedValues):
    """Components that are equal, one on each device; where one tensor is needed, it is the nearest of them."""

    def nearest(self) -> Any:
        """The component on the device of the replica, or of the scope, that the code is in; elsewhere the first."""
        from refdist._core.replicas import context  # which knows the values of this file

        here, backend = HERE.get().device, context.backend()
        tensors = [value for value in self.values if here is not None and isinstance(value, backend.tensor_type)]
        return next((tensor for tensor in tensors if backend.device_of(tensor) == here), self.values[0])

    shape = property(lambda self: self.values[0].shape)
    dtype = property(lambda self: self.values[0].dtype)

    def numpy(self) -> Any:
        """The value as a numpy array or scalar."""
        return np.array(self.nearest())[()]


add_operators(Mirrored, lambda value: value.nearest() if isinstance(value, Mirrored) else value, truth=False)


class Adopted:
    """What a program has written to all of its variables, until one of these gets another value or is taken apart.

    The next run of the program then finds the values of all of them here, and replaces them by one assignment.
    """

    __slots__ = ("__weakref__", "arrays", "compiler", "whole")

    def __init__(self, compiler: "Compiler", arrays: list[Any]) -> None:
        self.compiler, self.arrays = compiler, arrays  # None for a variable that has left
        self.whole = False  # whether each of the variables holds its share


class Share(NamedTuple):
    """The state of a variable that holds what a program has written to it and to others."""

    adopted: Adopted
    place: int  # among its arrays


class Storage:
    """Where a variable keeps the value of each of its copies; nothing else writes it."""

    __slots__ = ("homes", "kept", "own_copies", "shape")
    kept: "Held | Share"

    def __init__(self, copies: Sequence[Any], homes: "Sequence[Device]", *, own_copies: bool = False) -> None:
        assert len(copies) == len(homes)
        self.homes = tuple(homes)
        self.own_copies = own_copies  # whether each replica has a value of its own
        self.shape: tuple[int, ...] = tuple(copies[0].shape)
        self.kept = (list(copies), None, None)

    @property
    def held(self) -> Held:
        """The value as it is currently kept."""
        while isinstance(kept := self.kept, Share):
            adopted, place = kept
            if (array := adopted.arrays[place]) is not None:  # else another thread has just written the variable
                return None, adopted.compiler, array
        return kept

    @held.setter
    def held(self, held: Held) -> None:
        self.take(held)

    def take(self, new: "Held | Share") -> None:
        """Replace what is kept, and leave what a program has written, where this was a share of it."""
        kept = self.kept
        if not isinstance(kept, Share):
            self.kept = new
            return
        # In this order, so that no Ctrl-C lets a program find an old value in its last results.
        kept.adopted.whole = False
        self.kept = new
        kept.adopted.arrays[kept.place] = None

    def copies(self) -> Sequence[Any]:
        """The value of each copy; what a compiled program has made is taken apart only when needed."""
        parts = self.held[0]
        if parts is not None:
            return parts
        with WRITING:
            parts, compiler, compiled = self.held
            if parts is None:
                assert compiler is not None
                parts = list(compiler.parts(compiled, self))
                self.held = (parts, compiler, compiled)
        return parts

    def compiled_for(self, compiler: "Compiler") -> Any:
        """The value in the form that the programs of a compiler take."""
        with WRITING:
            _, known, compiled = self.held
            if known is not compiler:
                if id(self) in SUSPECTS:
                    SUSPECTS[id(self)].require_no_drift()
                copies = self.copies()
                compiled = compiler.whole(copies, self)
                self.held = (copies, compiler, compiled)
        return compiled

    def replace(self, place: int, value: Any) -> None:
        """Take a new value for one copy; the others keep what they have."""
        with WRITING:
            parts, compiler, _ = self.held
            if compiler is None:
                parts[place] = value  # in place: there may be thousands of copies, each written by its replica
                return
            copies = [*self.copies()]
            copies[place] = value
            self.held = (copies, None, None)

    def replace_all(self, values: Sequence[Any]) -> None:
        """Take a new value for each copy: for all of them, or for none."""
        self.held = (values, None, None)

    @staticmethod
    def adopt(compiler: "Compiler", storages: "Sequence[Storage]", written: Sequence[Any]) -> Adopted:
        """Take what a program has written to several variables: for all of them, or for none."""
        assert len(storages) == len(written)
        adopted, before = Adopted(compiler, list(written)), list[Held]()
        try:
            for place, storage in enumerate(storages):
                before.append(storage.held)
                storage.take(Share(adopted, place))
        except BaseException:  # a Ctrl-C
            for storage, held in zip(storages, before, strict=False):
                storage.held = held
            raise
        adopted.whole = True
        return adopted

    @staticmethod
    def all_or_nothing(storages: "Sequence[Storage]", write: Callable[[], Result]) -> Result:
        """Write several variables; if that fails or is interrupted, all of them keep their old values."""
        with WRITING:
            back: list[Callable[[], None]] = []
            try:
                back += [storage.put_aside() for storage in storages]
                return write()
            except BaseException:
                for put_back in back:
                    put_back()
                raise

    def put_aside(self) -> Callable[[], None]:
        """Keep the value that there is now: what is returned puts it back, whatever has been written since."""
        copies, compiler, compiled = before = self.held
        self.held = (None if copies is None else [*copies], compiler, compiled)  # written in place

        def put_back() -> None:
            self.held = before

        return put_back


def select(value: Any, index: int) -> Any:
    """Take the component of one replica out of every distributed leaf of a nest."""
    if isinstance(value, DistributedValues):
        return value.component(index)
    if not nest.is_container(value):
        return value
    return nest.map_structure(
        lambda leaf: leaf.component(index) if isinstance(leaf, DistributedValues) else leaf, value
    )


def regroup(values: Sequence[Any], kind: type[DistributedValues] = PerReplica) -> Any:
    """Merge one nest per replica into one nest of distributed values.

    A leaf stays plain if all replicas have the same object or equal Python values; tensors that are merely equal are grouped.

    >>> regroup([("a", 1), ("a", 2)])
    ('a', PerReplica:{
      0: 1,
      1: 2
    })
    """
    first = values[0]
    if len(values) == 1:
        return first
    kinds = set(map(type, values))  # types instead of values: there may be thousands of values, but only a few types
    if kinds == _TENSORS or (len(kinds) == 1 and not nest.is_container(first)):
        # The common case: one tensor from each replica. Tensors that merely look the same are not the same object.
        alike = values[1] is first or type(first) in _PLAIN_VALUES
        return first if alike and _same(list(values)) else kind(values)

    def merged(leaves: list[Any]) -> Any:
        return leaves[0] if _same(leaves) else kind(leaves)

    return nest.transpose(list(values), merged, lambda: shapes_differ(values))


def shapes_differ(values: Sequence[Any]) -> Exception:
    """The error to raise when replicas return nests that do not fit together."""
    return ValueError(
        f"The replicas returned nests of different shape: {_outlines(values)}; expected the same "
        f"containers, lengths and keys on all. Return one structure from every replica."
    )


def _same(leaves: list[Any]) -> bool:
    first = leaves[0]
    if all(leaf is first for leaf in leaves):
        return True
    if type(first) not in _PLAIN_VALUES:
        return False
    return all(type(leaf) is type(first) and leaf == first for leaf in leaves)


def _outlines(values: Sequence[Any]) -> str:
    seen: dict[str, int] = {}
    for index, value in enumerate(values):
        outline = nest.outline(nest.shape_of(value))
        seen.setdefault("a single value" if outline == "None" else outline, index)
    return "; ".join(f"replica {index} has {outline}" for outline, index in seen.items())

"""Values that have one component per replica, taken apart and put together."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from refdist._core.base import nest
from refdist._core.base.jax_facts import is_concrete
from refdist._core.devices.tensor import dtype_name, numpy_text

_PLAIN_VALUES = frozenset({bool, int, float, complex, str, bytes, type(None)})


class CompiledForm(NamedTuple):
    """The components of a value, or the copies of a variable, in the form in which compiled programs take them."""

    owner: Any  # what can take it apart
    array: Any
    spec: Any = None  # shape and dtype of one component


class DistributedValues:
    """One value per replica, in the order of the replicas."""

    _whole: "CompiledForm | None" = None
    _spec: Any = None

    def __init__(self, values: Sequence[Any]) -> None:
        assert len(values) > 0
        self._values: tuple[Any, ...] | None = tuple(values)

    @classmethod
    def of_compiled(cls, whole: "CompiledForm") -> "DistributedValues":
        """What a compiled program has made for all replicas; it is taken apart when somebody asks."""
        made = cls.__new__(cls)
        made._values, made._whole = None, whole
        return made

    @property
    def values(self) -> tuple[Any, ...]:
        """The components; documented code takes them from `experimental_local_results`."""
        if self._values is None:
            assert self._whole is not None
            self._values = tuple(self._whole.owner.lower_each(self._whole.array, self._whole.spec))
        return self._values

    @property
    def parts(self) -> tuple[Any, ...]:
        """The components that are there, without taking apart what a program has made."""
        return self._values or ()

    def component(self, index: int) -> Any:
        """What one replica gets when this value is an argument of its function."""
        return self.values[index]

    @property
    def count(self) -> int:
        """How many components there are."""
        return self._whole.owner.count if self._values is None and self._whole is not None else len(self.values)

    @property
    def spec(self) -> tuple[tuple[int, ...], Any] | None:
        """The shape and dtype of the components, where they are tensors that have one in common."""
        if self._whole is not None:
            return self._whole.spec
        if self._spec is None:
            specs = {(tuple(v.shape), v.dtype) if hasattr(v, "dtype") else None for v in self.values}
            self._spec = (specs.pop() if len(specs) == 1 else None,)
        return self._spec[0]

    def whole(self, owner: Any) -> Any:
        """The components in the form in which the programs of an owner take them."""
        if self._whole is None or self._whole.owner is not owner:
            self._whole = CompiledForm(owner, owner.lift_each(self.values), self.spec)
        return self._whole.array

    def __repr__(self) -> str:
        return _block(type(self).__name__, [_long_text(value) for value in self.values])

    def __str__(self) -> str:
        return _block(type(self).__name__, [_short_text(value) for value in self.values])


class PerReplica(DistributedValues):
    """Components that may differ from replica to replica."""


class Mirrored(DistributedValues):
    """Components that are equal, one on each device."""


def select(value: Any, index: int) -> Any:
    """Take the component of one replica out of every distributed leaf of a nest."""
    if isinstance(value, DistributedValues):
        return value.component(index)
    if not isinstance(value, nest.CONTAINERS):
        return value
    return nest.map_structure(
        lambda leaf: leaf.component(index) if isinstance(leaf, DistributedValues) else leaf, value
    )


def regroup(values: Sequence[Any], kind: type[DistributedValues] = PerReplica) -> Any:
    """Merge one nest per replica into one nest of distributed values.

    What is the same object, or an equal Python value, on all replicas stays bare; equal tensors do not.

    >>> regroup([("a", 1), ("a", 2)])
    ('a', PerReplica:{
      0: 1,
      1: 2
    })
    """
    if len(values) == 1:
        return values[0]

    def merged(leaves: list[Any]) -> Any:
        return leaves[0] if _same(leaves) else kind(leaves)

    return nest.transpose(list(values), merged, lambda: shapes_differ(values))


def shapes_differ(values: Sequence[Any]) -> Exception:
    """What to raise where replicas return nests that do not fit together."""
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
        outline = str(nest.shape_of(value)).removeprefix("PyTreeSpec(").split(", NoneIsLeaf")[0]
        seen.setdefault("a single value" if outline == "None" else outline, index)
    return "; ".join(f"replica {index} has {outline}" for outline, index in seen.items())


def _block(title: str, lines: list[str]) -> str:
    numbered = ",\n".join(f"  {index}: {line}" for index, line in enumerate(lines))
    return f"{title}:{{\n{numbered}\n}}"


def _long_text(value: Any) -> str:
    return describe(value) if is_concrete(value) else repr(value)


def _short_text(value: Any) -> str:
    if is_concrete(value):  # an array of JAX, which prints in a form of its own
        return f"tf.Tensor({value}, shape={tuple(value.shape)}, dtype={dtype_name(value.dtype)})"
    return str(value)


def describe(tensor: Any) -> str:
    """Print a tensor of any backend in the documented form."""
    return f"<tf.Tensor: shape={tuple(tensor.shape)}, dtype={dtype_name(tensor.dtype)}, numpy={numpy_text(tensor)}>"

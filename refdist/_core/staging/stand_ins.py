"""What stands for the arguments of a call, and for the values of all replicas, while a program is written."""

from typing import TYPE_CHECKING, Any

from refdist._core.base.where import HERE
from refdist._core.replicas.values import DistributedValues, Mirrored, PerReplica
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
        return tuple(self._draft.compiler.of_all_replicas(self.own))

    def component(self, index: int) -> Any:
        return self.own

    def __repr__(self) -> str:
        lines = ",\n".join(f"  {index}: {self.own!r}" for index in range(self._draft.count))
        return f"{type(self).__name__.removeprefix('Symbolic')}:{{\n{lines}\n}}"

    __str__ = __repr__

    @property
    def count(self) -> int:
        return self._draft.count


class SymbolicMirrored(SymbolicPerReplica, Mirrored):
    """One tensor that stands for equal ones of every replica."""

    def nearest(self) -> Any:
        return self.own

    shape = property(lambda self: self.own.shape)
    dtype = property(lambda self: self.own.dtype)


class PassedThrough:
    """An argument that the program has no use for, such as text: it can only be handed on."""

    def __init__(self, place: int, leaf: Any) -> None:
        self.place = place
        self.shape, self.dtype = spec_of(leaf)
        self.components = leaf.count if isinstance(leaf, DistributedValues) else None

    def given(self, value: Any) -> Any:
        """What is handed on, of the argument of a call."""
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

    def alone(self) -> "PassedThrough":
        """The one component, as the only replica has it."""
        return PassedThroughComponent(self.place, self)


class PassedThroughComponent(PassedThrough):
    """The one component of such an argument, for the only replica that there is."""

    def given(self, value: Any) -> Any:
        return value.values[0]


def spec_of(leaf: Any) -> Spec:
    """The shape and dtype of a tensor, or of the components of a per-replica value, which have them in common."""
    if not isinstance(leaf, DistributedValues):
        return tuple(leaf.shape), leaf.dtype
    assert leaf.spec is not None
    return leaf.spec


def passed_through(place: int, leaf: Any) -> PassedThrough:
    """What stands for an argument that is not an input of the program."""
    return (PassedThroughValues if isinstance(leaf, DistributedValues) else PassedThrough)(place, leaf)

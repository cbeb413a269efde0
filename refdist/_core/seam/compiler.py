"""What writes and runs programs over all replicas of a strategy, as a protocol."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from refdist._core.base.enums import ReduceOp
from refdist._core.devices.device import Device
from refdist._core.seam.backend import Backend, Tensor

if TYPE_CHECKING:
    from refdist._core.replicas.values import Storage

Array: TypeAlias = Any
"""A value in the form that programs take and return: for all replicas at once."""

Spec: TypeAlias = tuple[tuple[int, ...], Any]
"""The shape and the dtype of a tensor, as one replica sees it."""

ReplicaPart: TypeAlias = Any
"""What one replica has written: a program without arguments, which reads what is around it."""

Body: TypeAlias = Callable[..., tuple[Sequence[Tensor], Sequence[bool]]]
"""Writes a program when it is called. It returns the outputs, and flags for the first of them that say whether each replica
has its own; the program does not return the outputs without a flag, but only compares them between replicas."""

Compiled: TypeAlias = Callable[..., Sequence[Array]]

Keep: TypeAlias = Callable[[Array, int, Sequence[Device]], None]
"""Notes how many bytes of an array stay on each of some devices."""

Charge: TypeAlias = Callable[[Callable[[], Iterator[Tensor]]], AbstractContextManager[Keep]]
"""Surrounds one run of a program; it gets a function that lists the tensors brought to the program."""


@dataclasses.dataclass(frozen=True)
class WrittenProgram:
    """A program from the point of view of one replica, not compiled yet."""

    jaxpr: Any
    own_inputs: tuple[bool, ...]  # for each input, whether each replica has its own
    own_outputs: tuple[bool, ...]  # the same for each output that it returns; any further outputs are only compared
    used: tuple[int, ...]  # the inputs that matter
    compared: tuple[int, ...]  # outputs that should be equal on all replicas, but need not be
    needless_sums: frozenset[int]  # steps that add up what is equal on all replicas
    steps_differ: bool  # whether replicas take different steps
    further: tuple[int, ...] = ()  # the numbers of the first inputs, which the body has asked for on its way
    results: int = 0  # how many of the first outputs are what the function returns, of which each process has its own
    common: frozenset[int] = frozenset()  # outputs that have to be the same in all processes
    by_digest: frozenset[int] = frozenset()  # those of them that are compared, but can differ between processes only


class Compiler(Protocol):
    """Writes programs for the replicas of one strategy, and converts values to the form that these take."""

    real: Backend  # the one of the strategy
    devices: tuple[Device, ...]  # one for each replica
    count: int  # of the replicas, in all processes
    local: int  # of those in this process, for which it has values
    waits: bool  # whether a program must not start before the outputs of the previous one are ready
    exact: bool  # whether 64-bit numbers must stay 64-bit, however JAX is configured
    draft_backend: Backend  # the one that code uses while a program is written
    tracer_type: type  # of what stands for an array inside a transformation of JAX

    # What a replica can say about itself and the others while a program is written.

    def made_from(self, tensor: Any, origin: Any) -> bool:
        """Say whether one tensor of the program that is being written is made from another one."""
        ...

    def replica_number(self) -> Tensor:
        """The number of the replica, as a tensor."""
        ...

    def combine(self, op: ReduceOp, tensor: Tensor) -> Tensor:
        """Combine the tensors of all replicas."""
        ...

    def permute(self, tensor: Tensor, sources: Sequence[int]) -> Tensor:
        """The tensor of another replica: `sources` says which one's, for each."""
        ...

    def join(self, tensor: Tensor, axis: int) -> Tensor:
        """Join the tensors of all replicas along an axis."""
        ...

    def of_all_replicas(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all replicas, given the replica's own."""
        ...

    def of_local_replicas(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of the replicas in the same process."""
        ...

    def own_of(self, tensors: Sequence[Tensor]) -> Tensor:
        """The replica's own tensor, given one for each replica."""
        ...

    def on_replica(self, number: int, value: Tensor, elsewhere: Tensor) -> Tensor:
        """One value on the replica with this number, and another one elsewhere."""
        ...

    # Writing.

    def write(self, body: Body, specs: Sequence[Spec], own_inputs: Sequence[bool]) -> WrittenProgram:
        """Call a body to write a whole program from the point of view of one replica.

        Inputs that the body asks for on its way come before all others.

        Args:
            body: takes a tensor for each input.
            specs: shape and dtype of each input.
            own_inputs: whether each replica has its own.
        """
        ...

    def compared_between_processes(
        self, program: WrittenProgram, common_inputs: Sequence[bool], common_outputs: Collection[int]
    ) -> WrittenProgram:
        """Compare outputs that must be the same in all processes, too, where inputs that are not would make them differ."""
        ...

    def further_input(self, spec: Spec, number: int, *, own: bool) -> Tensor:
        """One more input of the program that is being written, asked for in the middle of it, and known by a number."""
        ...

    def open_size(self, name: str) -> Any:
        """What stands for a size that is not known while a program is written."""
        ...

    def sized(self, program: WrittenProgram, sizes: Mapping[str, int]) -> WrittenProgram:
        """A program for certain sizes, made from one that was written without knowing them."""
        ...

    def sized_shape(self, shape: tuple[Any, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The same for the shape of a tensor in such a program."""
        ...

    def write_replica(self, body: Callable[[], Sequence[Tensor]]) -> ReplicaPart:
        """Call a body to write the part of one replica, in the middle of a program."""
        ...

    def merge(self, parts: Sequence[ReplicaPart], columns: Sequence[Sequence[Any]]) -> list[Tensor]:
        """Merge the parts of all replicas into the next steps of the program, and return some of their results.

        Args:
            columns: for each wanted result, where each replica has it: an index into its outputs, or the value itself.
        """
        ...

    def widened(self, wide: bool) -> AbstractContextManager[Any]:
        """Keep 64-bit numbers as they are, if asked to."""
        ...

    def at_once(self) -> AbstractContextManager[Any]:
        """Compute immediately, in the middle of writing a program."""
        ...

    def unseen_trace(self) -> AbstractContextManager[Any]:
        """Enter a trace that no cache of JAX has seen."""
        ...

    def open_traces(self) -> object:
        """A token for the open traces of JAX; it compares equal while the same ones are open."""
        ...

    def may_repeat(self) -> bool:
        """Say whether the code becomes part of an inner program that may run several times, such as the body of a scan."""
        ...

    # Running.

    def for_one_replica(self, program: WrittenProgram) -> Callable[..., list[Array]]:
        """A program as a function that each replica runs."""
        ...

    def compile(self, program: WrittenProgram) -> Compiled:
        """Turn a program into a function of the inputs that matter.

        It returns the outputs and, if some are compared, one more: for each of these the first replica that differs from
        replica 0, or 0 if none does.
        """
        ...

    def charge(self, program: WrittenProgram) -> Charge | None:
        """What surrounds each run of a program; None where the backend keeps no time."""
        ...

    def wait(self, outputs: Sequence[Array]) -> None:
        """Wait for what a program makes."""
        ...

    def text(self, compiled: Any, values: Sequence[Array], *, optimised: bool) -> str:
        """A program as the compiler has it."""
        ...

    # Converting values to the form that programs take, and back.

    def lift(self, tensor: Tensor) -> Array:
        """A plain value in the form that programs take."""
        ...

    def lift_each(self, tensors: Sequence[Tensor]) -> Array:
        """One value for each replica, in the form that programs take."""
        ...

    def lower(self, array: Array) -> Tensor:
        """What a program returned, as a tensor for the user."""
        ...

    def lower_each(self, array: Array, spec: Spec) -> Sequence[Tensor]:
        """What a program returned for each replica, as tensors for the user."""
        ...

    def whole(self, copies: Sequence[Tensor], storage: "Storage") -> Array:
        """The copies of a variable in the form that programs take."""
        ...

    def parts(self, array: Array, storage: "Storage") -> Sequence[Tensor]:
        """The copies of a variable, taken from what a program has made."""
        ...

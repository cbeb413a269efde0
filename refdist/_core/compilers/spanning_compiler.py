"""Programs over the devices of several processes, each of which has the parts of its own replicas."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
from jax.sharding import NamedSharding, SingleDeviceSharding

from refdist._core.base.where import HERE
from refdist._core.compilers.between_processes import with_constants_as_inputs, with_numbers_as_constants
from refdist._core.compilers.jaxpr_steps import meets
from refdist._core.compilers.mesh_arrays import Assembly, parts_of
from refdist._core.compilers.mesh_compiler import MeshCompiler, put
from refdist._core.compilers.spanning import SpanningProgram, Spread
from refdist._core.seam.compiler import Compiled, Spec, WrittenProgram

if TYPE_CHECKING:
    from refdist._core.backends.jax_backend import JaxBackend
    from refdist._core.strategies.plan import Plan


class SpanningCompiler(MeshCompiler):
    """Makes one program for the devices of all processes; what a process brings and gets lies on its own.

    A process usually has one device, and what a step brings lies there already: for these, as little as possible is asked.
    """

    def __init__(self, plan: "Plan", backend: "JaxBackend") -> None:
        super().__init__(plan, backend)
        self._waits_in_runs, self.waits = self.waits, False  # inside, where somebody watches
        self._here = {self._places[0]} if self.local == 1 else set[Any]()
        assert isinstance(self._same, NamedSharding)
        self._repeated = Assembly(self._same, 1)

    def _cores(self, plan: "Plan") -> Sequence[Any]:
        """The devices of all processes: of each the same ones, counted there, as of this process."""
        by_process: dict[int, list[Any]] = {}
        for device in jax.devices(self._places[0].platform):
            by_process.setdefault(device.process_index, []).append(device)
        own = by_process[self._places[0].process_index]
        numbers = [own.index(place) for place in self._places]
        return [devices[number] for _, devices in sorted(by_process.items()) for number in numbers]

    def compile(self, program: WrittenProgram) -> Compiled:
        # Without a meeting, each process can run its part whenever it likes.
        together = bool(program.compared) or any(map(meets, program.jaxpr.jaxpr.eqns))
        peers = self.peers if together else None
        spread = self._spread_out(program)
        return SpanningProgram(spread, lambda: self._loosened(program), peers, waits=self._waits_in_runs)

    def _spread_out(self, program: WrittenProgram) -> Spread:
        program, constants = with_constants_as_inputs(program)
        return super().compile(program), [self._on_all(constant) for constant in constants]

    def _loosened(self, program: WrittenProgram) -> Spread | None:
        loosened = with_numbers_as_constants(program)
        return None if loosened is None else self._spread_out(loosened)

    def _lies_here(self, tensor: Any) -> bool:
        sharding = getattr(tensor, "sharding", None)
        return isinstance(sharding, SingleDeviceSharding) and sharding.device_set == self._here

    def lift(self, tensor: Any) -> Any:
        return self._repeated([tensor]) if self._lies_here(tensor) else super().lift(tensor)

    def _on_all(self, tensor: Any) -> jax.Array:
        return self._repeated([put(tensor, place) for place in self._places])  # JAX would ask the other processes

    def lift_each(self, tensors: Sequence[Any]) -> Any:
        here = self._lies_here(tensors[0]) and tensors[0].ndim
        return self._spread([tensors[0]]) if here else super().lift_each(tensors)

    def lower(self, array: Any) -> Any:
        part, here = parts_of(array, 1)[0] if self._here else array.addressable_data(0), HERE.get().device
        return part if here is None else self._backend.copy(part, here)

    def lower_each(self, array: Any, spec: Spec) -> Sequence[Any]:
        usual = self._here and spec[0] and 0 not in spec[0]
        return parts_of(array, 1) if usual else super().lower_each(array, spec)

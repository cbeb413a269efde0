"""The seam of refdist on the devices of a cluster, which have links, memory and time."""

import functools
import importlib
import math
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from itertools import product
from typing import Any, Self

import numpy as np

from refdist._core.backends.host_backend import mean
from refdist._core.base.call_sites import call_site, line_text
from refdist._core.base.common_values import once
from refdist._core.base.enums import ReduceOp
from refdist._core.base.jax_facts import loaded
from refdist._core.base.where import HERE
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor, labelled
from refdist._core.devices.tpu_topology import mesh_shape
from refdist._core.seam.backend import NOWHERE, Tensors
from simulator.algorithms.collective_values import value_on
from simulator.algorithms.schedules import Schedule, all_gather, broadcast, point_to_point
from simulator.devices.charged_program import ChargedProgram
from simulator.devices.clock import Clock
from simulator.devices.collective_choice import CollectiveChoice
from simulator.devices.memory import Memory
from simulator.devices.simulator_backend import SimulatorBackend
from simulator.devices.timed import TimedTensor, ready_of
from simulator.devices.unison import UNISON, Unison, entered_unison
from simulator.devices.worker_shares import SharedExchanges, WorkerShare
from simulator.libraries.library import Launch, Library
from simulator.machines.topology import Cluster

_POINT_TO_POINT = point_to_point()


class ClusterBackend(SimulatorBackend):
    """The devices of a cluster: what they compute, copy and exchange takes virtual time, and room in their memory.

    A place is the number of a device in the cluster. The host's CPU has none: what happens there takes no time.
    """

    def __init__(
        self,
        cluster: Cluster,
        algorithm: str | None = None,
        accumulate: Any = None,
        library: Library | None = None,
        launch: Launch | None = None,
    ) -> None:
        kind = "tpus" if cluster.kind.name.lower().startswith("tpu") else "gpus"
        super().__init__(**{kind: cluster.device_count})
        virtual = [device for device in self._devices if device.kind != "CPU"]
        names = _names(virtual)
        self._places = {device: place for place, device in enumerate(virtual)}
        self._choice = CollectiveChoice.of(algorithm, accumulate, library, launch)
        self._share = WorkerShare.whole(len(virtual))
        self._last_exchanges = self._share.exchanges  # the exchanges of the workers that were made last
        self.clock = Clock(cluster, names)
        limited = math.isfinite(cluster.kind.memory_bytes)
        self.memory = Memory(names, cluster.kind.memory_bytes) if limited else None

    # The eight verbs.

    def on(self, device: Device | None) -> AbstractContextManager[Any]:
        if loaded() is None:
            return _without_jax()

        def charge(flops: float, moved: float, name: str, inputs: Sequence[Any]) -> None:
            here = HERE.get().device or device
            self.await_tensors(inputs, here)
            self.charge(self.clock.roofline(flops, moved), name, here)

        return _metering().metered(charge)

    def put(self, array: Any, device: Device | None) -> Tensor:
        return self.claimed(super().put(array, device))

    def copy(self, tensor: Tensor, device: Device) -> Tensor:
        source, unison = self.device_of(tensor), UNISON.get()
        if isinstance(tensor, TimedTensor) and source == device:
            tensor.flags.writeable = False
            return tensor  # it is there already, so that no more memory is needed
        if unison is not None and unison.has_brought(source, device):
            return self.claimed(super().copy(tensor, device), max(ready_of(tensor), unison.ready))
        copied = self.claimed(super().copy(tensor, device), ready_of(tensor))
        ends = self.places_of((source, device))
        if len(set(ends)) == 2:
            self._note_arrival([copied], self.clock.collective(_POINT_TO_POINT, ends, tensor.nbytes))
        return copied

    def spread(self, tensor: Tensor, devices: Sequence[Device]) -> list[Tensor]:
        return [self.copy(tensor, device) for device in devices]

    def reduce(self, tensors: Tensors, op: ReduceOp, destinations: Sequence[Device], algorithm: str) -> Tensors:
        places = self._exchanging(tensors)
        if places is None:
            return [self.claimed(tensor) for tensor in super().reduce(tensors, op, destinations, algorithm)]
        unison = UNISON.get()
        for_others = unison is not None and unison.led_by(destinations[0]) and len(unison.places) > 1
        if len(destinations) > 1 or for_others or self._share.reaches_others(places):
            result, done = self._reduce_to_all(tensors, op, places, algorithm)
        else:
            root = self.place_of(destinations[0])
            result, done = self._reduce_to_one(tensors, op, places, root, algorithm)
        results = [self.claimed(tensor) for tensor in labelled(result, destinations)]
        self._note_arrival(results, done)
        return results

    def gather(self, tensors: Tensors, axis: int, destinations: Sequence[Device]) -> Tensors:
        results = [self.claimed(tensor) for tensor in super().gather(tensors, axis, destinations)]
        places = self._exchanging(tensors)
        if places is not None:
            size = sum(tensor.nbytes for tensor in tensors)
            self._note_arrival(results, self.exchange(all_gather(len(places)), size, places))
        return results

    def fold(self, tensors: Tensors) -> np.ndarray[Any, Any]:
        wider = self._choice.wider_than(tensors[0].dtype)
        if wider is None:
            return super().fold(tensors)
        with np.errstate(over="ignore"):
            return super().fold([np.asarray(tensor, wider) for tensor in tensors]).astype(tensors[0].dtype)

    def _exchanging(self, tensors: Tensors) -> list[int] | None:
        """The places that tensors come from; None where there is nothing to exchange, or no link for it."""
        if len(tensors) < 2:
            return None
        places = once(tensors, "places", lambda: self.places_of([self.device_of(tensor) for tensor in tensors]))
        return places if len(set(places)) == len(tensors) else None

    def _reduce_to_all(self, tensors: Tensors, op: ReduceOp, places: Sequence[int], algorithm: str) -> tuple[Any, Any]:
        """The sum or the mean, and when each device has it."""
        size = tensors[0].nbytes

        def reduced() -> tuple[Schedule | None, Any]:
            schedule = self.schedule("all_reduce", size, places, algorithm)
            return schedule, self._combined_by(schedule, tensors, op)

        schedule, result = once(tensors, ("reduced", op, algorithm), reduced)
        return result, self.exchange(schedule, size, places)

    def _reduce_to_one(
        self, tensors: Tensors, op: ReduceOp, places: list[int], root: int | None, algorithm: str
    ) -> tuple[Any, Any]:
        """The same, and when the device at a place has it; None is a CPU, to which no link leads."""
        size = tensors[0].nbytes
        schedule = self.schedule("all_to_one", size, places, algorithm)
        if schedule is not None and root in places:
            # A schedule has the receiver in the first place, which adds what it gets to its own.
            first = places.index(root)
            places = [root, *places[:first], *places[first + 1 :]]
            tensors = [tensors[first], *tensors[:first], *tensors[first + 1 :]]
        result, done = self._combined_by(schedule, tensors, op), self.exchange(schedule, size, places)
        if root is not None and root not in places:
            done = self.clock.collective(_POINT_TO_POINT, [places[0], root], size)
        return result, done

    def _combined_by(self, schedule: Schedule | None, tensors: Tensors, op: ReduceOp) -> np.ndarray[Any, Any]:
        if schedule is None:
            total = self.fold(tensors)
        else:
            accumulate = self._choice.wider_than(tensors[0].dtype)
            total = value_on(schedule, [np.asarray(one) for one in tensors], accumulate=accumulate)
        return np.array(mean(total, len(tensors)) if op is ReduceOp.MEAN else total)

    # The tasks of a cluster.

    def for_task(self, job: str, task: int, tasks: int) -> Self:
        """What a worker has: an equal share of the devices, in their order, and the clock of all."""
        every = list(self._places)
        if len(every) % tasks:
            raise ValueError(
                f"A cluster of {len(every)} devices was to be shared by {tasks} workers; expected as many devices for each. "
                f"Run a number of workers that divides {len(every)}."
            )
        if task == 0:
            self._last_exchanges = SharedExchanges(tasks)
        clone, size = copy(self), len(every) // tasks
        own = [Device(f"{every[0].kind}:{number}") for number in range(size)]
        workers = range(tasks) if tasks > 1 else [task]
        clone._places = {device.at(job, one): place for place, (one, device) in enumerate(product(workers, own))}
        clone._devices = tuple(device.at(job, task) for device in (Device("CPU:0"), *own))
        clone._mesh = mesh_shape(size if own[0].kind == "TPU" else 0)
        clone._share = WorkerShare.whole(size)
        if tasks > 1:
            clone._share = WorkerShare(task, range(task * size, (task + 1) * size), self._last_exchanges)
        clone.__dict__.pop("default_strategy", None)
        return clone

    def connect(self, devices: Sequence[Device]) -> None:
        # They are not devices of the cluster: what they do would silently take no time.
        raise ValueError(
            f"A simulator with a cluster was to have the devices of other tasks, such as {devices[0] if devices else 'none'}; "
            f"expected one without, because the links between workers and servers are not part of it. Choose "
            f'refdist.use("simulator", gpus=...), or one strategy over the whole cluster.'
        )

    # Time and memory: the capability Timed.

    def step(self, devices: Sequence[Device]) -> AbstractContextManager[Any]:
        places = self.places_of(devices)
        return self.clock.step(places) if places else NOWHERE

    def in_unison(self, devices: Sequence[Device], given: Any) -> AbstractContextManager[Any]:
        around = UNISON.get()
        # What the first device of a surrounding block gets is for all devices of that block.
        together = around.devices if around is not None and around.led_by(devices[0]) else tuple(devices)
        places = self.places_of(together)
        if not isinstance(given, Tensor):
            return entered_unison(Unison(together, places, together[0], 0.0))
        source = self.device_of(given)
        return entered_unison(Unison(together, places, source, self._bring_to_all(given, source, places)))

    def charge_program(
        self, devices: Sequence[Device], cost: Any, algorithm: str
    ) -> Callable[..., AbstractContextManager[Any]] | None:
        places = self.places_of(devices)
        overlaps, self.clock.next_program_overlaps = self.clock.next_program_overlaps, False
        return ChargedProgram(self, places, cost, algorithm, overlaps) if len(places) == len(devices) else None

    def claimed(self, tensor: Tensor, ready: float = 0.0) -> Tensor:
        if isinstance(tensor, TimedTensor):
            return tensor
        timed = TimedTensor.of(tensor, self, ready)
        place = self._places.get(self.device_of(timed))
        if self.memory is not None and place is not None:
            self.memory.hold(timed, place, _line_of_user())
        return timed

    def let_go(self, array: Any) -> None:
        if self.memory is not None:
            self.memory.let_go(array)

    def _bring_to_all(self, tensor: Tensor, source: Device, places: Sequence[int]) -> float:
        """Bring a tensor to several devices by a tree of copies, and say when all have it if they do not wait for it."""
        root = self.place_of(source)
        others = [place for place in places if place != root]
        if root is None or not others:
            return 0.0
        done = self.clock.collective(broadcast(1 + len(others)), [root, *others], tensor.nbytes)
        return float(done.max()) if self.clock.overlaps else 0.0

    def _note_arrival(self, tensors: Tensors, done: Any) -> None:
        """Note when the results of an exchange in the background are there: when the last device has its own."""
        if self.clock.overlaps:
            for tensor in tensors:
                tensor.ready = float(done.max())

    # What tensors and programs of the cluster ask.

    def place_of(self, device: Device | None) -> int | None:
        """Where a device is in the cluster; None where it is not in it."""
        return None if device is None else self._places.get(device)

    def places_of(self, devices: Sequence[Device]) -> list[int]:
        """Where those devices are that are in the cluster."""
        return [self._places[device] for device in devices if device in self._places]

    def charge(self, seconds: float, name: str, device: Device | None) -> None:
        """Let a device, and those in unison with it, be busy; what is not in the cluster takes no time."""
        places = self._acting(device)
        if places:
            self.clock.work(places, seconds, name)

    def await_tensors(self, inputs: Sequence[Any], device: Device | None) -> None:
        """Let a device wait for what exchanges in the background bring it."""
        until, unison = max(map(ready_of, inputs), default=0.0), UNISON.get()
        if unison is not None:
            until = max(until, unison.ready)
        if until > 0 and (places := self._acting(device)):
            self.clock.wait(places, np.full(len(places), until))

    def schedule(self, kind: str, size: float, places: Sequence[int], algorithm: str) -> Schedule | None:
        """How devices exchange so many bytes; None where the switch adds them up."""
        return self._choice.schedule(self.clock, kind, size, places, algorithm)

    def exchange(self, schedule: Schedule | None, size: float, places: Sequence[int], ready: Any = None) -> Any:
        """Let devices exchange so many bytes, and say when each is done; without a schedule the switch adds them up."""

        def move_clocks() -> Any:
            if self._choice.library is not None:
                name = "all_reduce" if schedule is None else schedule.name
                found = self._choice.estimate(self.clock, name, size, places)
                said = f"{found.algorithm} {found.protocol}"
                return self.clock.at_once(places, found.seconds, said, size, ready)
            if schedule is None:
                return self.clock.in_switch(places, size, ready)
            return self.clock.collective(schedule, places, size, ready)

        share = self._share
        return share.exchanges.join(share.worker, move_clocks) if share.reaches_others(places) else move_clocks()

    def unmetered(self) -> AbstractContextManager[Any]:
        """Let JAX compute in a block without taking time."""
        return _metering().unmetered()

    def _acting(self, device: Device | None) -> Sequence[int]:
        """The places of the devices that do what one does: mostly its own alone."""
        unison = UNISON.get()
        if unison is not None and unison.led_by(device):
            return unison.places
        place = self.place_of(device)
        return [] if place is None else [place]


@contextmanager
def _without_jax() -> Generator[None]:
    """Warn where JAX is loaded in a block, because what it has computed there was not counted."""
    yield
    if loaded() is not None:
        warnings.warn(
            "JAX was imported while a replica ran; expected that before, because what it computed until then took no virtual time. "
            "Import jax at the head of the program.",
            stacklevel=2,
        )


def _names(devices: Sequence[Device]) -> list[str]:
    """Short names; with the task, where devices of several tasks would have the same one."""
    short = [device.short for device in devices]
    if len(set(short)) == len(short):
        return short
    return [f"{device.job} {device.task} {device.short}" for device in devices]


@functools.cache
def _metering() -> Any:
    # JAX takes a second to load, so it is loaded for those only who use it.
    return importlib.import_module("refdist._core.compilers.metering")


def _line_of_user() -> str:
    """The line of the user's code at which a tensor is made."""
    site = call_site()
    return line_text(site[0].file, site[0].line) if site else "the strategy itself"

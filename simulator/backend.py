"""The seam of refdist on virtual devices."""

import contextvars
import dataclasses
import functools
import importlib
import math
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from itertools import product
from typing import Any

import numpy as np

from refdist._core.backends.host_backend import HostBackend, mean
from refdist._core.base.call_sites import call_site
from refdist._core.base.enums import ReduceOp
from refdist._core.base.where import HERE
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor, labelled
from refdist._core.devices.tpu_topology import mesh_shape
from refdist._core.seam.backend import NOWHERE, Tensors
from simulator.clock import Clock
from simulator.folding import fold
from simulator.memory import Memory
from simulator.prediction import IN_SWITCH, predict_all_reduce
from simulator.programs import ChargedProgram
from simulator.schedules import ALGORITHMS, Schedule, all_gather, all_to_one, broadcast, point_to_point, schedule_of
from simulator.timed import TimedTensor, ready_of
from simulator.topology import Cluster
from simulator.values import accumulation, is_float, value_on


class SimulatorBackend(HostBackend):
    """Virtual CPUs, GPUs and TPU cores, as many as asked for; with a cluster also their links, and time.

    Args:
        cluster: what the devices are and how they are joined; then collectives have the order, the precision and the
            duration of their algorithm, and computing takes time too.
        algorithm: the one that all collectives take, whatever a strategy's cross_device_ops say; "auto" is the fastest.
        accumulate: float32 or float64, in which narrower floats are added up; else each sum is rounded to their own dtype.
    """

    name = "simulator"

    def __init__(
        self, cluster: Cluster | None = None, algorithm: str | None = None, accumulate: Any = None, **counts: Any
    ) -> None:
        if cluster is not None:
            if counts or not isinstance(cluster, Cluster):
                raise TypeError(
                    f"The simulator was asked for cluster={cluster!r} and {', '.join(counts) or 'nothing else'}; expected a "
                    f"simulator.Cluster alone, because it says how many devices there are. Leave the others out."
                )
            counts = {"tpus" if cluster.kind.name.lower().startswith("tpu") else "gpus": cluster.device_count}
        elif algorithm is not None or accumulate is not None:
            raise TypeError(
                f"The simulator was asked for algorithm={algorithm!r} and accumulate={accumulate!r} without a cluster; expected "
                f"one, because devices without links add up in their own order. Give cluster=simulator.Cluster.star(...)."
            )
        if algorithm is not None and algorithm not in ("auto", IN_SWITCH, *ALGORITHMS):
            raise ValueError(
                f"The algorithm is {algorithm!r}; expected auto or one of {', '.join([*ALGORITHMS, IN_SWITCH])}. Use one of these."
            )
        if algorithm == IN_SWITCH and cluster is not None:
            predict_all_reduce(cluster, 0, IN_SWITCH)  # which refuses a cluster without such a switch
        super().__init__(**counts)
        self.clock: Clock | None = None
        self.ledger: Any = None  # where it is noted who got which sample, if somebody has asked for it
        self.memory: Memory | None = None  # where the devices of the cluster have an end to theirs
        self._algorithm, self._accumulate = algorithm, accumulation(accumulate)
        self._share: range | None = None  # the places of this worker's devices, where several workers share the cluster
        self._told: dict[int, Any] = {}  # when exchanges of all workers are over, as the first worker tells the others
        self._heard = 0  # how many of these this worker knows of
        if cluster is not None:
            virtual = [device for device in self._devices if device.kind != "CPU"]
            self._places = {device: place for place, device in enumerate(virtual)}
            names = _names(virtual)
            self.clock = Clock(cluster, names)
            if math.isfinite(cluster.kind.memory_bytes):
                self.memory = Memory(names, cluster.kind.memory_bytes)

    def on(self, device: Device | None) -> AbstractContextManager[Any]:
        clock = self.clock
        if clock is None:
            return NOWHERE
        if sys.modules.get("jax") is None:
            return _without_jax()

        def charge(flops: float, moved: float, name: str, inputs: Sequence[Any]) -> None:
            self.await_tensors(inputs, HERE.get().device or device)
            self.charge(clock.roofline(flops, moved), name, HERE.get().device or device)

        return _metering().metered(charge)

    def ledger_in_use(self) -> Any:
        return self.ledger

    def fold(self, tensors: Sequence[Any]) -> np.ndarray[Any, Any]:
        wider = self._precision(tensors[0])
        if wider is None:
            return fold(tensors)
        with np.errstate(over="ignore"):
            return fold([np.asarray(tensor, wider) for tensor in tensors]).astype(tensors[0].dtype)

    def for_task(self, job: str, task: int, tasks: int) -> HostBackend:
        """What a worker has: on a cluster an equal share of its devices, in their order, and the clock of all."""
        if self.clock is None:
            return super().for_task(job, task, tasks)
        every = list(self._places)
        if len(every) % tasks:
            raise ValueError(
                f"A cluster of {len(every)} devices was to be shared by {tasks} workers; expected as many devices for each. "
                f"Run a number of workers that divides {len(every)}."
            )
        if task == 0:
            self._told = {}  # by the first of these workers, not by that of others before them
        clone = copy(self)
        own = [Device(f"{every[0].kind}:{number}") for number in range(len(every) // tasks)]
        workers = range(tasks) if tasks > 1 else [task]
        clone._places = {device.at(job, one): place for place, (one, device) in enumerate(product(workers, own))}
        clone._devices = tuple(device.at(job, task) for device in (Device("CPU:0"), *own))
        clone._mesh = mesh_shape(len(own) if own[0].kind == "TPU" else 0)
        clone._share, clone._heard = range(task * len(own), (task + 1) * len(own)), 0
        clone.__dict__.pop("default_strategy", None)
        return clone

    def connect(self, devices: Sequence[Device]) -> None:
        if self.clock is not None:
            # Their devices are none of the cluster's, and would take no time without a word.
            raise ValueError(
                f"A simulator with a cluster was to have the devices of other tasks, such as {devices[0] if devices else 'none'}; "
                f"expected one without, because the links between workers and servers are not part of it. Choose "
                f'refdist.use("simulator", gpus=...), or one strategy over the whole cluster.'
            )
        super().connect(devices)

    def put(self, array: Any, device: Device | None) -> Tensor:
        return self._timed(super().put(array, device))

    def in_unison(self, devices: Sequence[Device], given: Any) -> AbstractContextManager[Any]:
        return nullcontext() if self.clock is None else self._doing_alike(tuple(devices), given)

    @contextmanager
    def _doing_alike(self, devices: tuple[Device, ...], given: Any) -> Generator[None]:
        around = _ALIKE.get()
        if around is not None and around.devices[0] == devices[0]:
            devices = around.devices  # what the first gets is for all of those
        places = self.places_of(devices)
        source = self.device_of(given) if isinstance(given, Tensor) else devices[0]
        ready = self._brought(given, source, places) if isinstance(given, Tensor) else 0.0
        token = _ALIKE.set(_Alike(devices, places, source, ready))
        try:
            yield
        finally:
            _ALIKE.reset(token)

    def _brought(self, tensor: Tensor, source: Device, places: Sequence[int]) -> float:
        """Bring a tensor to several devices by a tree of copies, and say when all have it where they do not wait for it."""
        root = self.place_of(source)
        others = [place for place in places if place != root]
        if self.clock is None or root is None or not others:
            return 0.0
        done = self.clock.collective(broadcast(1 + len(others)), [root, *others], tensor.nbytes)
        return float(done.max()) if self.clock.overlaps else 0.0

    def copy(self, tensor: Tensor, device: Device) -> Tensor:
        if isinstance(tensor, TimedTensor) and self.device_of(tensor) == device:
            tensor.flags.writeable = False
            return tensor  # there already, so that nothing more is held
        alike = _ALIKE.get()
        if alike is not None and device in alike.devices and self.device_of(tensor) in (alike.devices[0], alike.source):
            return self._timed(super().copy(tensor, device), max(ready_of(tensor), alike.ready))
        copied = self._timed(super().copy(tensor, device), ready_of(tensor))
        pair = [self._places.get(one) for one in (self.device_of(tensor), device)] if self.clock is not None else []
        ends = [place for place in pair if place is not None]
        if self.clock is not None and len(set(ends)) == 2:
            done = self.clock.collective(_POINT_TO_POINT, ends, tensor.nbytes)
            return self._ready([copied], done)[0]
        return copied

    def reduce(self, tensors: Tensors, op: ReduceOp, destinations: Sequence[Device], algorithm: str) -> Tensors:
        places = self._on_cluster(tensors)
        if places is None or self.clock is None:
            return [self._timed(tensor) for tensor in super().reduce(tensors, op, destinations, algorithm)]
        size, root = tensors[0].nbytes, self.place_of(destinations[0])
        for_all = len(destinations) > 1 or self._beyond(places) or _for_several(destinations[0])
        kind = "all_reduce" if for_all else "all_to_one"
        schedule = self.schedule(kind, size, places, algorithm)
        if schedule is None:
            total = self.fold(tensors)
        else:
            if kind == "all_to_one" and root is not None and root in places:
                # The one that all send to stands first; what it gets it adds to its own.
                first = places.index(root)
                places = [root, *places[:first], *places[first + 1 :]]
                tensors = [tensors[first], *tensors[:first], *tensors[first + 1 :]]
            total = value_on(schedule, [np.asarray(one) for one in tensors], accumulate=self._precision(tensors[0]))
        done = self.exchange(schedule, size, places)
        if kind == "all_to_one" and root is not None and root not in places:
            done = self.clock.collective(_POINT_TO_POINT, [places[0], root], size)
        result = mean(total, len(tensors)) if op is ReduceOp.MEAN else total
        return self._ready([self._timed(tensor) for tensor in labelled(np.array(result), destinations)], done)

    def gather(self, tensors: Tensors, axis: int, destinations: Sequence[Device]) -> Tensors:
        results = [self._timed(tensor) for tensor in super().gather(tensors, axis, destinations)]
        places = self._on_cluster(tensors)
        if places is not None:
            done = self.exchange(all_gather(len(places)), sum(tensor.nbytes for tensor in tensors), places)
            return self._ready(results, done)
        return results

    def charge(self, seconds: float, name: str, device: Device | None) -> None:
        """Let a device be busy; one that is not of the cluster takes no time."""
        places = self._workers(device)
        if places and self.clock is not None:
            self.clock.work(places, seconds, name)

    def _workers(self, device: Device | None) -> Sequence[int]:
        """Where the devices are in the cluster that do what one does: mostly itself alone."""
        alike, place = _ALIKE.get(), self.place_of(device)
        if alike is not None and device == alike.devices[0]:
            return alike.places
        return [] if place is None else [place]

    def place_of(self, device: Device | None) -> int | None:
        """Where a device is in the cluster; None where it is not in it."""
        return self._places.get(device) if self.clock is not None and device is not None else None

    def places_of(self, devices: Sequence[Device]) -> list[int]:
        """Where those of some devices are that are in the cluster."""
        return [] if self.clock is None else [self._places[device] for device in devices if device in self._places]

    def await_tensors(self, inputs: Sequence[Any], device: Device | None) -> None:
        """Let a device wait for what exchanges in the background bring it."""
        until, alike = max(map(ready_of, inputs), default=0.0), _ALIKE.get()
        if alike is not None:
            until = max(until, alike.ready)
        if until > 0 and self.clock is not None and (places := self._workers(device)):
            self.clock.wait(places, np.full(len(places), until))

    def claimed(self, tensor: Tensor) -> Tensor:
        return self._timed(tensor)

    def let_go(self, array: Any) -> None:
        """Count what a program has made no longer, because tensors are made of it."""
        if self.memory is not None:
            self.memory.let_go(array)

    def charge_program(
        self, devices: Sequence[Device], cost: Any, algorithm: str
    ) -> Callable[..., AbstractContextManager[Any]] | None:
        """What surrounds each run of a compiled program; None where it takes no time."""
        places = self.places_of(devices)
        if self.clock is None or len(places) != len(devices):
            return None
        return ChargedProgram(self, self.clock, places, cost, algorithm)

    def step(self, devices: Sequence[Device]) -> AbstractContextManager[Any]:
        places = self.places_of(devices)
        return self.clock.step(places) if self.clock is not None and places else nullcontext()

    def unmetered(self) -> AbstractContextManager[Any]:
        """Let JAX compute in a block without taking time."""
        return _metering().unmetered()

    def exchange(self, schedule: Schedule | None, size: float, places: Sequence[int], ready: Any = None) -> Any:
        """Let devices exchange so many bytes; where there is no schedule, the switch adds them up."""
        assert self.clock is not None
        share = self._share if self._beyond(places) else None
        if share is not None:
            self._heard += 1
            if share.start > 0:
                # All workers meet in one exchange: the first, which goes on first, has moved the clocks of all.
                last = share.stop == len(self._places)
                return self._told.pop(self._heard) if last else self._told[self._heard]
        if schedule is not None:
            done = self.clock.collective(schedule, places, size, ready)
        else:
            seconds = predict_all_reduce(self.clock.cluster, size, IN_SWITCH).seconds
            done = self.clock.together(places, seconds, IN_SWITCH, ready)
        if share is not None:
            self._told[self._heard] = done
        return done

    def _beyond(self, places: Sequence[int]) -> bool:
        """Say whether devices of other workers take part."""
        return self._share is not None and any(place not in self._share for place in places)

    def schedule(self, kind: str, size: float, places: Sequence[int], algorithm: str) -> Schedule | None:
        """How devices exchange so many bytes; None where the switch adds them up."""
        assert self.clock is not None
        if kind == "all_gather":
            return all_gather(len(places))
        chosen = self._algorithm or algorithm
        if chosen == IN_SWITCH:
            return None
        if kind == "all_to_one":
            return all_to_one(len(places))
        if chosen == "auto":
            chosen = self.clock.fastest(places, size)
        return schedule_of(chosen, len(places), self.clock.host_size(places))

    def _precision(self, tensor: Tensor) -> Any:
        """The dtype in which sums are kept: a wider one for narrower floats, where that was asked for."""
        wider = self._accumulate
        if wider is None or not is_float(tensor.dtype) or wider.itemsize <= tensor.dtype.itemsize:
            return None
        return wider

    def _on_cluster(self, tensors: Tensors) -> list[int] | None:
        """Where the devices of tensors are in the cluster; None where there is nothing to exchange, or no way to do so."""
        if self.clock is None or len(tensors) < 2:
            return None
        places = [self._places.get(self.device_of(tensor)) for tensor in tensors]
        known = [place for place in places if place is not None]
        return known if len(set(known)) == len(tensors) else None

    def _ready(self, tensors: Tensors, done: Any) -> Tensors:
        """Say of results of an exchange when they are there: all when the last device has its own."""
        if self.clock is not None and self.clock.overlaps:
            for tensor in tensors:
                tensor.ready = float(done.max())
        return tensors

    def _timed(self, tensor: Tensor, ready: float = 0.0) -> Tensor:
        if self.clock is None or isinstance(tensor, TimedTensor):
            return tensor
        timed = tensor.view(TimedTensor)
        timed.flags.writeable = False
        timed._device, timed._owner, timed.ready = tensor._device, self, ready  # pyright: ignore[reportPrivateUsage]
        place = self._places.get(self.device_of(timed))
        if self.memory is not None and place is not None:
            self.memory.hold(timed, place, _holder())
        return timed


@dataclasses.dataclass(frozen=True)
class _Alike:
    """Devices that do what the first of them does, their places, who had what they are given, and when they all have it."""

    devices: tuple[Device, ...]
    places: Sequence[int]
    source: Device
    ready: float


_ALIKE: contextvars.ContextVar[_Alike | None] = contextvars.ContextVar("alike", default=None)
_POINT_TO_POINT = point_to_point()


def _for_several(device: Device) -> bool:
    """Say whether a result that goes to a device is for others too."""
    alike = _ALIKE.get()
    return alike is not None and device == alike.devices[0] and len(alike.places) > 1


@contextmanager
def _without_jax() -> Generator[None]:
    """Say so where JAX is loaded in a block: what it has computed there was not counted."""
    yield
    if sys.modules.get("jax") is not None:
        warnings.warn(
            "JAX was imported while a replica ran; expected that before, because what it computed until then took no virtual time. "
            "Import jax at the head of the program.",
            stacklevel=2,
        )


def _names(devices: Sequence[Device]) -> list[str]:
    """Short names; where those of several tasks would be the same, with the task."""
    short = [device.short for device in devices]
    if len(set(short)) == len(short):
        return short
    return [f"{device.job} {device.task} {device.short}" for device in devices]


@functools.cache
def _metering() -> Any:
    # JAX takes a second to load, so it is left to those who use it.
    return importlib.import_module("refdist._core.compilers.metering")


def _holder() -> str:
    """The line of the user's code that a tensor is made at."""
    site = call_site()
    return f"{site[0].file}:{site[0].line}" if site else "the strategy itself"

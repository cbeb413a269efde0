"""The seam of refdist on virtual devices."""

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from refdist.backend import Tensors, current
from refdist.backends.host import HostBackend, mean
from refdist.context import backend as backend_here
from refdist.device import PLACEMENT, Device
from refdist.enums import ReduceOp
from refdist.lockstep import call_site, line_of
from refdist.tensor import Tensor, labelled
from simulator.clock import Clock
from simulator.folding import fold
from simulator.ledger import Ledger
from simulator.memory import Memory
from simulator.prediction import IN_SWITCH, predict_all_reduce
from simulator.schedules import ALGORITHMS, Schedule, all_gather, all_to_one
from simulator.topology import Cluster
from simulator.traces import Trace
from simulator.values import value_on


class SimulatorBackend(HostBackend):
    """Virtual CPUs, GPUs and TPU cores, as many as asked for; with a cluster also their links, and time.

    Args:
        cluster: what the devices are and how they are joined; then collectives have the order, the precision and the
            duration of their algorithm, and computing takes time too.
        algorithm: the one that all collectives take, whatever a strategy's cross_device_ops say; "auto" is the fastest.
    """

    name = "simulator"

    def __init__(self, cluster: Cluster | None = None, algorithm: str | None = None, **counts: Any) -> None:
        if cluster is not None:
            if counts or not isinstance(cluster, Cluster):
                raise TypeError(
                    f"The simulator was asked for cluster={cluster!r} and {', '.join(counts) or 'nothing else'}; expected a "
                    f"simulator.Cluster alone, because it says how many devices there are. Leave the others out."
                )
            counts = {"tpus" if cluster.kind.name.lower().startswith("tpu") else "gpus": cluster.device_count}
        if algorithm is not None and algorithm not in ("auto", IN_SWITCH, *ALGORITHMS):
            raise ValueError(
                f"The algorithm is {algorithm!r}; expected auto or one of {', '.join(ALGORITHMS)}. Use one of these."
            )
        super().__init__(**counts)
        self.clock: Clock | None = None
        self.memory: Memory | None = None  # where the devices of the cluster have an end to theirs
        self._algorithm = algorithm
        if cluster is not None:
            virtual = [device for device in self._devices if device.kind != "CPU"]
            self._places = {device: place for place, device in enumerate(virtual)}
            short = [device.short for device in virtual]
            self.clock = Clock(cluster, short)
            if math.isfinite(cluster.kind.memory_bytes):
                self.memory = Memory(short, cluster.kind.memory_bytes)

    def fold(self, tensors: Sequence[Any]) -> np.ndarray[Any, Any]:
        return fold(tensors)

    def put(self, array: Any, device: Device | None) -> Tensor:
        return self._timed(super().put(array, device))

    def copy(self, tensor: Tensor, device: Device) -> Tensor:
        return self._timed(super().copy(tensor, device))

    def reduce(self, tensors: Tensors, op: ReduceOp, destinations: Sequence[Device], algorithm: str) -> Tensors:
        places = self._on_cluster(tensors)
        if places is None or self.clock is None:
            return super().reduce(tensors, op, destinations, algorithm)
        size = tensors[0].nbytes
        if self._algorithm == IN_SWITCH:
            self.clock.together(places, predict_all_reduce(self.clock.cluster, size, IN_SWITCH).seconds)
            return [self._timed(tensor) for tensor in super().reduce(tensors, op, destinations, algorithm)]
        one = len(destinations) == 1
        schedule = all_to_one(len(places)) if one else self._schedule(self._algorithm or algorithm, len(places), size)
        total = value_on(schedule, [np.asarray(tensor) for tensor in tensors])
        self.clock.collective(schedule, places, size)
        result = mean(total, len(tensors)) if op is ReduceOp.MEAN else total
        return [self._timed(tensor) for tensor in labelled(np.array(result), destinations)]

    def gather(self, tensors: Tensors, axis: int, destinations: Sequence[Device]) -> Tensors:
        results = [self._timed(tensor) for tensor in super().gather(tensors, axis, destinations)]
        places = self._on_cluster(tensors)
        if places is not None and self.clock is not None:
            size = sum(tensor.nbytes for tensor in tensors)
            self.clock.collective(all_gather(len(places)), places, size)
        return results

    def charge(self, seconds: float, name: str, device: Device | None) -> None:
        """Let a device be busy; one that is not of the cluster takes no time."""
        place = self._places.get(device) if self.clock is not None and device is not None else None
        if place is not None and self.clock is not None:
            self.clock.work(place, seconds, name)

    def claimed(self, tensor: Tensor) -> Tensor:
        return self._timed(tensor)

    def charge_program(self, devices: Sequence[Device], cost: Any, algorithm: str) -> Callable[[], None] | None:
        """What moves the clocks on by one run of a compiled program: first it computes, then it exchanges."""
        clock = self.clock
        places = [self._places[device] for device in devices if device in self._places] if clock is not None else []
        if clock is None or len(places) != len(devices):
            return None
        seconds = clock.roofline(cost.flops, cost.moved_bytes)
        exchanges = [(self._exchange(kind, size, len(places), algorithm), size) for kind, size in cost.exchanged]

        def charge() -> None:
            for place in places:
                clock.work(place, seconds, "program")
            for schedule, size in exchanges if len(places) > 1 else []:
                if schedule is None:
                    clock.together(places, predict_all_reduce(clock.cluster, size, IN_SWITCH).seconds)
                    continue
                clock.collective(schedule, places, size * len(places) if schedule.name == "all_gather" else size)

        return charge

    def _exchange(self, kind: str, size: float, devices: int, algorithm: str) -> Schedule | None:
        if kind == "all_gather":
            return all_gather(devices)
        if self._algorithm == IN_SWITCH:
            return None
        return self._schedule(self._algorithm or algorithm, devices, int(size))

    def _schedule(self, algorithm: str, devices: int, size: int) -> Schedule:
        assert self.clock is not None
        cluster = self.clock.cluster
        if algorithm == "auto":
            algorithm = predict_all_reduce(cluster, size).algorithm
        host = cluster.host_size if devices == cluster.device_count else devices
        return ALGORITHMS[algorithm](devices, host)

    def _on_cluster(self, tensors: Tensors) -> list[int] | None:
        """Where the devices of tensors are in the cluster; None where there is nothing to exchange, or no way to do so."""
        if self.clock is None or len(tensors) < 2:
            return None
        places = [self._places.get(self.device_of(tensor)) for tensor in tensors]
        known = [place for place in places if place is not None]
        return known if len(set(known)) == len(tensors) else None

    def _timed(self, tensor: Tensor) -> Tensor:
        if self.clock is None or isinstance(tensor, TimedTensor):
            return tensor
        timed = tensor.view(TimedTensor)
        timed.flags.writeable = False
        timed._device, timed._owner = tensor._device, self  # pyright: ignore[reportPrivateUsage]
        place = self._places.get(self.device_of(timed))
        if self.memory is not None and place is not None:
            self.memory.hold(timed, place, _holder())
        return timed


class TimedTensor(Tensor):
    """A tensor of a cluster: computing with it takes time on the device that does it."""

    __slots__ = ("_owner",)
    _owner: SimulatorBackend | None

    def __array_finalize__(self, source: Any) -> None:
        super().__array_finalize__(source)
        self._owner = getattr(source, "_owner", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            raise TypeError(
                f"{ufunc.__name__} was to write into a tensor; expected no change, because tensors are immutable."
            )
        plain = [x.view(np.ndarray) if isinstance(x, Tensor) else x for x in inputs]
        result = getattr(ufunc, method)(*plain, **kwargs)
        if result is NotImplemented:
            return result
        owner = next((x._owner for x in inputs if isinstance(x, TimedTensor) and x._owner is not None), None)
        device = PLACEMENT.get() or next(x._device for x in inputs if isinstance(x, TimedTensor))
        results = result if isinstance(result, tuple) else (result,)
        if owner is not None and owner.clock is not None:
            flops, moved = _cost(ufunc, plain, results)
            owner.charge(owner.clock.roofline(flops, moved), ufunc.__name__, device)
            results = tuple(owner.put(x, device) if isinstance(x, (np.ndarray, np.generic)) else x for x in results)
        return results if isinstance(result, tuple) else results[0]


def _cost(ufunc: Any, inputs: Sequence[Any], results: Sequence[Any]) -> tuple[float, float]:
    """Operations, and bytes read and written."""
    arrays = [x for x in [*inputs, *results] if isinstance(x, (np.ndarray, np.generic))]
    moved = float(sum(x.nbytes for x in arrays))
    if ufunc is np.matmul:
        return 2.0 * results[0].size * inputs[0].shape[-1], moved
    return float(max((x.size for x in arrays), default=0)), moved


def _holder() -> str:
    """The line of the user's code that a tensor is made at."""
    site = call_site()
    return f"{site[0].co_filename}:{line_of(site)}" if site and not isinstance(site[0], int) else "the strategy itself"


def memory_report() -> str:
    """What each device of the cluster holds now, and held at most, as text."""
    backend, _ = _with_clock("memory_report()")
    if backend.memory is None:
        raise RuntimeError(
            "memory_report() was asked of a cluster whose devices have memory without end; expected a DeviceKind with "
            "memory_bytes. Use one of simulator.presets, or give the cluster a kind."
        )
    return backend.memory.report()


def _with_clock(what: str) -> tuple[SimulatorBackend, Clock]:
    backend = backend_here()
    if not isinstance(backend, SimulatorBackend) or backend.clock is None:
        raise RuntimeError(
            f"{what} was asked of the backend {backend.name!r} without a cluster; expected a simulator that keeps time. Choose it "
            f'with refdist.use("simulator", cluster=simulator.Cluster.star(...)).'
        )
    return backend, backend.clock


def now() -> float:
    """The virtual time in seconds: that of the device that is furthest on.

    >>> import refdist as tf
    >>> with tf.using("simulator", cluster=Cluster.star(4, 12.5e9, 500e-9)):
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     def step():
    ...         busy(1e-3 * (tf.distribute.get_replica_context().replica_id_in_sync_group + 1))
    ...         return tf.distribute.get_replica_context().all_reduce("sum", tf.zeros([1024]))
    ...     _ = strategy.run(step)
    ...     round(now() * 1e3, 3)
    4.006
    """
    return _with_clock("now()")[1].now()


def busy(seconds: float, name: str = "busy") -> None:
    """Let the device of the replica that the code is in, or of the surrounding device scope, work for some time."""
    if not (isinstance(seconds, (int, float)) and math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"busy() got {seconds!r}; expected a number of seconds of at least 0. Give the time it takes.")
    backend, _ = _with_clock("busy()")
    device = PLACEMENT.get()
    if device is None:
        raise RuntimeError(
            "busy() was called where no device is chosen; expected a replica, or a tf.device block. Call it in the function that "
            "strategy.run runs."
        )
    backend.charge(float(seconds), name, device)


def report() -> str:
    """How long each device has computed, communicated and waited so far, as text."""
    return _with_clock("report()")[1].report()


@contextmanager
def overlap() -> Generator[None]:
    """Let devices go on computing in a block while their collectives are under way; at its end they wait for them.

    >>> import refdist as tf
    >>> def step():
    ...     tf.distribute.get_replica_context().all_reduce("sum", tf.zeros([1 << 20]))
    ...     busy(1e-3)
    >>> with tf.using("simulator", cluster=Cluster.star(4, 12.5e9, 500e-9)):
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     with overlap():
    ...         strategy.run(step)
    ...     round(now() * 1e3, 3)
    1.0
    """
    _, clock = _with_clock("overlap()")
    before, clock.overlaps = clock.overlaps, True
    try:
        yield
    finally:
        clock.overlaps = before
        if not before:
            clock.catch_up()


class Recording:
    """What devices did during a block of code."""

    def __init__(self) -> None:
        self.parts: list[Trace] = []

    def trace(self) -> Trace:
        """All of it so far."""
        spans = tuple(span for part in self.parts for span in part.spans)
        return Trace(spans, tuple(arrow for part in self.parts for arrow in part.arrows))

    def save(self, path: str) -> None:
        """Write it to a file: .json or .json.gz for Perfetto, .svg for a picture."""
        self.trace().save(path)


@contextmanager
def trace() -> Generator[Recording]:
    """Record, in a block, what each device and each link of the cluster does.

    >>> import refdist as tf
    >>> with tf.using("simulator", cluster=Cluster.star(2, 12.5e9, 500e-9)), trace() as recording:
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     _ = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.zeros([1024])))
    >>> recording.trace()
    <Trace of 14 spans and 4 arrows on 6 tracks>
    """
    _, clock = _with_clock("trace()")
    recording = Recording()
    before, clock.recorded = clock.recorded, recording.parts
    try:
        yield recording
    finally:
        clock.recorded = before


@contextmanager
def ledger() -> Generator[Ledger]:
    """Record, in a block, which replica gets which sample in which step of the distributed data of the simulator in use.

    >>> import refdist as tf
    >>> with tf.using("simulator", gpus=2), ledger() as record:
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(4)):
    ...         pass
    >>> [(one.step, one.replica, one.samples) for one in record.deliveries]
    [(0, 0, range(0, 2)), (0, 1, range(2, 4)), (1, 0, range(4, 6)), (1, 1, range(6, 6))]
    """
    backend = current()
    if not isinstance(backend, SimulatorBackend):
        raise TypeError(
            f"ledger() was asked of the backend {backend.name!r}; expected the simulator. Choose it with "
            f'refdist.use("simulator", ...).'
        )
    before, backend.ledger = backend.ledger, Ledger()
    try:
        yield backend.ledger
    finally:
        backend.ledger = before

"""What a program asks of the simulator beside the documented API: the time, more work, reports and recordings."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np

from refdist._core.base.where import HERE
from refdist._core.replicas.context import backend as backend_here
from simulator.base.step_records import Step, report_of
from simulator.devices.block_recording import Recording
from simulator.devices.cluster_backend import ClusterBackend
from simulator.devices.order_of_events import recorded_order
from simulator.devices.simulator_backend import SimulatorBackend
from simulator.devices.whence import whence


def memory_report() -> str:
    """What each device of the cluster holds now, and held at most, as text."""
    memory = _cluster_backend("memory_report()").memory
    if memory is None:
        raise RuntimeError(
            "memory_report() was asked of a cluster whose devices have memory without end; expected a DeviceKind with "
            "memory_bytes. Use one of simulator.presets, or give the cluster a kind."
        )
    return memory.report()


def _cluster_backend(what: str) -> ClusterBackend:
    """The backend of the cluster that the code is on, or an error that says what needs one."""
    draft = HERE.get().draft
    backend = backend_here() if draft is None else draft.compiler.real
    if not isinstance(backend, ClusterBackend):
        raise RuntimeError(
            f"{what} was asked of the backend {backend.name!r} without a cluster; expected a simulator that keeps time. Choose it "
            f'with refdist.use("simulator", cluster=simulator.Cluster.star(...)).'
        )
    return backend


def now() -> float:
    """The virtual time in seconds: that of the device that is furthest on.

    >>> import refdist as tf
    >>> with tf.using("simulator", cluster=tf.simulator.Cluster.star(4, 12.5e9, 500e-9)):
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     def step():
    ...         busy(1e-3 * (tf.distribute.get_replica_context().replica_id_in_sync_group + 1))
    ...         return tf.distribute.get_replica_context().all_reduce("sum", tf.zeros([1024]))
    ...     _ = strategy.run(step)
    ...     round(now() * 1e3, 3)
    4.006
    """
    return _cluster_backend("now()").clock.now()


def busy(seconds: float, name: str = "busy") -> None:
    """Let the device of the replica that the code is in, or of the surrounding device scope, work for some time."""
    number = seconds.item() if isinstance(seconds, np.number) else seconds
    if not (isinstance(number, (int, float)) and 0 <= number <= sys.float_info.max):
        raise ValueError(f"busy() got {seconds!r}; expected a number of seconds of at least 0. Give the time it takes.")
    backend = _cluster_backend("busy()")
    device = HERE.get().device
    if device is None:
        raise RuntimeError(
            "busy() was called where no device is chosen; expected a replica, or a tf.device block. Call it in the function that "
            "strategy.run runs."
        )
    if backend.place_of(device) is None:
        raise RuntimeError(
            f"busy() was called on {device}, which is not in the cluster; expected a device that is, because others take no time. "
            f"Call it in a replica on the cluster, or in a tf.device block of one of its devices."
        )
    backend.charge(float(number), name, device)


def report() -> str:
    """How long each device has computed, communicated and waited so far, as text."""
    return _cluster_backend("report()").clock.report()


def steps() -> tuple[Step, ...]:
    """The last steps, up to a thousand: each is one run of a function on the replicas, eager or compiled."""
    return tuple(_cluster_backend("steps()").clock.steps)


def step_report() -> str:
    """How long the last steps took, and what their devices did on average, as text."""
    return report_of(steps()[-20:])


@contextmanager
def overlap() -> Generator[None]:
    """Let devices go on computing in a block while their collectives are under way; at its end they wait for them.

    In a `tf.function` it holds for the whole compiled program, at whose end devices wait.

    >>> import refdist as tf
    >>> def step():
    ...     tf.distribute.get_replica_context().all_reduce("sum", tf.zeros([1 << 20]))
    ...     busy(1e-3)
    >>> with tf.using("simulator", cluster=tf.simulator.Cluster.star(4, 12.5e9, 500e-9)):
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     with overlap():
    ...         strategy.run(step)
    ...     round(now() * 1e3, 3)
    1.0
    """
    backend = _cluster_backend("overlap()")
    clock = backend.clock
    if HERE.get().draft is not None:
        # While a program is written, no time goes by: all of the program overlaps, as far as nothing waits for an exchange.
        yield
        clock.next_program_overlaps = True
        return
    # Replicas take turns, so that a block of one ends while those of others go on.
    clock.overlapping += 1
    try:
        yield
    finally:
        clock.overlapping -= 1
        place = backend.place_of(HERE.get().device)
        if not clock.overlaps:
            clock.catch_up()
        elif place is not None:
            clock.catch_up([place])


@contextmanager
def trace(*, messages: bool | None = None) -> Generator[Recording]:
    """Record, in a block, what each device and each link of the cluster does, with the lines of the user's code.

    Without a cluster there is no time, and the recording shows the order of events: functions are run in Python then, and each
    run, each meeting of replicas and each write is one event on the devices that take part.

    Args:
        messages: whether exchanges are recorded message by message; otherwise as one span on each device and link. By default they
            are up to 8 devices, because there are thousands of messages between 64 of them.

    >>> import refdist as tf
    >>> with tf.using("simulator", cluster=tf.simulator.Cluster.star(2, 12.5e9, 500e-9)), trace() as recording:
    ...     strategy = tf.distribute.MirroredStrategy()
    ...     _ = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.zeros([1024])))
    >>> recording.trace()
    <Trace of 16 spans and 4 arrows on 6 tracks>
    """
    backend = backend_here()
    if type(backend) is SimulatorBackend:
        with recorded_order() as recording:
            yield recording
        return
    clock, recording = _cluster_backend("trace()").clock, Recording(messages)
    clock.whence = whence
    clock.recordings.append(recording)
    try:
        yield recording
    finally:
        clock.recordings = [one for one in clock.recordings if one is not recording]

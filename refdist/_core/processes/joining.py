"""Joining a cluster: the process becomes one of its workers, or learns in time why it cannot."""

import atexit
import contextlib
import json
import os
import sys
import threading
import time
import traceback
from typing import Any

import jax

from refdist._core.base.call_sites import line_text, of_user
from refdist._core.base.errors import WorkerLost
from refdist._core.processes import jax_service
from refdist._core.processes.board import ended_workers
from refdist._core.processes.cluster_member import ClusterMember
from refdist._core.processes.end_notices import publish_error
from refdist._core.processes.failure import Failure
from refdist._core.processes.lobby import meet
from refdist._core.processes.waiting_limits import limits
from refdist._core.processes.watch import Watch
from refdist._core.processes.worker_processes import Processes

_joined: tuple[ClusterMember, Processes] | None = None
_WORKER = "REFDIST_WORKER_PROCESS"  # inherited by what a worker starts


def join(membership: ClusterMember, *, started: bool) -> Processes:
    """Become a worker of a cluster; returns when all others have come, too. Joining the same one again changes nothing."""
    global _joined
    if _joined is not None:
        if _joined[0] != membership:
            raise RuntimeError(
                f"This process was to become {membership.name(membership.index)} and is {_joined[0].name(_joined[0].index)} "
                f"already; expected one cluster for each process. Give all strategies the same one."
            )
        return _joined[1]
    if started:
        raise RuntimeError(
            f"{membership.name(membership.index)} was to join its cluster after JAX had started; expected this before anything "
            f"is computed, because JAX can join only at its start. Make the MultiWorkerMirroredStrategy at the top of the "
            f"program, before the first tensor and before the devices are listed."
        )
    _require_no_worker_above(membership)
    limit = limits().initialization_timeout
    if not membership.hosted:
        meet(membership, limit)
    connection = _connected(membership, limit)
    watch = Watch(connection, membership.index, membership.names, os.environ.get("REFDIST_BOARD"))
    processes = Processes(connection, membership.index, membership.names, watch)
    watch.start()
    _joined = (membership, processes)
    os.environ[_WORKER] = _signature(membership)
    _tell_of_errors(processes, membership)
    atexit.register(processes.say_goodbye, hosts=membership.index == 0 and not membership.hosted)
    _require_equal_devices(processes)
    return processes


def _signature(membership: ClusterMember) -> str:
    return f"{membership.index} of {membership.count} at {membership.coordinator}, process {os.getpid()}"


def _require_no_worker_above(membership: ClusterMember) -> None:
    """Refuse what a worker has started: JAX would end the whole cluster if the same worker came twice."""
    above, own = os.environ.get(_WORKER, ""), _signature(membership)
    if above != own and above.partition(", ")[0] == own.partition(", ")[0]:
        raise RuntimeError(
            f"A process that a worker has started (worker {above}) was to join the same cluster as the same worker; expected one "
            f"process for each worker. Make the strategy below `if __name__ == '__main__':`, or start the process without "
            f"TF_CONFIG."
        )


def _connected(membership: ClusterMember, limit: float) -> jax_service.Connection:
    """Connect in a thread of its own: JAX ends a process that waits too long, where we want an error."""
    found: list[Any] = []
    bind = None if membership.index else "127.0.0.1:0" if membership.hosted else membership.coordinator

    def work() -> None:
        try:
            place = (membership.coordinator, membership.count, membership.index)
            found.append(jax_service.connect(*place, bind=bind))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work, name="refdist-join", daemon=True)
    thread.start()
    try:
        _wait_for(thread, membership, limit)
    except BaseException:  # Ctrl-C, too
        _leave_at_exit()
        raise
    (outcome,) = found
    if isinstance(outcome, BaseException):
        raise RuntimeError(
            f"{membership.name(membership.index)} could not join its cluster at {membership.coordinator} ({outcome}); expected "
            f"a free address there, and the same cluster in every worker. Correct {membership.told_by}."
        ) from outcome
    return outcome


def _wait_for(thread: threading.Thread, membership: ClusterMember, limit: float) -> None:
    """Wait for the thread that connects; raise if one of the others has ended, or if it takes too long."""
    end = time.monotonic() + limit
    while thread.is_alive() and time.monotonic() < end:
        thread.join(0.1)
        for index, ended in ended_workers(os.environ.get("REFDIST_BOARD")).items():
            if ended.code or ended.signal:
                raise WorkerLost(
                    f"{membership.name(index)} {ended} before all workers had come together; expected all of them to join. Find "
                    f"out there what ended it."
                )
    if thread.is_alive():
        raise WorkerLost(
            f"{membership.name(membership.index)} has waited {limit:.0f} s for the others, and not all have come to "
            f"{membership.coordinator}; expected all {membership.count} to make their strategy at about the same time. See what "
            f"the others do; REFDIST_INITIALIZATION_TIMEOUT sets the limit."
        )


def _require_equal_devices(processes: Processes) -> None:
    """Raise on all workers unless all have as many devices of the same kind."""
    kinds = [str(device.platform) for device in jax.local_devices()]
    said = processes.exchange("joining a cluster", [json.dumps([kinds[0], len(kinds)])])
    differing = [index for index, one in enumerate(said) if one != said[0]]
    if differing:
        raise ValueError(
            f"Workers of one cluster have different devices: worker 0 has {said[0]}, worker {differing[0]} has "
            f"{said[differing[0]]}; expected as many of one kind in each. Give each worker as many, such as by "
            f"JAX_NUM_CPU_DEVICES."
        )


def _tell_of_errors(processes: Processes, membership: ClusterMember) -> None:
    """Tell the others of an error that ends this worker's program."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if processes.watch.failure is None:
            what = _described(kind, error, trace)
            with contextlib.suppress(Exception):
                publish_error(membership.index, what)
            with contextlib.suppress(Exception):
                processes.watch.fail(
                    Failure(
                        "WorkerLost",
                        f"{membership.name(membership.index)} ended with {what}; expected all workers to go on until the end. See "
                        f"what it printed, and start all workers again, from the last checkpoint.",
                    )
                )
        before(kind, error, trace)

    sys.excepthook = hook


def _described(kind: type[BaseException], error: BaseException, trace: Any) -> str:
    """An error in one line, with the innermost line of the user's code."""
    frames = traceback.extract_tb(trace)
    last = ([frame for frame in frames if of_user(frame.filename)] or frames)[-1:]
    text = str(error).partition("\n")[0][:300]
    place = "".join(f" at {line_text(one.filename, one.lineno or 0)}, in {one.name}" for one in last)
    return f"{kind.__name__}{f': {text}' if text else ''}{place}"


def _leave_at_exit() -> None:
    """End the process at the end of the program although a thread still waits for other workers inside JAX."""

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # such as where it is closed
                stream.flush()
        os._exit(1)

    atexit.register(leave)

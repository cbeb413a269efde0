"""Running the programs of all workers together in one process, and passing values between them."""

import contextlib
import contextvars
import json
import os
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias

from refdist._core.backends.choosing import current
from refdist._core.base import nest
from refdist._core.base.call_sites import call_site
from refdist._core.base.common_values import CommonValues
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.where import HERE, entered
from refdist._core.base.writes_of_one_worker import OwnWrites, Written, require_same_writes
from refdist._core.clusters.file_watch import watched_files
from refdist._core.devices.device import Device
from refdist._core.replicas.garbage import MANY, fewer_collections
from refdist._core.replicas.lockstep import pause, play
from refdist._core.replicas.meeting import Meeting
from refdist._core.seam.backend import NOWHERE
from refdist._core.seam.capabilities import Clustered, required
from refdist._core.seam.inspection import inspection_of
from refdist._core.seam.peers import Peers

Claims: TypeAlias = "dict[int, tuple[Mapping[str, Any], str]]"
"""By the number of a worker, the cluster that it was told, and which task of it it is."""


def run_workers(program: Callable[[int], Any], count: int) -> list[Any]:
    """Run a program once for each of several workers, in lockstep within this process, and return their results.

    Each worker has its own TF_CONFIG and its own devices, such as `/job:worker/replica:0/task:1/device:GPU:0`, of the same
    kinds and counts as the backend in use. Multi-worker strategies synchronize with the other workers; workers that do
    not reach the same call raise an error that names them.
    """
    if not callable(program) or not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(
            f"run_workers() got {program!r} and count={count!r}; expected a function of the worker's number, and how many workers "
            f"there are, at least 1. Write run_workers(program, 2)."
        )
    cluster = {"worker": [f"localhost:{20_000 + index}" for index in range(count)]}
    configs = [json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}) for index in range(count)]
    claims: Claims = {}
    backends = [
        required(current(), Clustered, "run_workers()").for_task("worker", index, count) for index in range(count)
    ]

    def body(index: int) -> Any:
        with entered(backend=backends[index], with_workers=(index, count, claims)):
            return program(index)

    def resumed(index: int, paused: contextvars.Context | None) -> AbstractContextManager[Any]:
        # Hundreds of workers resume at each meeting, and only the program of one looks at this; so it stays until the next one's.
        os.environ["TF_CONFIG"] = configs[index]
        # Greenlets do not save which device a backend computes on, and a worker may pause inside a device scope.
        return backends[index].on(None if paused is None else paused[HERE].device)

    inspection = inspection_of(current())
    files = watched_files() if inspection is not None and inspection.python else NOWHERE
    replicas = count * len(backends[0].devices())  # about as many as are paused at a time
    with files, _same_environment(), fewer_collections(replicas) if replicas >= MANY else NOWHERE:
        return play(count, body, name=lambda index: f"worker {index} of {count}", noun="worker", scope=resumed)


def workers_run_together() -> bool:
    """Say whether the workers of this program run together, so that they can meet."""
    return HERE.get().with_workers is not None


def require_agreement(cluster: Mapping[str, Any], task: str, tasks: Sequence[str]) -> None:
    """Raise if workers that run together have been told different clusters, the same task, or of workers that do not run.

    Args:
        cluster: what this one was told.
        task: which it is.
        tasks: all that train.
    """
    together = HERE.get().with_workers
    if together is None:
        return
    index, count, claims = together
    claims[index] = cluster, task
    if len(tasks) != count:
        raise ValueError(
            f"The cluster of worker {index} lists {len(tasks)} tasks ({', '.join(tasks)}), and {count} workers run together; "
            f"expected as many, because they would wait for each other. Correct the cluster, or call "
            f"run_workers(program, {len(tasks)})."
        )
    for other, (theirs, their_task) in claims.items():
        if theirs != cluster:
            raise ValueError(
                f"Worker {index} was told the cluster {dict(cluster)}, and worker {other} {dict(theirs)}; expected one cluster for "
                f"all, because each would wait for workers that do not come. Give all of them the same TF_CONFIG but for its task."
            )
        if their_task == task and other != index:
            raise ValueError(
                f"Workers {other} and {index} both say that they are {task} of the cluster {dict(cluster)}; expected each to be "
                f"another one. Correct the task of one of them, in its TF_CONFIG or its resolver."
            )


def exchange(
    kind: str,
    payloads: Sequence[Any],
    peers: Peers | None,
    details: str | None = None,
    timeout_seconds: float | None = None,
    writes: OwnWrites | None = None,
) -> Sequence[Any]:
    """Send the payloads of this worker's replicas to all workers, and return those of all replicas, in order.

    Args:
        peers: the workers where they are processes of their own; None where they run together in this one.
        details: what else must be the same on all of them, such as shapes.
        timeout_seconds: how long processes wait for each other.
        writes: what this worker has written outside of its replicas, which must be the same on all of them, too.
    """
    if peers is not None:  # who know what this process has written
        return peers.exchange(kind if details is None else f"{kind} of {details}", payloads, timeout_seconds)
    if not workers_run_together():
        raise RuntimeError(
            f"{kind} needs all workers, and this one runs alone; expected them to run together. Run the program of all workers "
            f"with refdist.cluster.run_workers(program, count)."
        )
    called_from, written = HERE.get().called_from, writes.taken() if writes else ()
    return pause(
        Meeting(kind, details, _joined, None, _Brought(payloads, written), call_site(pausing=True), called_from)
    )


def outline_of_leaves(payload: Any) -> str:
    """The shapes and dtypes of the tensors in a nest, as a text; of slices only the dtype, because each may have others."""
    shown = [
        f"slices of {leaf.values.dtype}"
        if isinstance(leaf, IndexedSlices)
        else f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
        for leaf in nest.flatten(payload)
    ]
    text = ", ".join(shown)
    return (
        text
        if len(shown) < 9
        else f"{', '.join(shown[:3])}, ... ({len(shown)} tensors, {zlib.crc32(text.encode()):08x})"
    )


def require_own_worker(device: Device) -> None:
    """Raise if workers run together but use a strategy that was made outside their programs."""
    if workers_run_together() and device.job == "localhost":
        raise RuntimeError(
            "A multi-worker strategy that was made outside run_workers() is used inside; expected one that the worker's program "
            "makes, because this one knows of no other workers. Make it in the program."
        )


class _Brought(NamedTuple):
    """What a worker brings to a meeting."""

    payloads: Sequence[Any]
    written: Sequence[Written]


def _joined(_: Any, all_of_them: Sequence[_Brought]) -> list[CommonValues]:
    if any([one.written for one in all_of_them]):
        require_same_writes([one.written for one in all_of_them])
    everything = CommonValues([payload for one in all_of_them for payload in one.payloads])
    return [everything] * len(all_of_them)


@contextlib.contextmanager
def _same_environment() -> Generator[None]:
    """Leave TF_CONFIG as it was."""
    before = os.environ.get("TF_CONFIG")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("TF_CONFIG", None)
        else:
            os.environ["TF_CONFIG"] = before

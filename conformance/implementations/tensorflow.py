"""TensorFlow itself, with the processor of this machine as eight devices; it has to be installed by the user."""

import importlib
import json
import multiprocessing
import os
import signal
import socket
import time
import tomllib
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import resources
from multiprocessing.connection import Connection, wait
from typing import Any

from conformance.expectations import CheckFailed, Unsupported
from conformance.implementations import FEATURES, KINDS_BUILT, Implementation

CPUS = 4
WORKERS_SECONDS = 40.0
"""The time for all workers of a program together; workers of TensorFlow that miss each other wait for ever."""

Program = Callable[[int], Any]


def _open() -> Any:
    """Import TensorFlow and ask for several processors; its runtime does not start, so this process can still fork."""
    tf = importlib.import_module("tensorflow")
    _divide(tf, CPUS)
    return tf


def _divide(tf: Any, cpus: int) -> None:
    """Let the processor be so many devices; a started runtime refuses another number than it has."""
    (processor,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * cpus)


@contextmanager
def _machine(gpus: int, cpus: int, tpus: int) -> Generator[None]:
    """Let there be so many processors, until the process of the check ends."""
    if gpus or tpus:
        raise Unsupported("needs GPUs or TPUs, and this machine has none for TensorFlow")
    try:
        _divide(importlib.import_module("tensorflow"), cpus)
    except RuntimeError as error:
        raise Unsupported("the devices of a TensorFlow process are fixed by its first operation") from error
    yield


def _workers(count: int, replicas: int, program: Program) -> list[Any]:
    """Run a program on each worker of a multi-worker strategy, each in a process of its own."""
    if replicas > 1:
        raise Unsupported("needs several GPUs on each worker: one without any has one replica")
    tf = importlib.import_module("tensorflow")
    with _machine(0, 1, 0):  # also proves that no runtime is started, which would not survive the fork
        cluster = {"worker": [f"localhost:{port}" for port in _free_ports(count)]}
        deadline = time.monotonic() + WORKERS_SECONDS
        with ExitStack() as stack:
            ends = [stack.enter_context(_worker(cluster, index, program)) for index in range(count)]
            results = _receive(ends, deadline)
        _divide(tf, CPUS)
        return results


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("localhost", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def _worker(cluster: Mapping[str, Any], index: int, program: Program) -> Generator[Connection]:
    """Start a worker, give the end of the pipe on which its result comes, and end it with the block."""
    forking = multiprocessing.get_context("fork")
    here, there = forking.Pipe(duplex=False)
    process = forking.Process(target=_work, args=(cluster, index, program, there), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        process.kill()
        process.join()


def _work(cluster: Mapping[str, Any], index: int, program: Program, there: Connection) -> None:
    """Be one worker: send what the program returns or raises."""
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
    try:
        message = program(index), None
    except Unsupported as error:
        message = None, error
    except Exception as error:
        last = "".join(traceback.format_tb(error.__traceback__)[-2:])
        message = None, RuntimeError(f"worker {index} ended with {type(error).__name__}: {error}\n{last}")
    there.send(message)
    # The others may still need this one; the process that started it ends it.
    signal.pause()


def _receive(ends: Sequence[Connection], deadline: float) -> list[Any]:
    """Wait for the results of all workers, or for the first error."""
    results: dict[int, Any] = {}
    while waiting := {end: index for index, end in enumerate(ends) if index not in results}:
        ready = wait(list(waiting), max(0.0, deadline - time.monotonic()))
        if not ready:
            who = ", ".join(map(str, waiting.values()))
            raise CheckFailed("the workers end", f"worker {who} still waits after {WORKERS_SECONDS:g} s")
        for end in ready:
            assert isinstance(end, Connection)
            result, error = end.recv()
            if error is not None:
                raise error
            results[waiting[end]] = result
    return [results[index] for index in range(len(ends))]


def divergences() -> Mapping[str, str]:
    """Return the reasons for which TensorFlow does not keep a behavior, by id, or by id and replica count."""
    text = (resources.files(__package__) / "tensorflow_divergences.toml").read_text(encoding="utf-8")
    return {case: reason for group in tomllib.loads(text)["divergence"] for case, reason in _cases(group)}


def _cases(group: Mapping[str, Any]) -> Generator[tuple[str, str]]:
    for case in group["cases"]:
        yield case, group["reason"]


tensorflow = Implementation(
    name="tensorflow",
    open=_open,
    kinds=KINDS_BUILT,
    features=FEATURES,
    gpus=0,
    cpus=CPUS,
    machine=_machine,
    workers=_workers,
    # Strategies of several shapes in one process break TensorFlow's collectives.
    isolate=True,
    divergences=divergences(),
    environment={"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "GRPC_VERBOSITY": "NONE", "OMP_NUM_THREADS": "1"},
)

"""Workers of a cluster, each in its own process on this machine: forks of the process that starts them."""

import json
import multiprocessing
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.connection import wait
from typing import Any

from conformance.expectations import CheckFailed, Unsupported

Program = Callable[[int], Any]
"""What a worker does, given its number."""
End = Any
"""An end of a pipe, whose class is not the same on all systems."""


def run_processes(count: int, program: Program, seconds: float) -> list[Any]:
    """Run a program on each worker, with its own TF_CONFIG, and return what each returned; the first error ends all."""
    cluster = {"worker": [f"localhost:{port}" for port in _free_ports(count)]}
    with ExitStack() as stack:
        return _receive([stack.enter_context(_worker(cluster, index, program)) for index in range(count)], seconds)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("localhost", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def _worker(cluster: Mapping[str, Any], index: int, program: Program) -> Generator[End]:
    """Start a worker, yield the end of the pipe on which its result arrives, and end it with the block."""
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
        here.close()


def _work(cluster: Mapping[str, Any], index: int, program: Program, there: End) -> None:
    """Be one worker: send what the program returns, or a function that makes the error that it raises."""
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
    try:
        message = program(index), None
    except CheckFailed as error:
        message = None, partial(CheckFailed, error.expected, error.got, f"worker {index} {error.what}".strip())
    except Unsupported as error:
        message = None, partial(Unsupported, str(error))
    except Exception as error:
        last = "".join(traceback.format_tb(error.__traceback__)[-2:])
        message = None, partial(RuntimeError, f"worker {index} ended with {type(error).__name__}: {error}\n{last}")
    there.send(message)
    # The others may still need this one; the process that started it ends it.
    signal.pause()


def _receive(ends: Sequence[End], seconds: float) -> list[Any]:
    """Wait for the results of all workers, or for the first error."""
    deadline = time.monotonic() + seconds
    results: dict[int, Any] = {}
    while waiting := {end: index for index, end in enumerate(ends) if index not in results}:
        ready: list[End] = wait(list(waiting), max(0.0, deadline - time.monotonic()))
        if not ready:
            who = ", ".join(map(str, waiting.values()))
            raise CheckFailed("the workers end", f"after {seconds:g} s still at work: {who}")
        for end in ready:
            results[waiting[end]] = _result(end, waiting[end])
    return [results[index] for index in range(len(ends))]


def _result(end: End, index: int) -> Any:
    """Return what a worker has sent, or raise its error."""
    try:
        result, make_error = end.recv()
    except EOFError:
        raise CheckFailed("the workers end", f"worker {index} died") from None
    if make_error is not None:
        raise make_error()
    return result

"""Running a cluster that fails in a certain way, and collecting what its workers have noted."""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from tests.children import ROOT
from tests.failure_matrix.ways import AT_THE_START, OF_THE_LAUNCHER, START_LIMIT, Way

PROGRAM = str(pathlib.Path(__file__).with_name("worker_program.py"))
LIMIT = 90.0
Notes = list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of one run."""

    way: Way
    workers: int
    index: int
    exit_codes: tuple[int, ...]  # of the launcher, or of each process where there is none
    notes: dict[str, Notes]  # what the workers noted, by name
    output: str
    left: tuple[int, ...]  # processes that were still there
    seconds: float  # of the end, after a signal to the launcher


def run(way: Way, workers: int, index: int) -> Outcome:
    """Run a cluster in which the worker of some index goes wrong."""
    with tempfile.TemporaryDirectory(prefix="refdist-matrix-") as folder:
        path = pathlib.Path(folder)
        command = [PROGRAM, folder, way.name, str(index)]
        start = _without_launcher if way in AT_THE_START else _launched
        codes, output, seconds = start(way, command, workers, index, path)
        notes = {name: _notes(path, name) for name in ("started", "joining", "ready", "moment", "raised", "finished")}
        pids = {one["pid"] for one in notes["started"]}
        left = tuple(sorted(pid for pid in pids if _is_alive(pid)))
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return Outcome(way, workers, index, codes, notes, output, left, seconds)


def _launched(
    way: Way, command: list[str], workers: int, index: int, folder: pathlib.Path
) -> tuple[tuple[int, ...], str, float]:
    line = [sys.executable, "-m", "refdist", "launch", "--workers", str(workers), "--timeout", str(LIMIT)]
    line += ["--grace", "5", *command]
    with open(folder / "output", "wb") as output:
        launcher = subprocess.Popen(line, cwd=ROOT, env=_environment(way), stdout=output, stderr=output)
        began = time.monotonic()
        if way in OF_THE_LAUNCHER:
            while len(_notes(folder, "ready")) < workers and launcher.poll() is None:
                time.sleep(0.02)
            began = time.monotonic()
            launcher.send_signal(signal.Signals[way.name])
        code = launcher.wait()
        seconds = time.monotonic() - began
        if way.name == "SIGKILL":  # its keeper needs a moment
            while any(_is_alive(one["pid"]) for one in _notes(folder, "started")) and seconds < way.seconds:
                time.sleep(0.02)
                seconds = time.monotonic() - began
    return (code,), (folder / "output").read_text(errors="replace"), seconds


def _without_launcher(
    way: Way, command: list[str], workers: int, index: int, folder: pathlib.Path
) -> tuple[tuple[int, ...], str, float]:
    """Start the workers as one would on several machines, with something wrong in their settings."""
    with contextlib.ExitStack() as held:
        addresses = list(held.enter_context(_addresses(workers)))
        held.close()  # free again
        if way.name == "port-in-use":
            host, _, port = addresses[0].partition(":")
            held.enter_context(socket.create_server((host, int(port))))
        began = time.monotonic()
        processes: list[subprocess.Popen[bytes]] = []
        with open(folder / "output", "wb") as output:
            for own, listed in _settings(way, addresses, index):
                config = json.dumps({"cluster": {"worker": listed}, "task": {"type": "worker", "index": own}})
                environment = {**_environment(way), "TF_CONFIG": config}
                line = [sys.executable, *command]
                processes.append(subprocess.Popen(line, cwd=ROOT, env=environment, stdout=output, stderr=output))
            codes = [_awaited(process, began + LIMIT - time.monotonic()) for process in processes]
    return tuple(codes), (folder / "output").read_text(errors="replace"), time.monotonic() - began


def _settings(way: Way, addresses: list[str], index: int) -> Iterator[tuple[int, list[str]]]:
    """The index and the list of addresses that each process is given."""
    for own in range(len(addresses)):
        odd = own == index
        if way.name == "missing" and odd:
            continue
        if way.name == "wrong-address" and odd:
            yield own, ["127.0.0.1:9", *addresses[1:]]
        elif way.name == "disagreeing" and odd:
            yield own, [*addresses, "127.0.0.1:9"]
        else:
            yield own, addresses
        if way.name == "twice" and odd:
            yield own, addresses


@contextlib.contextmanager
def _addresses(count: int) -> Iterator[list[str]]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        yield [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]


def _environment(way: Way) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REFDIST_", "TF_CONFIG"))}
    start = {"REFDIST_INITIALIZATION_TIMEOUT": str(START_LIMIT)} if way in AT_THE_START else {}
    return {**kept, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **start, **way.settings}


def _awaited(process: subprocess.Popen[bytes], seconds: float) -> int:
    try:
        return process.wait(max(seconds, 0))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return 124


def _notes(folder: pathlib.Path, name: str) -> Notes:
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"{name}-*.json"))]


def _is_alive(pid: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"

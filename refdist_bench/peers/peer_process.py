"""An interpreter that has TensorFlow, and the sides that it runs for us."""

import json
import os
import pathlib
import subprocess
import types
from collections.abc import Mapping
from typing import Any

from refdist_bench.benchmark_case import Case, Side, Who

FOLDER = pathlib.Path(__file__).parent


class PeerFailed(Exception):
    """The other interpreter cannot do what it was asked for."""


class Peer:
    """Processes of another interpreter, each of which runs one step at a time.

    There is one for each number of replicas, because TensorFlow 2.21 lets a device take part in collectives of one size only.
    """

    def __init__(self, python: str) -> None:
        self._python = python
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self.versions = self.ask(1, {"versions": True})

    def ask(self, replicas: int, question: Mapping[str, Any]) -> dict[str, Any]:
        """Send a question to the process for that many replicas, and return the answer."""
        process = self._processes.get(replicas) or self._started(replicas)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            print(json.dumps(question), file=process.stdin, flush=True)
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            del self._processes[replicas]
            process.communicate()
            raise PeerFailed(
                f"{self._python} ended with {process.returncode} instead of an answer; expected a Python that has TensorFlow. "
                f"Try: {self._python} -c 'import tensorflow'"
            )
        answer = json.loads(line)
        if "error" in answer:
            raise PeerFailed(f"TensorFlow: {answer['error']}")
        return answer

    def _started(self, replicas: int) -> subprocess.Popen[str]:
        command = [self._python, str(FOLDER)]  # so that it sees this folder alone, and no other package of ours
        settings = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        settings.pop("PYTHONPATH", None)
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        try:
            process = subprocess.Popen(command, env=settings, stdin=pipe, stdout=pipe, stderr=nothing, text=True)
        except OSError as error:
            raise PeerFailed(
                f"--peer tensorflow={self._python} cannot be started ({error.strerror}); expected a Python that has "
                f"TensorFlow. Give the path of its interpreter."
            ) from error
        self._processes[replicas] = process
        return process

    def sides(self, case: Case) -> tuple[Side, ...]:
        """Return the sides of a case that TensorFlow has."""
        return tuple(
            Side(Who.TENSORFLOW, f"TensorFlow {name}", lambda asked=asked: PeerTimer(self, asked))
            for name, asked in case.tensorflow.items()
        )

    def __enter__(self) -> "Peer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: types.TracebackType | None
    ) -> None:
        for replicas in list(self._processes):
            self.end(replicas)

    def end(self, replicas: int) -> None:
        """End the process for that many replicas, if there is one."""
        process = self._processes.pop(replicas, None)
        if process is None:
            return
        try:
            process.communicate(timeout=10)  # which closes its input, so that it ends
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


class PeerTimer:
    """One side, in the other process."""

    cold = False

    def __init__(self, peer: Peer, asked: Mapping[str, Any]) -> None:
        self._peer, self._asked = peer, asked

    def first(self) -> tuple[float, Any]:
        replicas = self._asked["replicas"]
        try:
            answer = self._peer.ask(replicas, {"make": dict(self._asked)})
        except PeerFailed:
            # TensorFlow 2.21 refuses a collective of another shape than one before it had; a new process has none before.
            self._peer.end(replicas)
            answer = self._peer.ask(replicas, {"make": dict(self._asked)})
        return answer["seconds"], answer["value"]

    def seconds(self, calls: int) -> float:
        return self._peer.ask(self._asked["replicas"], {"calls": calls})["seconds"]

    def close(self) -> None:
        pass

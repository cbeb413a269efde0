"""Writes down what the programs of this folder compute on TensorFlow: `python tests/programs/record.py [names]`.

Run it where TensorFlow is installed. Each program runs in a process of its own, because the devices of a process are fixed.
Those for several workers need tf_keras, too: Keras 3 fails on several workers.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ANSWERS = HERE / "answers.json"
# Without oneDNN, whose kernels add up in an order of their own.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
RUN = "import importlib, json, sys; print(json.dumps(importlib.import_module(sys.argv[1]).main()))"


def recorded(name: str) -> list[float]:
    if "\nWORKERS = 2" in (HERE / f"{name}.py").read_text():
        return of_workers(name, 2)
    return answer(name, started(name, {}))


def of_workers(name: str, count: int) -> list[float]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    cluster = {"worker": [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]}
    for one in sockets:
        one.close()
    with tempfile.TemporaryDirectory() as folder:
        tasks = [json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}) for index in range(count)]
        shared = {"MODEL_DIR": folder, "TF_USE_LEGACY_KERAS": "1"}
        workers = [started(name, {**shared, "TF_CONFIG": task}) for task in tasks]
        answers = [answer(name, worker) for worker in workers]
    assert all(one == answers[0] for one in answers)
    return answers[0]


def started(name: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    command, around = [sys.executable, "-c", RUN, name], {**os.environ, **QUIET, **environment}
    return subprocess.Popen(command, cwd=HERE, env=around, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(name: str, process: subprocess.Popen[str]) -> list[float]:
    output, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"{name} failed:\n{errors}")
    return json.loads(output.splitlines()[-1])


def main() -> None:
    known = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    programs = [path.stem for path in HERE.glob("*.py") if "import tensorflow as tf\n" in path.read_text()]
    for name in sys.argv[1:] or sorted(programs):
        known[name] = recorded(name)
        ANSWERS.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()

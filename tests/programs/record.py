"""Writes down what the programs of this folder compute on TensorFlow: `python tests/programs/record.py [names]`.

Run it where TensorFlow is installed. Each program runs in a process of its own, because the devices of a process are fixed.
"""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ANSWERS = HERE / "answers.json"
# Without oneDNN, whose kernels add up in an order of their own.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
RUN = "import importlib, json, sys; print(json.dumps(importlib.import_module(sys.argv[1]).main()))"


def recorded(name: str) -> list[float]:
    command = [sys.executable, "-c", RUN, name]
    ended = subprocess.run(command, cwd=HERE, env={**os.environ, **QUIET}, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{name} failed:\n{ended.stderr}")
    return json.loads(ended.stdout.splitlines()[-1])


def main() -> None:
    known = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    programs = [path.stem for path in HERE.glob("*.py") if "import tensorflow as tf\n" in path.read_text()]
    for name in sys.argv[1:] or sorted(programs):
        known[name] = recorded(name)
        ANSWERS.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()

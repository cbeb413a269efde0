"""Launching tiny programs, which do not load JAX, and looking for what they leave behind."""

import dataclasses
import pathlib
import sys
import textwrap

from refdist._core.launching.launch_plan import Launch
from refdist._core.launching.launcher import run

PREAMBLE = """
import json, os, pathlib, signal, subprocess, sys, time
me = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
workers = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
launcher = os.getppid()
attempt = int(os.environ["REFDIST_ATTEMPT"])
board = pathlib.Path(os.environ["REFDIST_BOARD"])
marks = pathlib.Path(__file__).parent / f"marks {attempt}"
marks.mkdir(exist_ok=True)

def say(*words):
    print(*words, flush=True)

def mark(name):
    (marks / f"{name} {os.getpid()}").touch()

def wait_for(pattern, count=1, folder=marks):
    while len(list(folder.glob(pattern))) < count:
        time.sleep(0.005)

def for_ever():
    while True:
        signal.pause()
"""


@dataclasses.dataclass(frozen=True)
class Launched:
    """What came of a launch."""

    exit_code: int
    output: str
    errors: str
    folder: pathlib.Path

    def said_by(self, worker):
        """The lines of a worker, without its name."""
        name = f"[worker {worker}] "
        return [line.removeprefix(name) for line in self.output.splitlines() if line.startswith(name)]

    def marks(self):
        """The names of all marks, without process numbers."""
        return sorted(path.name.rpartition(" ")[0] for path in self.folder.glob("marks */*"))

    def left_behind(self):
        """The numbers of the processes that have made a mark and still live."""
        made = {int(path.name.rpartition(" ")[2]) for path in self.folder.glob("marks */*")}
        return sorted(number for number in made if is_alive(number))


def write_program(folder, body, flags):
    """Write a program for workers, and return the command that runs it."""
    path = folder / "program.py"
    path.write_text(PREAMBLE + textwrap.dedent(body))
    return sys.executable, *flags, str(path)


def launch(folder, body, workers, *, python_flags=("-S",), **options):
    """Run a program to its end in this process; the limit is there to end a test that would hang.

    -S spares it what is installed, and so some time.
    """
    command = write_program(folder, body, python_flags)
    with open(folder / "output", "wb") as output, open(folder / "errors", "wb") as errors:
        to = {"output": output.fileno(), "errors": errors.fileno()}
        exit_code = run(Launch(command, workers, **{"timeout_seconds": 60, **to, **options}))
    texts = [(folder / name).read_text() for name in ("output", "errors")]
    return Launched(exit_code, *texts, folder)


def is_alive(number):
    """Say whether a process exists and is more than an entry that nobody has asked about."""
    try:
        state = pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"

"""The options of `refdist launch`, which is `python -m refdist.launch`."""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence

MOST_WORKERS = 1024
DESCRIPTION = """\
Run a program in several processes on this machine, one for each worker of a
cluster. In each of them, MultiWorkerMirroredStrategy() joins the others, as it
would on several machines. Programs that choose no backend run on JAX.

What the workers print is passed on, with the name of the worker before each
line; they have no standard input. The first worker that fails gives the exit
code (128 + the number of a signal), after the others had some time to say what
they lost. Ctrl-C and SIGTERM are passed on to the workers, and nothing that
they have started stays behind. Other exit codes: 2 for a wrong command line,
124 after --timeout, 126 if a process cannot be started, 130 after Ctrl-C, 143
after SIGTERM.

Devices: --devices-per-worker is the number of devices into which JAX divides
the CPU. On a machine with NVIDIA GPUs, those in CUDA_VISIBLE_DEVICES, or else
all of them, are shared out evenly, or as many to each worker as
--devices-per-worker says, unless JAX_PLATFORMS names something else. Other
accelerators are left to JAX.

examples:
  refdist launch --workers 2 train.py
  refdist launch --workers 4 --devices-per-worker 2 train.py --epochs 3
  refdist launch --workers 2 --restart 3 -m my_package.train
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a program on a local cluster as the command line says, and return the exit code."""
    parser = argparse.ArgumentParser(
        "python -m refdist.launch",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(parser)
    parser.set_defaults(complain=parser.error)
    return execute(parser.parse_args(arguments))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `refdist launch` can be told."""
    parser.add_argument(
        "--workers",
        type=_whole("--workers", 1, MOST_WORKERS),
        required=True,
        metavar="N",
        help=f"how many processes to start, at most {MOST_WORKERS}",
    )
    parser.add_argument(
        "--devices-per-worker",
        type=_whole("--devices-per-worker", 1),
        metavar="D",
        help="how many devices each of them has",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds("--timeout"),
        metavar="S",
        help="end everything after S seconds, all attempts together, with exit code 124",
    )
    parser.add_argument(
        "--restart",
        type=_whole("--restart", 0),
        default=0,
        metavar="N",
        help="when a worker has failed, start all of them again, up to N times; the program finds the number of the attempt "
        "in REFDIST_ATTEMPT, and goes on from its last checkpoint",
    )
    parser.add_argument(
        "--grace",
        type=_seconds("--grace"),
        default=15.0,
        metavar="S",
        help="how long the others may go on after one has failed, and how long all may after SIGTERM (15 s unless told)",
    )
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="another Python than this one")
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="the program is the name of a module, as after python -m"
    )
    parser.add_argument("program", nargs="?", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program is called with")


def execute(options: argparse.Namespace) -> int:
    """Check the program, and run it."""
    from refdist._core.base.extras import MissingExtra, require
    from refdist._core.launching.launch_plan import Launch
    from refdist._core.launching.launcher import run
    from refdist._core.launching.worker_environment import TooFewDevices

    try:
        if options.python == sys.executable:
            require("jax", by="A cluster of processes")
        launch = Launch(
            _command(options),
            options.workers,
            devices_per_worker=options.devices_per_worker,
            timeout_seconds=options.timeout,
            restarts=options.restart,
            grace_seconds=options.grace,
        )
        return run(launch)
    except (_UsageError, TooFewDevices, MissingExtra) as error:
        options.complain(str(error))
        raise AssertionError("argparse has left") from error


class _UsageError(Exception):
    """The command line asks for what cannot be done."""


def _command(options: argparse.Namespace) -> tuple[str, ...]:
    """Return what each worker runs."""
    if options.program is None:
        raise _UsageError(
            "no program was given; expected a Python file, or -m and a module, after the options. "
            "Write for example: refdist launch --workers 2 train.py"
        )
    python = shutil.which(str(options.python))
    if python is None:
        raise _UsageError(
            f"--python {options.python} is no program that can be run; expected a Python interpreter. Give its path, or leave "
            f"--python out to use {sys.executable}."
        )
    if options.is_module:
        return (python, "-m", options.program, *options.arguments)
    if not os.path.exists(options.program):
        raise _UsageError(
            f"there is no program {options.program} in {os.getcwd()}; expected a Python file. Check the path, or put -m "
            f"before the name of a module."
        )
    return (python, options.program, *options.arguments)


def _whole(name: str, least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a reader of whole numbers within bounds."""
    bounds = f"a whole number of at least {least}" + (f" and at most {most}" if most else "")

    def read(text: str) -> int:
        if not text.strip().lstrip("+").isdecimal() or int(text) < least or (most is not None and int(text) > most):
            raise argparse.ArgumentTypeError(
                f"got {text!r}; expected {bounds}. Write for example {name} {max(least, 2)}."
            )
        return int(text)

    return read


def _seconds(name: str) -> Callable[[str], float]:
    """Return a reader of durations."""

    def read(text: str) -> float:
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not 0 < seconds < float("inf"):
            raise argparse.ArgumentTypeError(
                f"got {text!r}; expected seconds, more than 0. Write for example {name} 60."
            )
        return seconds

    return read

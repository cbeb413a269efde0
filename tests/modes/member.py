"""One worker of a cluster of processes: it runs its part of many programs, and writes down what each of them gave.

The launcher starts it: `python -m tests.modes.member FOLDER`, where the work lies and the outcomes go.
"""

import pathlib
import pickle
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import refdist as tf
from refdist._core.base.errors import DeadlineExceededError, MeetingError, WorkerLost
from tests.modes.program import Program
from tests.modes.running import Outcome, Told, run_on

WORK = "work"
FOR_EVER = (MeetingError, WorkerLost, DeadlineExceededError)  # what ends a cluster
_PATIENCE = 3.0  # seconds in which the other workers raise an error as well, or never


def main() -> None:
    """Run all bundles of programs, unless one of them ends the cluster."""
    folder = pathlib.Path(sys.argv[1])
    bundles = pickle.loads((folder / WORK).read_bytes())
    warnings.simplefilter("ignore")
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    index, count = strategy.cluster_resolver.task_id or 0, strategy.cluster_resolver.cluster_spec().num_tasks("worker")
    own, *others = [folder / str((index + step) % count) for step in range(count)]
    with open(own, "ab", buffering=0) as output:
        for number, (how, bundle) in enumerate(bundles):
            error = _run(bundle, strategy, how, output)
            if isinstance(error, FOR_EVER):
                return
            # The others would wait for a worker that is the only one to raise: it ends, so that they learn of it.
            if error is not None and not _all_did(number, others):
                raise error


def _run(bundle: Sequence[Program], strategy: Any, how: str, output: Any) -> Exception | None:
    """Run a bundle of programs, write what they gave, and return the error that they raised."""
    try:
        with np.errstate(all="ignore"):
            outcomes = run_on(bundle, strategy, how)
    except Exception as error:
        output.write(pickle.dumps([Outcome(Told(type(error).__name__, str(error)))] * len(bundle)))
        return error
    output.write(pickle.dumps(outcomes))
    return None


def _all_did(number: int, others: Sequence[pathlib.Path]) -> bool:
    """Say whether other workers have written the outcome of a bundle, or do so soon."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if all(len(written(other)) > number for other in others):
            return True
        time.sleep(0.01)
    return False


def written(path: pathlib.Path) -> list[list[Outcome]]:
    """The outcomes that a worker has written so far."""
    found = []
    if path.exists():
        with open(path, "rb") as file:
            try:
                while True:
                    found.append(pickle.load(file))
            except (EOFError, pickle.UnpicklingError):
                pass
    return found


if __name__ == "__main__":
    main()

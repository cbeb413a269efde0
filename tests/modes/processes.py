"""Programs on workers that are processes: one cluster runs many of them, and another one those that are left after an error."""

import os
import pathlib
import pickle
import random as randomness
import sys
import tempfile
from collections.abc import Generator, Iterable, Sequence
from typing import NamedTuple

from refdist._core.launching.launch_plan import Launch
from refdist._core.launching.launcher import run
from tests.children import ROOT
from tests.modes.differences import Mode
from tests.modes.generating import program
from tests.modes.member import FOR_EVER, WORK, written
from tests.modes.program import Program, printed
from tests.modes.running import Outcome, Told, expected, outcomes_of_workers, wrong

BUNDLE = 12
_SECONDS = 600.0
_ENDED = Outcome(Told("nothing", "the cluster had ended"))


class Cluster(NamedTuple):
    """So many processes, each with so many devices."""

    workers: int
    devices: int

    @property
    def replicas(self) -> int:
        return self.workers * self.devices

    def here(self, worker: int) -> slice:
        """The replicas of one of the workers."""
        return slice(worker * self.devices, (worker + 1) * self.devices)


class Fallen(NamedTuple):
    """A program that one worker ran otherwise than it should."""

    how: str
    program: Program
    what: str

    def __str__(self) -> str:
        return f"processes {self.how}: {self.what}\n{printed(self.program)}"


def program_of_processes(seed: int, cluster: Cluster) -> Program:
    """The program of a seed for the replicas of a cluster."""
    return program(randomness.Random(seed), "workers", cluster.replicas, cluster.devices)


def disagreements_of_processes(
    programs: Iterable[Program], cluster: Cluster, hows: Sequence[str], *, lasting: bool = False
) -> Generator[Fallen]:
    """The programs that do not do in processes what numpy says, or do not raise what workers in one process raise.

    Args:
        hows: the ways to run each of them, eager or around.
        lasting: whether programs are left out that may end the cluster, so that one is enough.
    """
    programs, bundles = list(programs), list[_Bundle]()
    for how in hows:
        mode = Mode("jax", how, workers=True)
        answers = [(one, expected(one, mode, cluster.devices)) for one in programs]
        answered = [(one, should) for one, should in answers if should is not None]
        if lasting:
            answered = [(one, should) for one, should in answered if should.error is None and not _splits(one, how)]
        bundles += _bundles(answered, how)
    for bundle, found in _outcomes(bundles, cluster):
        yield from _fallen(bundle, found, cluster)


def _fallen(bundle: "_Bundle", found: list[list[Outcome]], cluster: Cluster) -> Generator[Fallen]:
    how, mode = bundle.how, Mode("jax", bundle.how, workers=True)
    for place, (one, should) in enumerate(bundle.pairs):
        rows = [outcomes[place] for outcomes in found]
        if _splits(one, how) and any(map(_refused, rows)):
            continue
        what = _wrong_on_one(should, rows, cluster) or _wrong_error(one, mode, rows, cluster)
        if what is not None:
            yield Fallen(how, one, what)


class _Bundle(NamedTuple):
    """Programs that are run together, with what they should do."""

    how: str
    pairs: list[tuple[Program, Outcome]]


def _bundles(answered: Iterable[tuple[Program, Outcome]], how: str) -> list[_Bundle]:
    """Programs that can be one function, because compiling takes most of the time; those that raise stay alone."""
    made: list[_Bundle] = []
    waiting: dict[int, _Bundle] = {}
    for one, should in answered:
        if how == "eager" or should.error is not None or _splits(one, how):
            made.append(_Bundle(how, [(one, should)]))
            continue
        bundle = waiting.setdefault(one.calls, _Bundle(how, []))
        bundle.pairs.append((one, should))
        if len(bundle.pairs) == BUNDLE:
            made.append(waiting.pop(one.calls))
    return made + list(waiting.values())


def _outcomes(bundles: Sequence[_Bundle], cluster: Cluster) -> Generator[tuple[_Bundle, list[list[Outcome]]]]:
    """What each worker gets of each bundle; those in which one raised for no reason are taken apart."""
    left = list(bundles)
    while left:
        rows = _launched([(bundle.how, [one for one, _ in bundle.pairs]) for bundle in left], cluster)
        # A worker that learned of the end a little later than the others has written nothing for the last bundle.
        done = max(1, max(len(row) for row in rows))
        apart: list[_Bundle] = []
        for number, bundle in enumerate(left[:done]):
            found = [row[number] if number < len(row) else [_ENDED] * len(bundle.pairs) for row in rows]
            if len(bundle.pairs) > 1 and any(outcomes[0].error for outcomes in found):
                apart += [_Bundle(bundle.how, [pair]) for pair in bundle.pairs]
            else:
                yield bundle, found
        left = apart + left[done:]


def _launched(bundles: list[tuple[str, list[Program]]], cluster: Cluster) -> list[list[list[Outcome]]]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / WORK).write_bytes(pickle.dumps(bundles))
        settings = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
        for unwanted in ("REFDIST_BACKEND", "JAX_NUM_CPU_DEVICES"):
            settings.pop(unwanted, None)
        command = (sys.executable, "-m", "tests.modes.member", name)
        with open(folder / "output", "wb") as output:
            run(
                Launch(
                    command,
                    cluster.workers,
                    cluster.devices,
                    _SECONDS,
                    output=output.fileno(),
                    errors=output.fileno(),
                    environment=settings,
                )
            )
        rows = [written(folder / str(worker)) for worker in range(cluster.workers)]
        assert any(rows), (folder / "output").read_text()
        return rows


def _splits(one: Program, how: str) -> bool:
    """Say whether workers bring tensors of different shapes to a function: one program cannot hold them, so it may be refused."""
    return how != "eager" and any(given.uneven for given in one.inputs)


def _refused(did: Outcome) -> bool:
    return isinstance(did.error, Told) and did.error.kind == "MeetingError"


def _wrong_on_one(should: Outcome, rows: Sequence[Outcome], cluster: Cluster) -> str | None:
    if should.error is not None and any(row.error is not None for row in rows):
        return None  # it may be the affair of one replica, and the workers of others do not need to know
    for worker, did in enumerate(rows):
        what = wrong(should, did, cluster.here(worker))
        if what is not None:
            return f"worker {worker} of {cluster.workers}: {what}"
    return None


def _wrong_error(one: Program, mode: Mode, rows: Sequence[Outcome], cluster: Cluster) -> str | None:
    """Say where workers in processes raise something else than workers that one process plays.

    The first error that is not a consequence of another counts: a worker that waits for one that raised has lost it.
    """
    raised = [row.error for row in rows if isinstance(row.error, Told)]
    if not raised:
        return None
    own = [error for error in raised if error.kind not in _CONSEQUENCES] or raised
    played = outcomes_of_workers(one, mode, cluster.workers)[0].error
    if played is None or type(played).__name__ not in {error.kind for error in own}:
        return f"raised {[str(error) for error in raised]}, played workers {type(played).__name__}: {played}"
    return None


_CONSEQUENCES = {"nothing", *(kind.__name__ for kind in FOR_EVER)}

"""Proves that the checks can fail: breaks an implementation one behavior at a time, and sees which checks notice."""

import json
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from types import FunctionType

from conformance import catalogue
from conformance.case import caught, missing_features
from conformance.checks import Check
from conformance.implementations import locate
from conformance.results import BROKEN, Case, Result, Status, worst
from conformance.runner import Job, Started, Task, run_tasks
from conformance.selection import quickest

FAULTS = "conformance.faults:faults"
SCHEMA_VERSION = 1


class Outcome(Enum):
    """What became of a planted fault."""

    CAUGHT = "caught"
    """The check of the behavior failed on it."""
    MISSED = "missed"
    """The check passed, or stopped at an error; or the process was lost, which says nothing about the check."""
    UNPROVED = "not supported"
    """The implementation lacks what the check needs, or is declared to diverge, so that nothing can be said."""


@dataclass(frozen=True)
class Proof:
    """How the check of a behavior ended on the planted fault, and which other checks failed on it too."""

    id: str
    results: tuple[Result, ...]
    others: tuple[str, ...] = ()

    @cached_property
    def status(self) -> Status:
        """How the check ended, the worst first."""
        return worst(result.status for result in self.results)

    @cached_property
    def outcome(self) -> Outcome:
        """Whether the fault is caught."""
        if caught(self.results):
            return Outcome.CAUGHT
        return Outcome.UNPROVED if self.status in (Status.UNSUPPORTED, Status.DIVERGES) else Outcome.MISSED


@dataclass(frozen=True)
class Proofs:
    """What became of all planted faults, on one implementation."""

    implementation: str
    proofs: tuple[Proof, ...]
    seconds: float
    complete: bool = True

    def totals(self) -> Counter[Outcome]:
        """Count the faults by outcome."""
        return Counter(proof.outcome for proof in self.proofs)

    def exit_code(self) -> int:
        """Return 0 if all are caught, 1 if one is missed, 5 if nothing could be proved."""
        totals = self.totals()
        if totals[Outcome.MISSED]:
            return 1
        return 0 if totals[Outcome.CAUGHT] else 5

    def to_json(self) -> str:
        """Write a JSON document: one object per fault, with how its own check ended and which others failed."""
        document = {
            "schema_version": SCHEMA_VERSION,
            "implementation": self.implementation,
            "complete": self.complete,
            "seconds": self.seconds,
            "faults": [
                {
                    "id": proof.id,
                    "outcome": proof.outcome.value,
                    "results": [result.to_dict() for result in proof.results],
                    "others": list(proof.others),
                }
                for proof in self.proofs
            ],
            "totals": {outcome.value: self.totals()[outcome] for outcome in Outcome},
        }
        return json.dumps(document, indent=2, allow_nan=False)


def planted(job: Job, started: Started, *, others: str | None = None) -> Generator[tuple[Case, Result]]:
    """Run the check of each behavior on its fault, until it fails, and yield the results as they come.

    Args:
        others: also run, with one replica count each, the checks of the same "area", or "all".
    """
    implementation, checks = job.description(), job.loaded_checks()
    job = replace(job, faults=job.faults or FAULTS)
    known = locate(job.faults or FAULTS, FunctionType)()
    possible = {id: check for id, check in checks.items() if missing_features(implementation, check) is None}
    tasks: list[Task] = []
    for id in job.ids:
        if id not in known or id not in checks:
            continue
        if id not in possible:
            reason = missing_features(implementation, checks[id]) or ""
            count = checks[id].replicas[0]
            yield Case(id, count, id), Result(id, implementation.name, count, Status.UNSUPPORTED, reason)
            continue
        tasks.append(Task(tuple(Case(id, count, id) for count in checks[id].replicas), frozenset({Status.FAIL})))
        tasks += [Task((case,)) for case in _others(id, possible, others)]
    if tasks:
        with closing(run_tasks(job, implementation, [tasks], started)) as answers:
            yield from answers


def _others(id: str, checks: Mapping[str, Check], reach: str | None) -> list[Case]:
    """Return one case for each other check within reach."""
    area = catalogue.load()[id].area
    return [
        Case(other, quickest(check.replicas)[0], id)
        for other, check in checks.items()
        if other != id and (reach == "all" or (reach == "area" and catalogue.load()[other].area == area))
    ]


def gathered(found: Iterable[tuple[Case, Result]], checks: Mapping[str, Check]) -> tuple[Proof, ...]:
    """Make one proof for each fault, in catalogue order, of the results in any order.

    A check whose run was broken off before it had all its replica counts has missed nothing yet.
    """
    own: dict[str, list[Result]] = {}
    others: dict[str, set[str]] = {}
    for case, result in found:
        assert case.fault is not None, "every case has a planted fault"
        if case.id == case.fault:
            own.setdefault(case.fault, []).append(result)
        elif result.status in BROKEN:
            others.setdefault(case.fault, set()).add(case.id)
    proofs = [Proof(id, tuple(own[id]), _ordered(others.get(id, ()))) for id in _ordered(own)]
    whole = {proof.id for proof in proofs if len(proof.results) == len(checks[proof.id].replicas)}
    return tuple(proof for proof in proofs if proof.outcome is not Outcome.MISSED or proof.id in whole)


def _ordered(ids: Iterable[str]) -> tuple[str, ...]:
    chosen = set(ids)
    return tuple(id for id in catalogue.load() if id in chosen)


def missed(proofs: Sequence[Proof]) -> list[Proof]:
    """Return the faults that were not caught though they could have been."""
    return [proof for proof in proofs if proof.outcome is Outcome.MISSED]

"""One report of a run, and its rendering as JSON.

The JSON document, version 1 (`schema_version` grows when a field changes its meaning or goes; new fields may come):

    schema_version   1
    complete         true, or false if the run was interrupted or broke
    seconds          the real time of the whole run
    selection        what was asked for: implementations, areas, keywords, replicas; an empty list is no restriction
    versions         of Python and of the packages that matter, by name
    results          one object per case: id, implementation, replicas (null if there is no check), status, detail,
                     seconds. status is one of PASS FAIL ERROR TIMEOUT CRASH UNSUPPORTED DIVERGES
    behaviors        derived from results, one object per behavior: id, area, title, level, and statuses: the worst
                     status of its cases, by implementation
    totals           derived from results: how many behaviors have which status, by implementation
"""

import json
import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import metadata
from typing import Any

from conformance import catalogue
from conformance.catalogue import Behavior
from conformance.results import Result, Status, worst
from conformance.selection import Selection

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Report:
    """What one run found."""

    results: tuple[Result, ...]
    seconds: float
    selection: Selection
    versions: Mapping[str, str]
    complete: bool = True

    @cached_property
    def implementations(self) -> tuple[str, ...]:
        """The names of the implementations, in the order of the run."""
        return tuple(dict.fromkeys(result.implementation for result in self.results))

    @cached_property
    def behaviors(self) -> tuple[Behavior, ...]:
        """The behaviors that have a result, in catalogue order."""
        seen = {result.id for result in self.results}
        return tuple(behavior for id, behavior in catalogue.load().items() if id in seen)

    @cached_property
    def statuses(self) -> Mapping[tuple[str, str], Status]:
        """The status of each behavior, by id and implementation."""
        cases: dict[tuple[str, str], list[Status]] = {}
        for result in self.results:
            cases.setdefault((result.id, result.implementation), []).append(result.status)
        return {key: worst(statuses) for key, statuses in cases.items()}

    def cases(self, id: str, implementation: str) -> list[Result]:
        """Return the results of one behavior on one implementation."""
        return [result for result in self.results if (result.id, result.implementation) == (id, implementation)]

    def totals(self, implementation: str, area: str | None = None) -> Counter[Status]:
        """Count the behaviors of an implementation by status, in one area or in all."""
        return Counter(
            status
            for (id, name), status in self.statuses.items()
            if name == implementation and area in (None, catalogue.load()[id].area)
        )

    def exit_code(self) -> int:
        """Return 0 if all conform, 1 if one does not, 3 if one crashed, 5 if there are no results."""
        found = set(self.statuses.values())
        if not found:
            return 5
        if Status.CRASH in found:
            return 3
        return 1 if found & {Status.FAIL, Status.ERROR, Status.TIMEOUT} else 0

    def to_json(self) -> str:
        """Write the report as a JSON document; the module says what its fields mean."""
        document = {
            "schema_version": SCHEMA_VERSION,
            "complete": self.complete,
            "seconds": self.seconds,
            "selection": asdict(self.selection),
            "versions": dict(self.versions),
            "results": [{**asdict(result), "status": result.status.value} for result in self.results],
            "behaviors": [self._summary(behavior) for behavior in self.behaviors],
            "totals": {
                name: {status.value: count for status, count in self.totals(name).items()}
                for name in self.implementations
            },
        }
        return json.dumps(document, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """Read a report back; what is derived from the results is derived again."""
        document = json.loads(text)
        if document.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(
                f"got a report with schema_version={document.get('schema_version')!r}; expected {SCHEMA_VERSION}. "
                f"Read it with the release that wrote it, or run the suite again."
            )
        return cls(
            results=tuple(_result(**entry) for entry in document["results"]),
            seconds=document["seconds"],
            selection=Selection(**{name: tuple(value) for name, value in document["selection"].items()}),
            versions=document["versions"],
            complete=document["complete"],
        )

    def _summary(self, behavior: Behavior) -> dict[str, Any]:
        keys = [(behavior.id, name) for name in self.implementations]
        statuses = {key[1]: self.statuses[key].value for key in keys if key in self.statuses}
        return {
            "id": behavior.id,
            "area": behavior.area,
            "title": behavior.title,
            "level": behavior.level,
            "statuses": statuses,
        }


def _result(status: str, **fields: Any) -> Result:
    return Result(status=Status(status), **fields)


def versions() -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed here."""
    found = {"python": platform.python_version()}
    for package in ("refdist", "numpy", "jax", "tensorflow", "tensorflow-cpu"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found

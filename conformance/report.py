"""One report of a run, and its rendering as JSON.

The JSON document, version 1 (`schema_version` grows when a field changes its meaning or is removed; fields may be added):

    schema_version   1
    complete         true, or false if the run was interrupted or broke
    seconds          the real time of the whole run
    selection        what was asked for: implementations, areas, keywords, replicas (an empty list is no restriction),
                     mode (quick, full, deep) and seed
    versions         of Python and of the packages that matter, by name; that of the suite is called conformance
    certified        by implementation, what was certified: package, version, commit, and date and platform of the run
    results          one object per case: id, implementation, replicas (null if there is no check), status, detail,
                     seconds, strategy, expected, got. status is one of PASS FAIL ERROR TIMEOUT CRASH, NOT RUN,
                     DIVERGES XFAIL, UNSUPPORTED SKIP
    behaviors        derived from results, one object per behavior: id, area, title, level, and statuses: the worst
                     status of its cases, by implementation
    totals           derived from results: how many behaviors have which status, by implementation

docs/report.md says more about each field, and report.schema.json says it for programs.
"""

import json
import platform
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from html import escape
from importlib import metadata
from typing import Any, cast

from conformance import catalogue
from conformance.catalogue import Behavior
from conformance.results import BROKEN, SILENT, Result, Status, is_count, is_seconds, worst
from conformance.selection import MODES, Selection

SCHEMA_VERSION = 1
Certified = Mapping[str, Mapping[str, str]]
RECORD = "recorded:"
"""What the name of an implementation begins with whose results were recorded earlier."""


@dataclass(frozen=True)
class Report:
    """What one run found."""

    results: tuple[Result, ...]
    seconds: float
    selection: Selection
    versions: Mapping[str, str]
    complete: bool = True
    certified: Certified = field(default_factory=dict[str, Mapping[str, str]])
    """What was certified of each implementation, and when and where; recorded, so that the same report gives the same bytes."""

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
        return {key: worst(case.status for case in cases) for key, cases in self._cases.items()}

    def cases(self, id: str, implementation: str) -> list[Result]:
        """Return the results of one behavior on one implementation."""
        return self._cases.get((id, implementation), [])

    def totals(self, implementation: str, area: str | None = None) -> Counter[Status]:
        """Count the behaviors of an implementation by status, in one area or in all."""
        return Counter(
            status
            for (id, name), status in self.statuses.items()
            if name == implementation and (area is None or area == catalogue.load()[id].area)
        )

    def exit_code(self) -> int:
        """Return 0 if all conform, 1 if one does not, 3 if one crashed, 5 if nothing was checked."""
        found = set(self.statuses.values())
        if found <= SILENT:
            return 5
        if Status.CRASH in found:
            return 3
        return 1 if found & (BROKEN | {Status.NOT_RUN}) else 0

    def to_json(self) -> str:
        """Write the report as a JSON document; the module says what its fields mean."""
        document = {
            "schema_version": SCHEMA_VERSION,
            "complete": self.complete,
            "seconds": self.seconds,
            "selection": asdict(self.selection),
            "versions": dict(self.versions),
            "certified": {name: dict(facts) for name, facts in self.certified.items()},
            "results": [result.to_dict() for result in self.results],
            "behaviors": [self._summary(behavior) for behavior in self.behaviors],
            "totals": {
                name: {status.value: count for status, count in self.totals(name).items()}
                for name in self.implementations
            },
        }
        return json.dumps(document, indent=2, allow_nan=False) + "\n"

    def _repr_html_(self) -> str:
        # Without a style of its own, because refdist need not be there; notebooks have one for plain tables.
        names = "".join(f"<th>{escape(name)}</th>" for name in self.implementations)
        totals = [self.totals(name) for name in self.implementations]
        found = [status for status in Status if any(total[status] for total in totals)]
        rows = "".join(
            f"<tr><td>{status.value}</td>{''.join(f'<td>{total[status]}</td>' for total in totals)}</tr>"
            for status in found
        )
        title = f"Behaviors of the documentation{'' if self.complete else ', of which not all were checked'}"
        return f"<table><caption>{title}</caption><tr><th>status</th>{names}</tr>{rows}</table>"

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """Read a report back; what is derived from the results is derived again.

        A text that is not a report raises a ValueError.
        """
        try:
            document = json.loads(text)
        except RecursionError as error:
            raise ValueError("got values that are nested too deeply; expected a report") from error
        _require(isinstance(document, dict), "an object")
        if document.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(
                f"got a report with schema_version={document.get('schema_version')!r}; expected {SCHEMA_VERSION}. "
                f"Read it with the release that wrote it, or run the suite again."
            )
        results, versions = document.get("results"), document.get("versions")
        _require(isinstance(results, list), "a list of results")
        _require(is_seconds(document.get("seconds")), "seconds from 0 upwards")
        _require(isinstance(versions, dict) and _are_texts(versions.values()), "the versions as an object of texts")
        _require(isinstance(document.get("complete"), bool), "true or false as complete")
        certified = document.get("certified", {})
        _require(
            isinstance(certified, dict) and all(map(_is_facts, certified.values())),
            "texts by name as what was certified",
        )
        return cls(
            results=tuple(map(Result.from_dict, results)),
            seconds=document["seconds"],
            selection=_selection(document.get("selection")),
            versions=versions,
            complete=document["complete"],
            certified=certified,
        )

    @cached_property
    def _cases(self) -> Mapping[tuple[str, str], list[Result]]:
        """The results of each behavior on each implementation."""
        cases: dict[tuple[str, str], list[Result]] = {}
        for result in self.results:
            cases.setdefault((result.id, result.implementation), []).append(result)
        return cases

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


def reproduction(selection: Selection, *cases: Result) -> str:
    """Return the command that runs these cases of one behavior on one implementation again, with the same values.

    >>> reproduction(Selection(), Result("RUN-03", "jax", 1, Status.PASS), Result("RUN-03", "jax", 2, Status.FAIL))
    'python -m conformance run --impl jax -k RUN-03 --replicas 1,2'
    """
    first = cases[0]
    counts = ",".join(str(case.replicas) for case in cases if case.replicas is not None)
    replicas = f" --replicas {counts}" if counts else ""
    drawn = f" --mode deep --seed {selection.seed}" if selection.mode == "deep" else ""
    others = f" --checks {shlex.quote(selection.checks)}" if selection.checks else ""
    # What was recorded, or comes from one of several reports, has the name of the implementation in it.
    name = re.sub(r" \[[^]]*\]$", "", first.implementation).removeprefix(RECORD)
    return f"python -m conformance run --impl {shlex.quote(name)} -k {first.id}{replicas}{drawn}{others}"


def _selection(values: Any) -> Selection:
    """Make a selection of plain values; fields that a later release has added are ignored."""
    _require(isinstance(values, dict), "a selection")
    for name in ("implementations", "areas", "keywords"):
        given = values.get(name, [])
        _require(isinstance(given, list) and _are_texts(given), f"a list of texts as {name} of the selection")
    counts = values.get("replicas", [])
    _require(isinstance(counts, list) and all(map(is_count, counts)), "a list of counts as replicas of the selection")
    _require(values.get("mode", "full") in MODES, f"one of {', '.join(MODES)} as mode of the selection")
    _require(isinstance(values.get("seed", 0), int), "a whole number as seed of the selection")
    _require(isinstance(values.get("checks", ""), str), "a text as checks of the selection")
    known: dict[str, Any] = {field.name: values[field.name] for field in fields(Selection) if field.name in values}
    frozen: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
    return Selection(**frozen)


def _require(fits: bool, what: str) -> None:
    if not fits:
        raise ValueError(f"expected {what}")


def _is_facts(value: object) -> bool:
    return isinstance(value, dict) and _are_texts(cast("dict[str, object]", value).values())


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def versions() -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed here."""
    found = {"python": platform.python_version()}
    for package in ("refdist", "numpy", "jax", "tensorflow", "tensorflow-cpu"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {"conformance": found.get("refdist", "not installed"), **found}

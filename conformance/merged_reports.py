"""One report of several: of runs of other implementations, on other machines or on other days."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.report import Report
from conformance.selection import Selection


def merged(reports: Mapping[str, Report]) -> Report:
    """Put the results of reports side by side; what several have under one name gets the label of its report behind it."""
    if len(reports) == 1:
        return next(iter(reports.values()))
    shared = Counter(name for report in reports.values() for name in report.implementations)

    def column(name: str, label: str) -> str:
        return f"{name} [{label}]" if shared[name] > 1 else name

    return Report(
        results=tuple(
            replace(result, implementation=column(result.implementation, label))
            for label, report in reports.items()
            for result in report.results
        ),
        seconds=sum(report.seconds for report in reports.values()),
        selection=_selection(list(reports.values())),
        versions=_versions(reports),
        complete=all(report.complete for report in reports.values()),
        certified={
            column(name, label): facts for label, report in reports.items() for name, facts in report.certified.items()
        },
    )


def _selection(reports: Sequence[Report]) -> Selection:
    """Return what all were restricted to; where they differ, nothing is said of a restriction."""
    first = reports[0].selection
    same = all(
        replace(report.selection, implementations=()) == replace(first, implementations=()) for report in reports
    )
    return replace(first, implementations=()) if same else Selection()


def _versions(reports: Mapping[str, Report]) -> dict[str, str]:
    """Return the versions, those that differ once for each report."""
    found: dict[str, str] = {}
    for label, report in reports.items():
        for name, version in report.versions.items():
            same = all(other.versions.get(name) == version for other in reports.values())
            found[name if same else f"{name} [{label}]"] = version
    return found

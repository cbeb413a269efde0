"""Where the last run is kept, so that the next one can repeat only what failed."""

import hashlib
import os
import pathlib

from conformance.implementations import UsageError
from conformance.report import Report
from conformance.results import BROKEN, Case, Status


def path() -> pathlib.Path:
    """Return the file of the last run that was started in the current folder."""
    here = pathlib.Path.cwd()
    digest = hashlib.sha256(os.fsencode(here)).hexdigest()[:8]
    return cache() / f"{here.name or 'root'}-{digest}.json"


def cache() -> pathlib.Path:
    """Return the folder for files that the suite can do without."""
    # In the cache of the user, not beside their code, which may be read-only, or a checkout that should stay clean.
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(home) / "refdist-conformance"


def keep(report: Report) -> None:
    """Write a report where the next run finds it."""
    path().parent.mkdir(parents=True, exist_ok=True)
    path().write_text(report.to_json() + "\n", encoding="utf-8")


def load(file: pathlib.Path) -> Report:
    """Read a report that a run has written."""
    try:
        return Report.from_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(
            f"got no report in {file}; expected one of an earlier run. Make one: `run` keeps its report for --lf, and writes it to "
            f"what --json names."
        ) from error
    except (OSError, ValueError) as error:
        raise UsageError(
            f"got {file}, which cannot be read as a report ({error}); expected the JSON document of a run. "
            f"Write one with `python -m conformance run --json FILE`."
        ) from error


def failed(report: Report, implementation: str) -> frozenset[Case]:
    """Return the cases of an implementation that failed, or were not run because of others."""
    return frozenset(
        Case(result.id, result.replicas)
        for result in report.results
        if result.implementation == implementation
        and result.replicas is not None
        and result.status in BROKEN | {Status.NOT_RUN}
    )

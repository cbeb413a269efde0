"""Reports of past runs, kept as data so that they can be compared without the implementation they were run on."""

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from conformance.implementations import UnknownName
from conformance.report import Report

RECORDS = {"tensorflow": "tensorflow-2.21.json"}
"""The file of each record, by the name of the implementation."""


def recorded(name: str) -> Report:
    """Read the record of an implementation."""
    if name not in RECORDS:
        raise UnknownName(
            f"got the record {name!r}; expected one of {', '.join(RECORDS)}. Correct the spelling, or name a file."
        )
    return Report.from_json((resources.files(__name__) / RECORDS[name]).read_text(encoding="utf-8"))


def compact(report: Report) -> str:
    """Write a report as a record: one line for each case, short details, and no paths of the machine."""
    document = json.loads(report.to_json())
    # Derived from the results, and out of date after the next change of a title.
    del document["behaviors"], document["totals"]
    results = [_entry(result) for result in document.pop("results")]
    document["seconds"] = round(document["seconds"])
    head = json.dumps(document, indent=1)[1:-2]
    lines = ",\n".join(json.dumps(result, separators=(",", ":")) for result in results)
    return f'{{{head},\n "results": [\n{lines}\n]}}\n'


def _entry(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record keeps of a result; an empty detail is left out."""
    kept = {name: result[name] for name in ("id", "implementation", "replicas", "status")}
    return {**kept, "detail": _short(result["detail"])} if result["detail"] else kept


def _short(detail: str, limit: int = 400) -> str:
    """Return a detail without folders, shortened to a limit."""
    text = re.sub(r"(?<![\w/:])/(?:[\w.+-]+/)+(?=[\w.+-]+\.\w+)", "", detail)
    return text if len(text) <= limit else f"{text[:limit]}..."

"""The files in which users declare what is expected to fail, and what is not to be run.

Each line is an id, or an id and a replica count, and the reason: `RUN-03@2  # two replicas share a queue`.
Empty lines, and lines that begin with #, are ignored.
"""

import pathlib
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from conformance.implementations import UsageError
from conformance.results import BROKEN, Case, Result, Status

Reasons = Mapping[str, str]
"""The reasons by id, or by id and replica count: "RUN-03@2"."""


PASSES = "expected to fail, but passes"


class WrongFile(UsageError):
    """A file that was named on the command line has the wrong content."""


def _nothing() -> Reasons:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Declarations:
    """What is expected to fail and what is not to be run, each with its reason."""

    xfails: Reasons = field(default_factory=_nothing)
    skips: Reasons = field(default_factory=_nothing)

    def skipped(self, case: Case) -> str | None:
        """Return the reason why a case is not to be run, or None."""
        return reason_of(self.skips, case)

    def expects(self, case: Case) -> bool:
        """Tell whether a case is expected to fail."""
        return reason_of(self.xfails, case) is not None

    def judged(self, case: Case, result: Result) -> Result:
        """Judge the result of a case that may be expected to fail."""
        reason = reason_of(self.xfails, case)
        if reason is None:
            return result
        if result.status in BROKEN:
            return replace(result, status=Status.XFAIL, detail=reason)
        if result.status is Status.PASS:
            detail = f"{PASSES}; the reason was: {reason}\nRemove its line from the file."
            return replace(result, status=Status.FAIL, detail=detail)
        return result


def reason_of(reasons: Reasons, case: Case) -> str | None:
    """Return the reason that is given for a case, or for its behavior."""
    return reasons.get(f"{case.id}@{case.replicas}", reasons.get(case.id))


def read_all(paths: Iterable[pathlib.Path], counts: Mapping[str, tuple[int, ...]]) -> Reasons:
    """Read several files, of which no two may have the same entry."""
    reasons: dict[str, str] = {}
    for path in paths:
        found = read(path, counts)
        twice = sorted(reasons.keys() & found.keys())
        if twice:
            raise WrongFile(f"{path} has {twice[0]}, as a file before it; expected it once. Remove one of the lines.")
        reasons |= found
    return reasons


def read(path: pathlib.Path, counts: Mapping[str, tuple[int, ...]]) -> Reasons:
    """Read a file; every entry must name a check, and a replica count with which it runs.

    Args:
        counts: the replica counts of each check, by id.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongFile(f"got the file {str(path)!r} ({error}); expected a text file. Correct the name.") from error
    reasons: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, reason = split(line)
        if not name:
            continue
        _require_known(f"{path}:{number}", name, counts)
        if not reason:
            raise WrongFile(f"{path}:{number} has {name} alone; expected a reason. Write {name}  # why.")
        if name in reasons:
            raise WrongFile(f"{path}:{number} has {name} a second time; expected it once. Remove one of the lines.")
        reasons[name] = reason
    return reasons


def split(line: str) -> tuple[str, str]:
    """Return the name of a line and its reason, both empty for a comment.

    >>> split("run-03@2  # two replicas share a queue")
    ('RUN-03@2', 'two replicas share a queue')
    >>> split("# a heading")
    ('', 'a heading')
    """
    name, _, reason = line.partition("#")
    return name.strip().upper(), reason.strip()


def _require_known(place: str, name: str, counts: Mapping[str, tuple[int, ...]]) -> None:
    id, at, replicas = name.partition("@")
    if id not in counts:
        raise WrongFile(
            f"{place} has {name!r}; expected the id of a check. `python -m conformance list` shows all ids."
        )
    if at and replicas not in map(str, counts[id]):
        known = ", ".join(map(str, counts[id]))
        raise WrongFile(f"{place} has {name!r}; expected one of the replica counts of {id}: {known}. Correct it.")


def undeclared(result: Result) -> Result:
    """Return a result as it was before a file of expected failures judged it, as far as it is still known."""
    if result.status is Status.XFAIL:
        return replace(result, status=Status.FAIL)
    if result.status is Status.FAIL and result.detail.startswith(PASSES):
        return replace(result, status=Status.PASS, detail="")
    return result


def rewritten(text: str, results: Iterable[Result]) -> str:
    """Update the text of a file of expected failures from the results of a run without such a file.

    What passes is dropped, what fails for the first time is added at the end, and all other lines stay as they are.
    """
    failures, passes = _by_outcome(results)
    lines: list[str] = []
    covered: set[Case] = set()
    named = {split(line)[0] for line in text.splitlines()}
    for line in text.splitlines():
        name, reason = split(line)
        id, at, count = name.partition("@")
        failing, passing = failures.get(id, {}), passes.get(id, set())
        if at:
            kept = [] if int(count) in passing else [line]
            covered.add(Case(id, int(count)))
        elif failing and passing:
            # It now fails with some counts only, which keep the reason.
            kept = [f"{id}@{count}  # {reason}" for count in failing if f"{id}@{count}" not in named]
            covered |= {Case(id, count) for count in failing}
        else:
            kept = [] if passing else [line]
            covered |= {Case(id, count) for count in failing}
        lines += kept
    for id, failing in failures.items():
        new = {count: detail for count, detail in failing.items() if Case(id, count) not in covered}
        if new and len(new) == len(failing) and id not in passes:
            lines.append(f"{id}  # {next(iter(new.values()))}")
        else:
            lines += [f"{id}@{count}  # {detail}" for count, detail in new.items()]
    return "".join(f"{line}\n" for line in lines)


def _by_outcome(results: Iterable[Result]) -> tuple[dict[str, dict[int, str]], dict[str, set[int]]]:
    """Return the first lines of failures, and the replica counts that pass, both by id."""
    failures: dict[str, dict[int, str]] = {}
    passes: dict[str, set[int]] = {}
    for result in results:
        if result.replicas is None:
            continue
        if result.status in BROKEN:
            failures.setdefault(result.id, {})[result.replicas] = _headline(result.detail)
        elif result.status is Status.PASS:
            passes.setdefault(result.id, set()).add(result.replicas)
    return failures, passes


def _headline(detail: str) -> str:
    """Summarize a failure in one short line that is the same in every run.

    >>> _headline("at [1]\\nexpected: [1, 2]\\ngot:      [1, 3]\\nstrategy: Mirrored")
    'at [1], expected: [1, 2], got: [1, 3]'
    """
    lines = [" ".join(line.split()) for line in _ADDRESS.sub("", detail).splitlines() if line.strip()]
    end = next((number for number, line in enumerate(lines, 1) if line.startswith("got:")), 1)
    return textwrap.shorten(", ".join(lines[:end]), 100, placeholder=" ...") or "fails"


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")

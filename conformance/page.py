"""What the HTML page says about a report, and how it words it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from conformance.catalogue import Behavior, load
from conformance.causes import causes
from conformance.documented_places import Section, check_source, sections
from conformance.report import Report, reproduction
from conformance.results import BROKEN, DECLARED, SILENT, Result, Status, worst
from conformance.selection import Selection
from conformance.terminal import SHOWN

SIGNS = {"kept": "✓", "broken": "✗", "blocked": "○", "declared": "≠", "silent": "-"}
SHORT_CHARACTERS = 100
SHORT_PAGE = 40
"""A page with no more behaviors has no need to fold them away."""


def group_of(status: Status) -> str:
    """Return what a status means for whether the implementation conforms; this is also the name of its colours."""
    groups = {"kept": {Status.PASS}, "broken": BROKEN, "declared": DECLARED, "silent": SILENT}
    return next((name for name, members in groups.items() if status in members), "blocked")


@dataclass(frozen=True)
class Evidence:
    """Cases of one behavior on one implementation that ended in the same way."""

    selection: Selection
    cases: tuple[Result, ...]

    @property
    def first(self) -> Result:
        """The case that stands for all."""
        return self.cases[0]

    @property
    def replicas(self) -> str:
        """The replica counts, in words."""
        counts = [str(case.replicas) for case in self.cases if case.replicas is not None]
        return f"with {', '.join(counts)} replica{'s' * (counts != ['1'])}" if counts else ""

    @property
    def seconds(self) -> str:
        """The time of all cases, in words."""
        return f"{sum(case.seconds for case in self.cases):.3f} s"

    @property
    def label(self) -> str:
        """What the remaining text is."""
        return "detail" if self.first.status in BROKEN else "reason"

    @property
    def remainder(self) -> str:
        """The detail without the lines that are shown separately."""
        case = self.first
        text = case.detail
        for name, shown in (("expected: ", case.expected), ("got:      ", case.got), ("strategy: ", case.strategy)):
            if shown:
                text = text.replace(f"{name}{shown}", "", 1)
        return "\n".join(line for line in text.splitlines() if line.strip())

    @property
    def sides(self) -> list[tuple[str, str]]:
        """What was expected and what was got, if that is known."""
        case = self.first
        return [(name, text) for name, text in (("expected", case.expected), ("got", case.got)) if text]

    @property
    def kind(self) -> str:
        """The kind of the strategy that was built last."""
        return self.first.strategy.partition(" with ")[0]

    @property
    def strategy(self) -> str:
        """The strategy that was built last, without the replica count if it is that of the case."""
        case = self.first
        return case.strategy.removesuffix(f" with {case.replicas} replica{'s' * (case.replicas != 1)}")

    @property
    def short(self) -> list[tuple[str, str]]:
        """What happened, in one line."""
        texts = self.sides or [("", line) for line in self.remainder.splitlines()[:1]]
        return [(name, _shortened(text)) for name, text in texts]

    @property
    def command(self) -> str:
        """The command that runs the cases again."""
        return reproduction(self.selection, *self.cases)


@dataclass(frozen=True)
class Cell:
    """One behavior on one implementation."""

    behavior: Behavior
    name: str
    cases: Sequence[Result]
    selection: Selection

    @property
    def status(self) -> Status:
        """The worst status of the cases."""
        return worst(case.status for case in self.cases)

    @property
    def anchor(self) -> str:
        """Where its details are."""
        return f"{self.behavior.id}@{self.name}"

    @property
    def coded(self) -> str:
        """The status of each case, for the filters."""
        return " ".join(f"{case.replicas or ''}:{case.status.name}" for case in self.cases)

    @property
    def note(self) -> str:
        """With which replica counts, and on which strategies, the worst happened, where that is not all of them."""
        found = [case for case in self.cases if case.status is self.status]
        kinds = dict.fromkeys(Evidence(self.selection, (case,)).kind for case in found if case.strategy)
        counts = ""
        if len(found) < len(self.cases):
            some, all = (", ".join(str(case.replicas) for case in group) for group in (found, self.cases))
            counts = f"replicas {some} of {all}"
        return "; ".join(filter(None, [counts, ", ".join(kinds)]))

    @property
    def evidence(self) -> list[Evidence]:
        """The cases, those together that ended alike, the worst first."""

        def key(case: Result) -> tuple[int, str, str, str, str]:
            return list(Status).index(case.status), case.detail, case.strategy, case.expected, case.got

        return [Evidence(self.selection, tuple(cases)) for _, cases in groupby(sorted(self.cases, key=key), key)]


@dataclass(frozen=True)
class Summary:
    """What is to be said of one implementation at once."""

    name: str
    totals: Counter[Status]
    causes: Sequence[tuple[str, Sequence[Cell]]]
    """Why behaviors are broken, and which."""
    complete: bool
    certified: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def broken(self) -> list[Cell]:
        """The behaviors that are broken."""
        return [cell for _, cells in self.causes for cell in cells]

    @property
    def identity(self) -> str:
        """What was certified, when and where, in words."""
        known = self.certified
        package = " ".join(filter(None, [known.get("package", ""), known.get("version", "")]))
        commit = f"commit {known['commit']}" if "commit" in known else ""
        return "; ".join(filter(None, [package, commit, known.get("date", ""), known.get("platform", "")]))

    @property
    def groups(self) -> dict[str, int]:
        """How many behaviors there are of each group."""
        counts = dict.fromkeys(SIGNS, 0)
        for status, count in self.totals.items():
            counts[group_of(status)] += count
        return counts

    @property
    def group(self) -> str:
        """The group that decides."""
        order = ("broken", "blocked", "kept", "declared", "silent")
        return next((name for name in order if self.groups[name]), "silent")

    @property
    def verdict(self) -> str:
        """Whether the implementation conforms."""
        counts = self.groups
        if self.group == "silent":
            return "Nothing was checked"
        if self.group in ("broken", "blocked"):
            return "Does not conform"
        words = "Conforms, except as declared" if counts["declared"] else "Conforms"
        return words if self.complete else f"{words}, as far as the run came"

    @property
    def sentence(self) -> str:
        """The same in numbers."""
        counts = self.groups
        checked = counts["kept"] + counts["broken"] + counts["declared"]
        words = {
            "broken": f"{counts['broken']} broken",
            "blocked": f"{counts['blocked']} not run because of others",
            "declared": f"{counts['declared']} declared not to be kept",
            "silent": f"{counts['silent']} not checked",
        }
        return ", ".join(
            [f"{counts['kept']} of {checked} checked behaviors kept", *(words[name] for name in words if counts[name])]
        )


@dataclass(frozen=True)
class Page:
    """What the template asks for."""

    report: Report

    @property
    def summaries(self) -> Iterator[Summary]:
        """Each implementation, with what is broken."""
        for name in self.report.implementations:
            found = [
                (
                    cause.text,
                    [Cell(load()[id], name, self.report.cases(id, name), self.report.selection) for id in cause.ids],
                )
                for cause in causes(self.report, name)
            ]
            facts = self.report.certified.get(name, {})
            yield Summary(name, self.report.totals(name), found, self.report.complete, facts)

    @property
    def absent(self) -> list[str]:
        """The implementations that were asked for and have no result."""
        return [name for name in self.report.selection.implementations if name not in self.report.implementations]

    @property
    def areas(self) -> dict[str, list[Behavior]]:
        """The behaviors by area."""
        return {area: list(found) for area, found in groupby(self.report.behaviors, lambda behavior: behavior.area)}

    @property
    def restrictions(self) -> list[str]:
        """What the run was restricted to, in words."""
        chosen = self.report.selection
        lists = {"areas": chosen.areas, "texts or ids": chosen.keywords, "replicas": chosen.replicas}
        words = [f"{name} {', '.join(map(str, values))}" for name, values in lists.items() if values]
        return [*words, *(["one replica count for each"] if chosen.mode == "quick" else [])]

    @property
    def replicas(self) -> list[int]:
        """All replica counts."""
        return sorted({result.replicas for result in self.report.results if result.replicas is not None})

    def cell(self, behavior: Behavior, name: str) -> Cell | None:
        """Return one behavior on one implementation, or None if it was not asked for there."""
        cases = self.report.cases(behavior.id, name)
        return Cell(behavior, name, cases, self.report.selection) if cases else None

    def gravest(self, behavior: Behavior) -> str:
        """Return the group of the worst status that a behavior has on any implementation."""
        return group_of(
            worst(case.status for name in self.report.implementations for case in self.report.cases(behavior.id, name))
        )

    def counts(self, totals: Counter[Status]) -> list[tuple[Status, int]]:
        """Return the counts that are not zero, in the order in which a reader looks for them."""
        return [(status, totals[status]) for status in SHOWN if totals[status]]

    def sources(self, behavior: Behavior) -> dict[str, list[Section]]:
        """Return the sections by page."""
        pages: dict[str, list[Section]] = {}
        for section in sections(behavior):
            pages.setdefault(section.page, []).append(section)
        return pages

    def check(self, behavior: Behavior) -> str:
        """Return the text of the check of a behavior that is not simply kept, if it is a check of the suite."""
        asked = self.gravest(behavior) not in ("kept", "silent") and not self.report.selection.checks
        return check_source(behavior.id) if asked else ""

    def open_area(self, area: str) -> bool:
        """Tell whether an area is unfolded at first: something of it is broken or was not run, or the page is short."""
        if len(self.report.behaviors) <= SHORT_PAGE:
            return True
        found = {status for name in self.report.implementations for status in self.report.totals(name, area)}
        return bool(found & (BROKEN | {Status.NOT_RUN}))

    def group(self, status: Status) -> str:
        """Return the group of a status."""
        return group_of(status)

    def sign(self, status: Status) -> str:
        """Return the sign of a status."""
        return SIGNS[group_of(status)]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT_CHARACTERS else f"{line[:SHORT_CHARACTERS]}…"

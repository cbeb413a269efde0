"""Which behaviors to run, by area, by id or text; and which of their cases, by replica count and by mode."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.catalogue import AREAS, Behavior
from conformance.implementations import UnknownName

MODES = ("quick", "full", "deep")
"""One replica count for each check; all counts; all counts, and laws on values drawn at random."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What was asked for; an empty tuple restricts nothing."""

    implementations: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    replicas: tuple[int, ...] = ()
    mode: str = "full"
    seed: int = 0
    checks: str = ""
    """The place of other checks than those of the suite."""

    def of(self, catalogue: Mapping[str, Behavior]) -> list[Behavior]:
        """Return the selected behaviors in catalogue order; a keyword that is an id selects only that behavior."""
        areas = [_known_area(area) for area in self.areas]
        words = [_known_id(word, catalogue) for word in self.keywords]
        return [
            behavior
            for behavior in catalogue.values()
            if (not areas or behavior.area in areas) and (not words or _matches(behavior, words))
        ]


def quickest(counts: Iterable[int]) -> tuple[int, ...]:
    """Order replica counts by how much they show at what price: the fewest replicas above one come first.

    >>> quickest((1, 2, 3, 8)), quickest((1,))
    ((2, 3, 8, 1), (1,))
    """
    return tuple(sorted(counts, key=lambda count: (count == 1, count)))


def one(id: str, catalogue: Mapping[str, Behavior]) -> Behavior:
    """Return the behavior that has this id."""
    known = _known_id(id, catalogue)
    if known not in catalogue:
        raise UnknownName(
            f"got {id!r}; expected an id such as {next(iter(catalogue))}. `python -m conformance list` shows all ids."
        )
    return catalogue[known]


_ID = re.compile(r"[A-Z0-9]+-\d+")


def _known_area(area: str) -> str:
    if area.upper() not in AREAS:
        raise UnknownName(f"got the area {area!r}; expected one of {', '.join(AREAS)}. Correct the spelling.")
    return area.upper()


def _known_id(word: str, catalogue: Mapping[str, Behavior]) -> str:
    """Return a word as it is, or an id in capitals if it looks like one and exists."""
    id = word.upper()
    if id in catalogue or not _ID.fullmatch(id):
        return id if id in catalogue else word
    area = id.rpartition("-")[0]
    numbers = [behavior.id for behavior in catalogue.values() if behavior.area == area]
    expected = f"{numbers[0]} to {numbers[-1]}" if numbers else f"one of the areas {', '.join(AREAS)}"
    raise UnknownName(f"got the id {word!r}; expected {expected}. `python -m conformance list` shows all ids.")


def _matches(behavior: Behavior, words: Iterable[str]) -> bool:
    """Tell whether a behavior has one of these ids, or one of these texts in its title or statement."""
    text = f"{behavior.id} {behavior.title} {behavior.statement}".lower()
    return any(word == behavior.id if _ID.fullmatch(word) else word.lower() in text for word in words)

"""What a run of a program can be compared by: each write, each value combined over the replicas, each value returned."""

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.call_sites import Site
from refdist._core.replicas.values import DistributedValues, Mirrored
from refdist._core.testing.recorded_journal import Met, RecordedJournal, Written
from refdist._core.variables.variable import Variable

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Fact:
    """One value that must not depend on how many replicas there are."""

    key: Hashable  # what the same fact of another run has too
    kind: str  # write, meeting or return
    what: str  # the name of the variable, the kind of the meeting, or the path in what was returned
    value: Array
    before: Array | None = None  # of a write: what the variable had
    brought: tuple[Array, ...] = ()  # what each replica has brought to be combined
    parts: tuple[Array, ...] = ()  # of a return: what each replica has, where it was not combined
    verb: str = ""
    own_copies: str = ""  # of a write: how the replicas' own copies become one value
    site: Site = ()

    @property
    def change(self) -> Array:
        """What a write has added; else the value itself."""
        if self.before is None or self.value.dtype.kind not in "fciu" or self.before.shape != self.value.shape:
            return self.value
        kind = np.complex128 if self.value.dtype.kind == "c" else np.float64
        return self.value.astype(kind) - self.before.astype(kind)


_COMBINE: dict[str, Callable[[list[Array]], Array]] = {
    "SUM": lambda copies: np.sum(copies, 0),
    "MEAN": lambda copies: np.mean(copies, 0),
    "ONLY_FIRST_REPLICA": lambda copies: copies[0],
}
_COMPARED = ("all_reduce", "all_gather", "reduce", "gather")


def facts_of(journal: RecordedJournal) -> list[Fact]:
    """What happened in one run, in order."""
    names = _variable_keys(journal)
    placed: list[tuple[int, Fact]] = []
    meetings, writes = Counter[Hashable](), Counter[int]()
    own: dict[int, list[tuple[int, Written]]] = defaultdict(list)
    for place, event in enumerate(journal):
        if isinstance(event, Met) and event.kind.startswith(_COMPARED) and event.answers:
            turn = meetings[event.kind, event.site]
            meetings[event.kind, event.site] += 1
            for leaf, value in enumerate(event.answers[0]):
                brought = tuple(one[leaf] for one in event.brought if leaf < len(one))
                key = ("meeting", event.kind, event.site, turn, leaf)
                placed.append((place, Fact(key, "meeting", event.kind, value, brought=brought, site=event.site)))
        elif isinstance(event, Met) and placed and placed[-1][1].verb == event.kind and all(event.brought):
            brought = tuple(one[0] for one in event.brought)  # to the write that this meeting was held for
            placed[-1] = placed[-1][0], dataclasses.replace(placed[-1][1], brought=brought)
        elif isinstance(event, Written) and event.own_copies:
            own[event.number].append((place, event))
        elif isinstance(event, Written) and not event.copy:  # the other copies of a mirrored variable say the same
            key = ("write", names[event.number], writes[event.number])
            writes[event.number] += 1
            before = event.before[0] if event.before else None
            placed.append(
                (place, Fact(key, "write", event.name, event.after[0], before, verb=event.verb, site=event.site))
            )
    for number, events in own.items():
        placed += _own_writes(names[number], events, journal.variables[number])
    placed.sort(key=lambda pair: pair[0])
    return [fact for _, fact in placed]


def _variable_keys(journal: RecordedJournal) -> list[Hashable]:
    """Tell variables apart by name and by turn: libraries number their names on, from run to run."""
    turns, keys = Counter[str](), list[Hashable]()
    for variable in journal.variables:
        name = re.sub(r"_\d+(?=_|/|:|$)", "", variable.name)
        keys.append((name, turns[name]))
        turns[name] += 1
    return keys


def _own_writes(name: Hashable, events: Sequence[tuple[int, Written]], variable: Any) -> list[tuple[int, Fact]]:
    """Follow a variable of which each replica has a copy of its own: the k-th write of all of them together is one fact."""
    combine = _COMBINE.get(events[0][1].own_copies)
    if combine is None:
        return []
    count = len(variable.all_copies)
    known: list[list[Array]] = [
        [] for _ in range(count)
    ]  # the values of each copy, the first one from before all writes
    places: list[list[tuple[int, Written]]] = [[] for _ in range(count)]
    for place, event in events:
        for index, copy in enumerate(range(count) if event.copy is None else [event.copy]):
            known[copy] = known[copy] or [(event.before or event.after)[index]]
            known[copy].append(event.after[index])
            places[copy].append((place, event))
    for copy, one in enumerate(variable.all_copies):
        known[copy] = known[copy] or [np.array(one.stored)]
    facts: list[tuple[int, Fact]] = []
    for turn in range(max(map(len, places))):
        last, event = max((where[turn] for where in places if turn < len(where)), key=lambda pair: pair[0])
        before, after = (combine([all[min(step, len(all) - 1)] for all in known]) for step in (turn, turn + 1))
        key = ("write", name, turn)
        facts.append(
            (last, Fact(key, "write", event.name, after, before, (), (), event.verb, event.own_copies, event.site))
        )
    return facts


def returned_facts(value: Any, count: int, path: str = "", *, like: Any = None) -> list[Fact]:
    """The numbers and texts in what a program returns; other objects are left out, because nothing says when they are equal.

    Args:
        count: how many replicas there were.
        like: what the run with which this one is compared has there. Where that has a list of one value and this has one of as many
            as there are replicas, these are local results, and belong together.
    """
    what = f"the returned value{path}"
    value, like = _opened(value), _opened(like)
    if isinstance(value, DistributedValues) and not isinstance(value, (Variable, Mirrored)):
        return _parts(path, what, value.values)
    if isinstance(value, dict):
        others = like if isinstance(like, dict) else {}
        return [
            fact
            for key, one in value.items()
            for fact in returned_facts(one, count, f"{path}[{key!r}]", like=others.get(key))
        ]
    if isinstance(value, (list, tuple)):
        others = like if isinstance(like, (list, tuple)) else [None] * len(value)
        if len(others) == 1 and len(value) == count > 1 and all(map(_is_value, value)):
            return _parts(f"{path}[0]", what, value)
        others = [*others, *[None] * len(value)]
        return [
            fact
            for index, one in enumerate(value)
            for fact in returned_facts(one, count, f"{path}[{index}]", like=others[index])
        ]
    return [Fact(("return", path), "return", what, np.array(_plain(value)))] if _is_value(value) else []


def _parts(path: str, what: str, values: Sequence[Any]) -> list[Fact]:
    parts = tuple(np.array(_plain(one)) for one in values if _is_value(one))
    return [Fact(("return", path), "return", what, parts[0], parts=parts)] if parts else []


def _opened(value: Any) -> Any:
    """What fit() of Keras returns has its numbers in an attribute."""
    history = getattr(value, "history", None) if not isinstance(value, (Variable, DistributedValues)) else None
    return history if isinstance(history, dict) else value


def _plain(value: Any) -> Any:
    return (
        value.read_value() if isinstance(value, Variable) else value.numpy() if isinstance(value, Mirrored) else value
    )


def _is_value(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, str, bytes, Variable, Mirrored)) or hasattr(value, "__array__")

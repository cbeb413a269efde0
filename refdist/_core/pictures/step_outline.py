"""What the replicas of a strategy do together in one run, as a journal that keeps shapes and lines and no values."""

import dataclasses
import enum
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.call_sites import Site, line_text
from refdist._core.base.enums import VariableAggregation
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.where import HERE
from refdist._core.pictures.drawn_variables import byte_count, size_text, spec_text, whole_name
from refdist._core.testing.recorded_journal import RecordedJournal, called, users_place

# What becomes of what the replicas bring to a write.
_COMBINED = {
    VariableAggregation.NONE: ", the same on every replica",
    VariableAggregation.SUM: " from each replica, summed",
    VariableAggregation.MEAN: " from each replica, averaged",
    VariableAggregation.ONLY_FIRST_REPLICA: " from replica 0",
}


class Deed(enum.Enum):
    """Who takes part in an act."""

    EDGE = "edge"  # each replica alone: what it gets, and what it returns
    MEETING = "meeting"
    WRITE = "write"  # of all copies of a variable
    OWN_WRITE = "own"  # each replica writes its own copy


@dataclasses.dataclass(slots=True)
class Act:
    """Something that happens in a step, once for all replicas or once on each of some."""

    deed: Deed
    verb: str  # all_reduce SUM, assign_sub, gets
    detail: str = ""
    line: str = ""
    variables: tuple[str, ...] = ()  # the names of those that are written
    size: int = 0  # the bytes of what is written
    replicas: set[int] | None = None  # those of an own write; None stands for all
    times: int = 1
    aggregation: VariableAggregation = VariableAggregation.NONE  # of the variable that is written

    @property
    def title(self) -> str:
        """What happens, in few words."""
        names = [f"'{name}'" for name in self.variables]
        more = [] if len(names) <= 3 else [f"{len(names) - 2} more"]
        return " ".join([self.verb, *([", ".join([*names[: 2 if more else 3], *more])] if names else [])])

    @property
    def sentence(self) -> str:
        """What happens, with everything that is known of it."""
        times = f" ({self.times} times)" if self.times > 1 else ""
        return f"{self.title}{': ' if self.detail else ''}{self.detail}{times}"

    def joined(self, other: "Act") -> "Act | None":
        """This act and the next one as one; None where they differ."""
        if dataclasses.replace(self, times=1) == dataclasses.replace(other, times=1):
            return dataclasses.replace(self, times=self.times + other.times)
        kind, same = (
            (self.deed, self.verb, self.line, self.replicas),
            (other.deed, other.verb, other.line, other.replicas),
        )
        if kind != same or not self.variables or self.times > 1:
            return None
        variables, size = tuple(dict.fromkeys([*self.variables, *other.variables])), self.size + other.size
        return dataclasses.replace(self, variables=variables, size=size, detail=f"{size_text(size)} in all")


class StepOutline(RecordedJournal):
    """A journal of the acts of one strategy; it notes that there are others."""

    def __init__(self, strategy: Any) -> None:
        super().__init__()
        self.acts: list[Act] = []
        self.others = False  # whether another strategy has done anything
        self.undo: list[Callable[[], None]] = []  # what puts back the first value of each variable that is made
        self._strategy = strategy
        self._inside: list[list[Act]] = []  # of each meeting that is held: what has happened in it so far
        self._turns = Counter[Any]()
        self._own_writes: dict[Any, Act] = {}

    def ran(self, strategy: Any, function: Any) -> None:
        self.others |= strategy is not self._strategy

    def meets(self, kind: str, site: Site) -> None:
        super().meets(kind, site)
        self._inside.append([])

    def met(self, payloads: Sequence[Any], answers: Sequence[Any] | None) -> None:
        kind, site, _ = self._open.pop()
        inside = self._inside.pop()
        if answers is None or not self._is_own():
            return
        if not inside:
            line = _line(site + HERE.get().called_from)
            inside = [Act(Deed.MEETING, called(kind), _brought(kind, payloads), line)]
        elif len(inside) == 1 and inside[0].verb == kind:  # the write that the meeting was held for
            inside[0].detail = outline(payloads[0]) + (_COMBINED[inside[0].aggregation] if len(payloads) > 1 else "")
        self._happened(inside)

    def combined(self, kind: str, value: Any, result: Any) -> None:
        if self._is_own():
            parts = getattr(value, "values", None) or [value]
            self._happened([Act(Deed.MEETING, called(kind), _brought(kind, parts), _line(self._site()))])

    def made(self, variable: Any) -> None:
        if id(variable) not in self._numbers:
            self._number(variable)
            self.undo += [shard.storage.put_aside() for shard in variable.shards]
            if variable.distribute_strategy is self._strategy:
                name, size = whole_name(variable.name), byte_count(variable)
                self._happened([Act(Deed.WRITE, "makes", spec_text([variable]), _line(self._site()), (name,), size)])

    def written(self, variable: Any, verb: str, place: int | None, new: Sequence[Any]) -> None:
        if variable.distribute_strategy is not self._strategy:
            self.others |= variable.distribute_strategy is not None
            return
        name, line, size = whole_name(variable.name), _line(self._site()), byte_count(variable)
        if not variable.own_copies:
            if not place:  # update() writes the copies one by one
                act = Act(Deed.WRITE, verb, outline(new[0]), line, (name,), size)
                act.aggregation = variable.aggregation
                self._happened([act])
            return
        if place is None:
            self._happened([Act(Deed.OWN_WRITE, verb, "every copy", line, (name,), size)])
            return
        # Each replica comes here alone; the same write of the others belongs to the same act.
        turn = self._turns[id(variable), verb, line, place]
        self._turns[id(variable), verb, line, place] += 1
        act = self._own_writes.get((id(variable), verb, line, turn))
        if act is None:
            act = Act(Deed.OWN_WRITE, verb, f"{outline(new[0])}, each replica its own copy", line, (name,), size, set())
            self._own_writes[id(variable), verb, line, turn] = act
            self._happened([act])
        assert act.replicas is not None
        act.replicas.add(self._strategy.extended.plan.first_replica + place)

    def adopted(self, storages: Sequence[Any]) -> None:
        pass  # functions run in Python here, so that programs write nothing of the user's

    def _reached(self) -> list[Act]:
        return self._inside[-1] if self._inside else self.acts

    def _happened(self, acts: Sequence[Act]) -> None:
        self._reached().extend(acts)

    def _is_own(self) -> bool:
        frame = HERE.get().frame
        own = frame is not None and frame.strategy is self._strategy
        self.others |= not own
        return own


def folded(acts: Sequence[Act]) -> list[Act]:
    """The same acts, those that follow each other and are alike as one: several times the same, or one line that writes much."""
    found: list[Act] = []
    for act in acts:
        one = found[-1].joined(act) if found else None
        if one is None:
            found.append(act)
        else:
            found[-1] = one
    return found


def outline(value: Any) -> str:
    """The shapes, dtypes and bytes of the tensors in a nest; numbers of Python have none."""
    leaves = nest.flatten(value) if nest.is_container(value) else [value]
    tensors = [leaf.values if isinstance(leaf, IndexedSlices) else leaf for leaf in leaves]
    found = spec_text([one for one in tensors if hasattr(one, "shape") and hasattr(one, "dtype")])
    number = any(isinstance(leaf, (bool, int, float)) for leaf in leaves)
    return found or ("a number" if number else "")


def _brought(kind: str, payloads: Sequence[Any]) -> str:
    """What the replicas bring to a meeting: the same shapes, but to a gather, or where the program itself decides."""
    alike = "gather" not in kind and kind != "merge_call"
    kinds = dict.fromkeys(map(outline, payloads[:1] if alike else payloads))
    first = next(iter(kinds))
    if not first or len(payloads) == 1:
        return first
    return f"{first} from each replica" if len(kinds) == 1 else f"{first} from replica 0, and others"


def _line(site: Site) -> str:
    place = users_place(site)
    return "" if place is None else line_text(place.file, place.line, folders=False)

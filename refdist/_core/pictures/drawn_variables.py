"""The variables of a strategy in a picture: which device holds which copy."""

import dataclasses
import enum
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from refdist._core.base.enums import VariableAggregation
from refdist._core.devices.tensor import dtype_name
from refdist._core.pictures.drawn_devices import Column
from refdist._core.variables.variable import LIVE, Variable

MOST_VARIABLES = 12
_SHARD = re.compile(r"(.*)/part_(\d+):0")
_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Kind(enum.Enum):
    """What the copies of a variable have to do with each other."""

    EQUAL = "equal"
    OWN = "own"
    SINGLE = "single"
    SHARDS = "shards"


@dataclasses.dataclass(frozen=True, slots=True)
class DrawnVariable:
    """A variable, with what is written on each device that holds some of it."""

    name: str
    spec: str
    about: str
    kind: Kind
    places: Mapping[str, Sequence[str]]  # by device; where copies are equal or own, they are those of the replicas

    def cell(self, column: Column) -> str:
        """What is written in a column; empty where the variable has nothing there."""
        if self.kind in (Kind.EQUAL, Kind.OWN):
            if not column.computes:
                return ""
            word = "copy" if self.kind is Kind.EQUAL else "own"
            first, last = column.spots[0].replica, column.spots[-1].replica
            if first == last:
                return f"{word} {first}" if self.kind is Kind.EQUAL else word
            return f"copies {first} ... {last}" if self.kind is Kind.EQUAL else "own, each"
        found = [text for spot in column.spots for text in self.places.get(spot.device or "", ())]
        if len(found) > 1:
            return f"{len(found)} shards"
        return found[0] if found else ""


def variables_of(strategy: Any) -> list[DrawnVariable]:
    """All variables of a strategy that the program still holds, in the order in which they were made."""
    whole: dict[Any, list[Variable]] = {}
    for one in [one for one in LIVE.values() if one.container is None and one.distribute_strategy is strategy]:
        shard = _SHARD.fullmatch(one.name)
        whole.setdefault(id(one) if shard is None else (shard[1],), []).append(one)
    return [_drawn(strategy, parts) for parts in whole.values()]


def _drawn(strategy: Any, parts: Sequence[Variable]) -> DrawnVariable:
    first = parts[0]
    spec, name = spec_text([first]), first.name.removesuffix(":0")
    combined = _COMBINED[first.aggregation]
    if len(parts) > 1 or _SHARD.fullmatch(first.name):
        rows = sum(part.shape[0] for part in parts)
        spec, places = spec_text([np.broadcast_to(np.zeros((), first.dtype), (rows, *first.shape[1:]))]), _shards(parts)
        about = f"cut into {len(parts)} shards"
        return DrawnVariable(whole_name(first.name), spec, about, Kind.SHARDS, places)
    if getattr(first, "own_copies", False):
        read = {"SUM": "their sum", "MEAN": "their mean", "ONLY_FIRST_REPLICA": "that of the first"}
        about = f"ON_READ: each replica has its own, read as {read.get(first.aggregation.name, 'that of the first')}"
        return DrawnVariable(name, spec, about, Kind.OWN, {})
    count = strategy.num_replicas_in_sync
    if len(first.all_copies) == 1 and strategy.extended.plan.workers == 1:
        about = f"one copy{combined}" if count > 1 else "one copy"
        return DrawnVariable(name, spec, about, Kind.SINGLE, {first.all_copies[0].device: ["the copy"]})
    return DrawnVariable(name, spec, f"mirrored: {count:,} equal copies{combined}", Kind.EQUAL, {})


def whole_name(name: str) -> str:
    """The name of a variable without what tells its shards apart.

    >>> whole_name("table/part_1:0"), whole_name("w:0")
    ('table', 'w')
    """
    shard = _SHARD.fullmatch(name)
    return name.removesuffix(":0") if shard is None else shard[1]


_COMBINED = {
    VariableAggregation.NONE: "",
    VariableAggregation.SUM: ", writes are summed",
    VariableAggregation.MEAN: ", writes are averaged",
    VariableAggregation.ONLY_FIRST_REPLICA: ", replica 0 writes",
}


def _shards(parts: Sequence[Variable]) -> dict[str, list[str]]:
    places, row = dict[str, list[str]](), 0
    for part in parts:
        end = row + part.shape[0]
        places.setdefault(part.device, []).append(f"rows {row}-{end - 1}" if end - row > 1 else f"row {row}")
        row = end
    return places


def spec_text(tensors: Iterable[Any]) -> str:
    """Shapes and dtypes, and how many bytes that is.

    >>> spec_text([np.zeros([3, 4], np.float32), np.zeros([], np.int64)])
    'float32[3,4], int64[], 56 B'
    """
    found = list(tensors)
    names = [f"{dtype_name(one.dtype)}[{','.join(map(str, one.shape))}]" for one in found]
    shown = names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} more"]
    return f"{', '.join(shown)}, {size_text(sum(map(byte_count, found)))}" if names else ""


def byte_count(tensor: Any) -> int:
    """How many bytes a tensor of any backend has."""
    return math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize


def size_text(size: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> size_text(48), size_text(4096), size_text(1.5e9)
    ('48 B', '4.10 kB', '1.50 GB')
    """
    scale, unit = next(((scale, unit) for scale, unit in _UNITS if size >= scale), (1, "B"))
    return f"{size:.0f} B" if unit == "B" else f"{f'{size / scale:#.3g}'.rstrip('.')} {unit}"

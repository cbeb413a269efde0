"""The catalogue: every documented behavior of the API, one entry each, in one file per area.

The fields of an entry:

- `id`: the area and a number; `title`: a few words; `statement`: the promise, one sentence that could be false.
- `observe`: how to see it. N=k is a strategy with k replicas on one worker (Mirrored over k devices unless another
  class is named); W=k is k workers; a per-replica value is written as the tuple of its components; s is the
  strategy, pr a per-replica value, local_results is experimental_local_results. "type not named" means that the
  pages promise a failure without naming the exception; "upstream convention" marks a detail that is not on the pages.
- `sources`: page and section. A section is meta (description line and list of methods), overview, Args, Attributes,
  a method, or a part of a method such as run.Returns. A page starts with a number; `PAGES` names the classes.
- `applies_to`: the kinds of strategy that promise it.
- `level`: must = a promise, error = a documented failure or restriction, example = the outcome of a documented
  example, advice = a recommendation or caveat.
- `conflicts_with`: entries that another page words differently; the relation is symmetric.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

AREAS = {
    "ATTR": "Attributes and methods",
    "SCOPE": "Scopes",
    "CTX": "Replica and cross-replica contexts",
    "VAR": "Variables",
    "RUN": "run",
    "FUNC": "tf.function",
    "REDUCE": "reduce",
    "LOCAL": "Local results",
    "VALUES": "Distributed values",
    "DATASET": "Distributed datasets",
    "DATAFN": "Datasets from functions",
    "NUMPY": "Datasets from numpy",
    "ITER": "Iterators of v1",
    "V1RUN": "experimental_run of v1",
    "CONFIG": "update_config_proto",
    "LOGICAL": "Logical devices",
    "CLUSTER": "Cluster resolvers",
    "ONE": "OneDeviceStrategy",
    "MIRROR": "MirroredStrategy",
    "CENTRAL": "CentralStorageStrategy",
    "KERAS": "Keras",
    "DEVICE": "Device names",
}
"""What each area is about, in the order of the catalogue."""
PAGES = {
    "000": "tf.compat.v1.distribute.OneDeviceStrategy (2.2)",
    "001": "tf.distribute.Strategy (2.3)",
    "002": "tf.distribute.OneDeviceStrategy (2.2)",
    "003": "tf.compat.v1.distribute.MirroredStrategy (2.2)",
    "004": "tf.compat.v1.distribute.experimental.CentralStorageStrategy (2.4)",
}
"""The class, and the release, that the page of this number documents."""
LEVELS = ("must", "error", "example", "advice")
KINDS = (
    "Strategy",
    "Default",
    "OneDevice",
    "OneDevice.v1",
    "Mirrored",
    "Mirrored.v1",
    "CentralStorage",
    "CentralStorage.v1",
    "MultiWorkerMirrored",
    "TPU",
    "ParameterServer",
)


@dataclass(frozen=True, slots=True)
class Behavior:
    """One documented sentence that an implementation keeps or does not keep."""

    id: str
    area: str
    title: str
    statement: str
    observe: str
    sources: tuple[str, ...]
    applies_to: tuple[str, ...]
    level: str
    conflicts_with: tuple[str, ...]


class CatalogueError(ValueError):
    """A catalogue file breaks one of the rules of the catalogue."""


@cache
def load() -> Mapping[str, Behavior]:
    """Read the packaged catalogue: the behaviors by id, in the order of `AREAS`."""
    return parse({area: _text(area) for area in AREAS})


def behavior(id: str) -> Behavior:
    """Read one behavior, and of the catalogue no more than its area: a process that runs a few cases starts sooner.

    >>> behavior("RUN-01").area
    'RUN'
    """
    return _area(id.rpartition("-")[0])[id]


def parse(texts: Mapping[str, str]) -> Mapping[str, Behavior]:
    """Make the catalogue of TOML texts by area, and check all rules."""
    behaviors: dict[str, Behavior] = {}
    for area, text in texts.items():
        for behavior in _entries(area, text):
            if behavior.id in behaviors:
                raise CatalogueError(
                    f"{area.lower()}.toml has {behavior.id} a second time; expected each id once. "
                    f"Give the second entry the next free number."
                )
            behaviors[behavior.id] = behavior
    _require_symmetric_conflicts(behaviors)
    return MappingProxyType(behaviors)


@cache
def _area(area: str) -> Mapping[str, Behavior]:
    return {behavior.id: behavior for behavior in _entries(area, _text(area))}


def _text(area: str) -> str:
    return (resources.files(__name__) / f"{area.lower()}.toml").read_text(encoding="utf-8")


_REQUIRED = frozenset({"id", "title", "statement", "observe", "sources", "applies_to", "level"})
_OPTIONAL = frozenset({"conflicts_with"})


def _entries(area: str, text: str) -> Iterator[Behavior]:
    """Yield the entries of one file, each checked by itself."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(
            f"{area.lower()}.toml is not TOML ({error}); expected [[behavior]] tables. Mend the file at that place."
        ) from error
    for entry in document.get("behavior", []):
        yield _behavior(area, entry)


def _behavior(area: str, entry: Mapping[str, Any]) -> Behavior:
    """Make one behavior of one table."""
    file = f"{area.lower()}.toml"
    id = str(entry.get("id", "an entry without id"))
    missing, unknown = _REQUIRED - entry.keys(), entry.keys() - _REQUIRED - _OPTIONAL
    if missing or unknown:
        raise CatalogueError(
            f"{file}: {id} has the fields {sorted(entry)}; expected {sorted(_REQUIRED)}, and conflicts_with if needed. "
            f"Add {sorted(missing)}, remove {sorted(unknown)}."
        )
    prefix, _, number = id.rpartition("-")
    if prefix != area or not number.isdigit():
        raise CatalogueError(
            f"{file} has the id {id!r}; expected {area}- and a number. "
            f"Change the id, or move the entry to the file of its area."
        )
    _require_known(f"{file}: {id} has the level", [entry["level"]], LEVELS)
    _require_known(f"{file}: {id} applies to", entry["applies_to"], KINDS)
    return Behavior(
        id=id,
        area=area,
        title=entry["title"],
        statement=entry["statement"],
        observe=entry["observe"],
        sources=tuple(entry["sources"]),
        applies_to=tuple(entry["applies_to"]),
        level=entry["level"],
        conflicts_with=tuple(entry.get("conflicts_with", ())),
    )


def _require_known(what: str, given: list[str], known: tuple[str, ...]) -> None:
    """Refuse words that are not in a closed list."""
    for word in given:
        if word not in known:
            raise CatalogueError(f"{what} {word!r}; expected one of {', '.join(known)}. Correct the spelling.")


def _require_symmetric_conflicts(behaviors: Mapping[str, Behavior]) -> None:
    """Refuse conflicts with entries that do not exist or do not say the same in return."""
    for behavior in behaviors.values():
        for other in behavior.conflicts_with:
            if other not in behaviors:
                raise CatalogueError(
                    f"{behavior.id} conflicts with {other!r}; expected the id of an entry. Correct or remove it."
                )
            if behavior.id not in behaviors[other].conflicts_with:
                raise CatalogueError(
                    f"{behavior.id} conflicts with {other}, but {other} does not name {behavior.id}; "
                    f"expected both to name each other. Add {behavior.id} to conflicts_with of {other}."
                )

"""The implementations that can be checked: how to open each, and what it has."""

import importlib
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from importlib import metadata
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, cast

from conformance.catalogue import KINDS, load

LOCAL_KINDS = frozenset(
    {"Default", "OneDevice", "OneDevice.v1", "Mirrored", "Mirrored.v1", "CentralStorage", "CentralStorage.v1"}
)
"""The kinds of strategy that work within one machine."""

FEATURES = frozenset(
    {
        "core",
        "checkpoint",
        "data",
        "function",
        "tpu",
        "multi_worker",
        "parameter_server",
        "keras",
        "v1_iterators",
        "v1_graph",
        "config_proto",
        "logical_devices",
    }
)
"""Every word that a check may name in its needs; an implementation has some of them."""


FEATURES_BUILT = frozenset(
    {
        "core",
        "checkpoint",
        "data",
        "v1_iterators",
        "config_proto",
        "multi_worker",
        "v1_graph",
        "function" if find_spec("jax") else "core",
        "tpu",
        "logical_devices",
        "parameter_server",
        "keras" if find_spec("keras") and find_spec("jax") else "core",
    }
)
"""What refdist has on all its backends."""

INSTALLABLE = MappingProxyType({"function": "pip install 'refdist[jax]'", "keras": "pip install 'refdist[keras]'"})
"""How to get the features that refdist has only with further packages."""

KINDS_BUILT = LOCAL_KINDS | {"TPU", "ParameterServer", "MultiWorkerMirrored"}
"""The kinds of strategy that refdist has on all its backends, and that a single program can use."""


def stages_of(distributed: Any) -> list[str]:
    """Return what refdist did to a dataset to distribute it."""
    return importlib.import_module("refdist.testing").stages_of(distributed)


def pieces_of(tensor: Any) -> list[tuple[str, Any]]:
    """Return which part of a tensor of refdist lies on which device."""
    return list(importlib.import_module("refdist").logical_pieces(tensor))


def run_workers(count: int, program: Callable[[int], Any]) -> list[Any]:
    """Run a program on each worker of a cluster of refdist, all in this process."""
    return importlib.import_module("refdist").cluster.run_workers(program, count)


def _no_variables() -> Mapping[str, str]:
    return MappingProxyType({})


def _attribute(value: Any) -> str:
    """Return the device that a tensor names itself."""
    return str(value.device)


@dataclass(frozen=True)
class Description:
    """What a runner has to know of an implementation; a process that has imported it can tell."""

    name: str
    features: frozenset[str]
    installable: Mapping[str, str]
    environment: Mapping[str, str]
    parallel: bool
    variant_of: str = ""
    package: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
        return {
            "name": self.name,
            "features": sorted(self.features),
            "installable": dict(self.installable),
            "environment": dict(self.environment),
            "parallel": self.parallel,
            "variant_of": self.variant_of,
            "package": self.package,
        }

    @classmethod
    def from_dict(cls, values: Any) -> "Description":
        """Make a description of untrusted plain values, or raise a ValueError."""
        if not isinstance(values, dict):
            raise ValueError("expected the description of an implementation")
        given = cast("dict[str, Any]", values)
        features = given.get("features")
        if not isinstance(features, list) or not _are_texts(features):
            raise ValueError("expected a list of features in a description")
        for name in ("installable", "environment"):
            if not isinstance(given.get(name), dict) or not _are_texts(given[name].values()):
                raise ValueError(f"expected texts by name as {name} in a description")
        if not isinstance(given.get("name"), str) or not isinstance(given.get("parallel"), bool):
            raise ValueError("expected a name, and whether several processes can be used, in a description")
        if not isinstance(given.get("variant_of"), str):
            raise ValueError("expected the name of an implementation, or an empty text, as variant_of in a description")
        if not isinstance(given.get("package"), str):
            raise ValueError("expected the name of a package in a description")
        settings = (
            given["installable"],
            given["environment"],
            given["parallel"],
            given["variant_of"],
            given["package"],
        )
        return cls(given["name"], frozenset(features), *settings)


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


@dataclass(frozen=True)
class Implementation:
    """One implementation of the documented API.

    A module that defines one must be quick to import: what takes time belongs in `open`.
    """

    name: str
    open: Callable[[], Any]
    """Makes the implementation ready, and returns the namespace that has the documented shape."""
    kinds: frozenset[str]
    """The kinds of strategy it has."""
    features: frozenset[str]
    gpus: int = 8
    cpus: int = 1
    tpus: int = 0
    machine: Callable[[int, int, int], AbstractContextManager[Any]] | None = None
    """Takes counts of GPUs, CPUs and TPU cores, and returns a context in which there are exactly these."""
    why_no_machine: str = "the devices cannot be chosen"
    device: Callable[[Any], str] = _attribute
    """Returns the full device string of a tensor or a variable."""
    workers: Callable[[int, int, Callable[[int], Any]], list[Any]] | None = None
    """Takes the number of workers, the number of replicas on each, and a program, which it calls on each worker with its number."""
    stages: Callable[[Any], list[str]] | None = None
    """Returns what was done to a dataset to distribute it."""
    pieces: Callable[[Any], list[tuple[str, Any]]] | None = None
    """Returns the device and the value of each part of a tensor that is laid out over logical devices."""
    divergences: Mapping[str, str] = field(default_factory=_no_variables)
    """The reason why a behavior is not kept, by id, or by id and replica count: "RUN-03@2"."""
    parallel: bool = True
    """Whether several processes can use it at the same time."""
    installable: Mapping[str, str] = field(default_factory=_no_variables)
    """How to get features that are not there because a package is missing."""
    environment: Mapping[str, str] = field(default_factory=_no_variables)
    """What the process that runs the checks needs in its environment."""
    isolate: bool = False
    """Whether each case needs its own process: a fork of the one that has opened the implementation."""
    variant_of: str = ""
    """The implementation from which it differs only in how it runs several workers; checks that run none say nothing new."""
    package: str = ""
    """The package that is certified, whose version and commit a report records; if empty, that of the module of this object."""

    @property
    def description(self) -> Description:
        """What a runner has to know of it."""
        settings = (self.installable, self.environment, self.parallel, self.variant_of, self.package)
        return Description(self.name, self.features, *settings)

    @property
    def accelerator(self) -> str:
        """The type of the devices that replicas use."""
        return "GPU" if self.gpus else "CPU"

    def divergence(self, id: str, replicas: int) -> str | None:
        """Return the reason why a case is declared to diverge, or None."""
        return self.divergences.get(f"{id}@{replicas}", self.divergences.get(id))


class UsageError(Exception):
    """Something was asked for that cannot be done; the text says what was expected."""


class UnknownName(UsageError, LookupError):
    """There is no implementation, area or behavior of this name."""


class BrokenModule(Exception):
    """A module exists but fails while it is imported; the text says where."""


NAMES = ("host", "simulator", "jax", "jax-processes", "tensorflow")


GROUP = "refdist.implementations"
"""The group of entry points in which an installed package names its implementations."""


def origins() -> dict[str, str]:
    """Return the place of the object of each implementation that has a name: ours, then those of installed packages."""
    ours = {name: _place_of_ours(name) for name in NAMES}
    installed = {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)}
    return ours | {name: installed[name] for name in sorted(installed.keys() - ours.keys())}


def _place_of_ours(name: str) -> str:
    module = name.replace("-", "_")
    return f"{__name__}.{module}:{module}"


def place_of(name: str) -> str:
    """Return the place of the object of an implementation, which may itself be the name: "package.module:object"."""
    if name in NAMES:
        return _place_of_ours(name)
    known = origins()  # reads what every installed package says of itself, which takes 10 ms
    if name not in known and ":" not in name:
        raise UnknownName(
            f"got the implementation {name!r}; expected one of {', '.join(known)}, or package.module:object. "
            f"Correct the spelling, or install the package that has it."
        )
    return known.get(name, name)


def find(name: str) -> Implementation:
    """Import an implementation, and return it, by its name, or by the place of the object: "package.module:object".

    The place is then its name, so that a result says how to run it again. Importing a module can do
    anything; `conformance.describing.describe` imports it in a separate process.
    """
    place = place_of(name)
    found = locate(place, Implementation)
    found = replace(found, name=name, package=found.package or place.partition(":")[0].partition(".")[0])
    _require_known(name, "kinds", found.kinds, KINDS)
    _require_known(name, "features", found.features, FEATURES)
    if found.divergences:  # reading the catalogue takes as long as importing most implementations
        _require_known(name, "divergences", {case.partition("@")[0] for case in found.divergences}, load())
    return found


def _require_known(name: str, field: str, words: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a word that no check knows: it would silently select nothing."""
    unknown = sorted(set(words) - set(known))
    if unknown:
        expected = "ids of behaviors" if field == "divergences" else f"words of {', '.join(sorted(known))}"
        raise UsageError(
            f"got {', '.join(map(repr, unknown))} among the {field} of {name}; expected {expected}. Correct the spelling."
        )


def locate(place: str, kind: type[Any]) -> Any:
    """Import the object at "package.module:object", which must be of this kind."""
    module, _, name = place.partition(":")
    try:
        found: object = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownName(
            f"got {place!r}, which cannot be imported ({error}); expected package.module:object. "
            f"Correct the spelling, or add the folder of the package to PYTHONPATH."
        ) from error
    except (Exception, SystemExit) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise BrokenModule(
            f"got {place!r}, whose module fails while it is imported ({type(error).__name__}: {error}, at "
            f"{frame.filename}:{frame.lineno}); expected to find an object there. Mend the module."
        ) from error
    if not isinstance(found, kind):
        raise UnknownName(
            f"got {place!r}, which is of type {type(found).__name__}; expected {kind.__name__}. Name another object."
        )
    return cast("Any", found)

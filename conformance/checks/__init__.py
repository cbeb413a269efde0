"""The checks: one function per behavior, in one module per area, written only in documented names."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from conformance.dependencies import prerequisites
from conformance.registry import Registry
from conformance.world import World

CheckFunction = Callable[[World], None]


@dataclass(frozen=True, slots=True)
class Check:
    """How to see whether an implementation keeps one behavior."""

    id: str
    replicas: tuple[int, ...]
    needs: frozenset[str]
    function: CheckFunction
    uses: frozenset[str] = frozenset()
    """The features that it uses where there are any, and can do without."""
    after: tuple[str, ...] = ()
    """The behaviors without which it is not worth running."""
    law: CheckFunction | None = None
    """What is run after the function in deep mode."""


_registry: Registry[Check] = Registry("check", __name__)


def check(
    id: str, *, replicas: Iterable[int] = (1, 2, 3, 8), needs: Iterable[str] = (), uses: Iterable[str] = ()
) -> Callable[[CheckFunction], CheckFunction]:
    """Register a function as the check of a behavior.

    Args:
        replicas: the replica counts it runs with, one case each.
        needs: the features without which it cannot run, for example "data".
        uses: the features that it uses where there are any, for example "multi_worker" for `world.on_two_workers`.
    """
    counts = tuple(replicas)
    if not counts or min(counts) < 1 or len(set(counts)) != len(counts):
        raise ValueError(
            f"check({id!r}) got replicas={counts}; expected one or more different counts from 1 upwards. "
            f"Write for example replicas=(1, 2)."
        )
    for name, words in (("needs", needs), ("uses", uses)):
        if isinstance(words, str):
            raise TypeError(
                f"check({id!r}) got {name}={words!r}; expected several names of features. Write {name}=({words!r},)."
            )
    features, optional = frozenset(needs), frozenset(uses)

    def register(function: CheckFunction) -> CheckFunction:
        _registry.add(Check(id, counts, features, function, optional, prerequisites(id)))
        return function

    return register


def checks() -> Mapping[str, Check]:
    """Import every module of this package, and return all checks by id."""
    return _registry.load()

"""The laws of deep mode: what must hold for every shape, type and number, tried with values drawn at random.

A law belongs to a behavior, as its check does, and runs after the check with the same world. The modules of this
package need hypothesis, so they are loaded in deep mode only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol

from conformance.checks import CheckFunction
from conformance.registry import Registry
from conformance.world import World

EXAMPLES = 25
"""How many times a law is tried with each replica count."""


class Draw(Protocol):
    """Draws a value and records it under its name, to be shown if the law fails."""

    def __call__(self, name: str, generator: Any) -> Any: ...


LawFunction = Callable[[World, Draw], None]


@dataclass(frozen=True, slots=True)
class Law:
    """What must hold for all values."""

    id: str
    function: LawFunction

    def bound(self, seed: int) -> CheckFunction:
        """Return a function that tries the law in a world, with values drawn from the seed."""

        @wraps(self.function)
        def tried(world: World) -> None:
            _try(self.function, world, seed)

        return tried


_registry: Registry[Law] = Registry("law", __name__)


def deep(id: str) -> Callable[[LawFunction], LawFunction]:
    """Register a function as a law of a behavior."""

    def register(function: LawFunction) -> LawFunction:
        _registry.add(Law(id, function))
        return function

    return register


def laws() -> Mapping[str, Law]:
    """Import every module of this package, and return all laws by id."""
    return _registry.load()


def _try(law: LawFunction, world: World, seed: int) -> None:
    """Try a law with drawn values, and raise its error for the simplest values for which it does not hold."""
    import hypothesis
    from hypothesis import strategies as generators

    drawn: dict[str, Any] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=(hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    )
    @hypothesis.given(generators.data())
    def tried(data: Any) -> None:
        drawn.clear()

        def draw(name: str, generator: Any) -> Any:
            drawn[name] = data.draw(generator)
            return drawn[name]

        law(world, draw)

    try:
        tried()
    except AssertionError as error:
        # The last try was with the simplest values, so these are the recorded ones.
        values = ", ".join(f"{name}={value!r}" for name, value in drawn.items())
        raise AssertionError(f"{error}\nwith seed {seed}: {values}").with_traceback(error.__traceback__) from None

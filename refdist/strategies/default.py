"""The strategy that is current outside all scopes, and does nothing special."""

import weakref

from refdist.backend import Backend, current, host_device
from refdist.collectives import ReductionToOneDevice
from refdist.extended import StrategyExtended
from refdist.plan import Placement, Plan
from refdist.strategy import Strategy

# One for each backend, so that the default strategy stays the same object while the backend does.
_made: "weakref.WeakKeyDictionary[Backend, DefaultStrategy]" = weakref.WeakKeyDictionary()


class DefaultStrategy(Strategy):
    """Run everything once, where it is called."""


def default_strategy() -> DefaultStrategy:
    """The default strategy of the backend in use."""
    backend = current()
    made = _made.get(backend)
    if made is None:
        host = host_device(backend)
        plan = Plan("default", backend, (host,), (host,), Placement.PLAIN, ReductionToOneDevice())
        made = _made[backend] = DefaultStrategy(StrategyExtended(plan))
    return made

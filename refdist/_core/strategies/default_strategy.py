"""The strategy that is current outside all scopes, and does nothing special."""

from refdist._core.backends.choosing import current
from refdist._core.seam.backend import host_device
from refdist._core.strategies.cross_device_ops import ReductionToOneDevice
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import Strategy
from refdist._core.variables.placement import Placement


class DefaultStrategy(Strategy):
    """Run everything once, where it is called."""


def default_strategy() -> DefaultStrategy:
    """The default strategy of the backend in use."""
    backend = current()
    made: DefaultStrategy | None = getattr(backend, "default_strategy", None)
    if made is None:
        host = host_device(backend)
        plan = Plan("default", backend, (host,), (host,), Placement.PLAIN, ReductionToOneDevice())
        made = DefaultStrategy(EagerExtended(plan))
        # Kept with the backend, so that it is the same object for as long as the backend lives, and no longer.
        backend.default_strategy = made  # pyright: ignore[reportAttributeAccessIssue]
    return made

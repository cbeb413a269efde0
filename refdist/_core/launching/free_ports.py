"""Ports of this machine that nobody uses."""

import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

LOOPBACK = "127.0.0.1"


@contextmanager
def reserved_addresses(count: int) -> Generator[list[str]]:
    """Yield addresses on loopback that are free; until the end of the block, nobody else gets them.

    >>> with reserved_addresses(2) as (one, other):
    ...     one != other and one.startswith("127.0.0.1:")
    True
    """
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            # It never listens or connects, so the port is free again as soon as it is closed.
            each.bind((LOOPBACK, 0))
        yield [f"{LOOPBACK}:{each.getsockname()[1]}" for each in sockets]

"""The coordination service of JAX, hosted outside of the workers: the only file of the launcher that knows jaxlib."""

import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from refdist._core.launching.free_ports import LOOPBACK

# The watch of the workers and the launcher decide who is lost, and they say why; the service would only abort everybody.
HEARTBEAT_SECONDS = 10**7


@contextmanager
def coordination_service(workers: int) -> Generator[str]:
    """Host the service that the workers meet at, on loopback only, and yield its address.

    The port stays reserved while the service lives: gRPC shares a port, so nobody else can take it in between. That matters,
    since jaxlib crashes if it cannot have its port.
    """
    with socket.socket() as reservation:
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reservation.bind((LOOPBACK, 0))
        address = f"{LOOPBACK}:{reservation.getsockname()[1]}"
        with _quiet_log():
            service = _maker()(address, workers, heartbeat_timeout=HEARTBEAT_SECONDS)
        try:
            yield address
        finally:
            service.shutdown()


def _maker() -> Callable[..., Any]:
    """Find what makes a service; it is no public name of jaxlib, so another version may have it elsewhere."""
    try:
        return import_module("jaxlib._jax").get_distributed_runtime_service
    except (ImportError, AttributeError) as error:
        raise RuntimeError(
            f"refdist launch found no coordination service in jaxlib {version('jaxlib')}: {error}; expected "
            f"jaxlib._jax.get_distributed_runtime_service, as in jaxlib 0.10. Install that version: pip install 'jaxlib~=0.10'."
        ) from error


@contextmanager
def _quiet_log() -> Generator[None]:
    """Let jaxlib log errors only, in this process: it reads the setting when it is loaded, and workers do not inherit it."""
    name = "TF_CPP_MIN_LOG_LEVEL"
    before = os.environ.get(name)
    os.environ.setdefault(name, "2")
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]

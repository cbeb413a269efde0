"""What is asked of JAX's private parts: to connect the processes of a cluster."""

from typing import Any

import jax
import jax._src.lib as runtime
from jax._src.distributed import global_state

_STATE: Any = global_state
_RUNTIME: Any = vars(runtime)["_jax"]
_NEVER = 10**7  # seconds: JAX ends a process that waits longer, and our own watch is to raise an error instead


class Connection:
    """This process's place at the coordination service of a cluster, which keeps small texts under names."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def put(self, name: str, value: bytes, *, again: bool = False) -> bool:
        """Keep a value under a name; say whether nobody has done so before. `again` replaces it."""
        try:
            self._client.key_value_set_bytes(name, value, allow_overwrite=again)
        except jax.errors.JaxRuntimeError as error:
            if "ALREADY_EXISTS" in str(error):
                return False
            raise
        return True

    def wait_for(self, name: str, seconds: float) -> bytes | None:
        """What is kept under a name, as soon as it is there; None if it does not come in time."""
        try:
            return self._client.blocking_key_value_get_bytes(name, max(1, int(seconds * 1000)))
        except jax.errors.JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" in str(error):
                return None
            raise

    def look(self, name: str) -> bytes | None:
        """What is kept under a name; None if there is nothing."""
        try:
            return self._client.key_value_try_get_bytes(name)
        except jax.errors.JaxRuntimeError as error:
            if "NOT_FOUND" in str(error):
                return None
            raise

    def look_below(self, name: str) -> dict[str, bytes]:
        """What is kept under the names that begin with this one, by the rest of them."""
        found: list[tuple[str, bytes]] = self._client.key_value_dir_get_bytes(name)
        return {key.removeprefix(name): value for key, value in found}

    def forget(self, name: str) -> None:
        """Keep nothing under a name any more."""
        self._client.key_value_delete(name)


def connect(coordinator: str, count: int, index: int, *, bind: str | None) -> Connection:
    """Come together with the other processes of a cluster; returns when all are there.

    Args:
        coordinator: where the coordination service is.
        bind: where this process offers that service; None where another one does.
    """
    if bind is not None:
        _STATE.service = _RUNTIME.get_distributed_runtime_service(
            bind, count, heartbeat_timeout=_NEVER, cluster_register_timeout=_NEVER, shutdown_timeout=_NEVER
        )
    # Without `shutdown_on_destruction`, a process can end while others go on, or after they have died.
    client = _RUNTIME.get_distributed_runtime_client(
        coordinator,
        index,
        init_timeout=_NEVER,
        heartbeat_timeout=_NEVER,
        shutdown_on_destruction=False,
        use_compression=True,
    )
    client.connect()
    _STATE.coordinator_address, _STATE.num_processes, _STATE.process_id = coordinator, count, index
    _STATE.client = client
    return Connection(client)

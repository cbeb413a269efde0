"""Plain data that users give to the API, or get from it."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class RunOptions:
    """Settings for `Strategy.run`; they steer compilers, so eager results never depend on them."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class CommunicationOptions:
    """Hints for a cross-device reduction; results never depend on them."""

    bytes_per_pack: int = 0
    timeout_seconds: float | None = None
    implementation: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class ValueContext:
    """Tells a value function for which replica it makes a value.

    >>> ValueContext(replica_id_in_sync_group=1, num_replicas_in_sync=4).replica_id_in_sync_group
    1
    """

    replica_id_in_sync_group: int = 0
    num_replicas_in_sync: int = 1

    @property
    def replica_id(self) -> int:
        """The same number under the name that the r2.2 page uses in an example."""
        return self.replica_id_in_sync_group

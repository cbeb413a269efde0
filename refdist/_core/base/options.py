"""Plain data that users pass to the API, or get from it."""

import dataclasses
from typing import Any

from refdist._core.base.enums import CommunicationImplementation, InputReplicationMode


@dataclasses.dataclass(frozen=True, slots=True)
class RunOptions:
    """Settings for `Strategy.run`; they steer compilers, so eager results never depend on them."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class CommunicationOptions:
    """Hints on how replicas exchange their values; results never depend on them.

    >>> CommunicationOptions(implementation="nccl").implementation
    <CommunicationImplementation.NCCL: 'NCCL'>
    """

    bytes_per_pack: int = 0
    timeout_seconds: float | None = None
    implementation: CommunicationImplementation | str = CommunicationImplementation.AUTO

    def __post_init__(self) -> None:
        if self.bytes_per_pack < 0:
            raise ValueError(
                f"CommunicationOptions() got bytes_per_pack={self.bytes_per_pack}; expected 0 or more. Leave it out, and the "
                f"size is chosen for you."
            )
        known = CommunicationImplementation.__members__
        if isinstance(self.implementation, str):
            if self.implementation.upper() not in known:
                raise ValueError(
                    f"CommunicationOptions() got implementation={self.implementation!r}; expected one of {', '.join(known)}. Use "
                    f"one of these members of tf.distribute.experimental.CommunicationImplementation."
                )
            object.__setattr__(self, "implementation", known[self.implementation.upper()])


@dataclasses.dataclass(frozen=True, slots=True)
class ValueContext:
    """Tells a value function which replica it makes a value for.

    >>> ValueContext(replica_id_in_sync_group=1, num_replicas_in_sync=4).replica_id_in_sync_group
    1
    """

    replica_id_in_sync_group: int = 0
    num_replicas_in_sync: int = 1

    @property
    def replica_id(self) -> int:
        """The same number, under the name that the r2.2 documentation uses in an example."""
        return self.replica_id_in_sync_group


@dataclasses.dataclass(frozen=True, slots=True)
class InputOptions:
    """How the elements of a distributed dataset reach the replicas."""

    experimental_fetch_to_device: bool | None = None
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class InputContext:
    """Tells a dataset function which input pipeline it makes a dataset for.

    >>> InputContext(num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=4).get_per_replica_batch_size(8)
    2
    """

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Divide a global batch size by the number of replicas."""
        count = self.num_replicas_in_sync
        if global_batch_size % count:
            nearest = -(-global_batch_size // count) * count
            raise ValueError(
                f"get_per_replica_batch_size() got global_batch_size={global_batch_size}; expected a multiple of the {count} "
                f"replicas in sync. Use {nearest}, or batch per replica in your dataset function."
            )
        return global_batch_size // count

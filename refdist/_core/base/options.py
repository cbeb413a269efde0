"""Plain data that users pass to the API, or get from it."""

import dataclasses
import warnings
from typing import Any, Never

import numpy as np

from refdist._core.base.enums import CommunicationImplementation, InputReplicationMode


@dataclasses.dataclass(frozen=True, slots=True)
class RunOptions:
    """Settings for `Strategy.run`; they steer compilers, so eager results never depend on them."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None

    def __post_init__(self) -> None:
        for name in ("experimental_enable_dynamic_batch_size", "experimental_bucketizing_dynamic_shape"):
            _require(self, name, _FLAG, "True or False")


@dataclasses.dataclass(frozen=True, slots=True)
class CommunicationOptions:
    """Hints on how replicas exchange their values; results differ at most in the order in which floats are added up.

    >>> CommunicationOptions(implementation="nccl").implementation
    <CommunicationImplementation.NCCL: 'NCCL'>

    Args:
        bytes_per_pack: tensors that are reduced together are exchanged in packs of about so many bytes; by default each alone.
        timeout_seconds: how long workers in processes of their own wait for an exchange; None and 0 set no limit.
        implementation: the algorithm of MultiWorkerMirroredStrategy on a simulated cluster.
    """

    bytes_per_pack: float = 0
    timeout_seconds: float | None = None
    implementation: CommunicationImplementation | str = CommunicationImplementation.AUTO

    def __post_init__(self) -> None:
        _require_number("bytes_per_pack", self.bytes_per_pack, "Leave it out, and each tensor is exchanged alone.")
        if self.timeout_seconds is not None:
            _require_number("timeout_seconds", self.timeout_seconds, "Leave it out, and there is no limit.")
        given, known = self.implementation, CommunicationImplementation.__members__
        found = known.get(given.upper()) if isinstance(given, str) else given
        if not isinstance(found, CommunicationImplementation):
            raise ValueError(
                f"CommunicationOptions() got implementation={given!r}; expected one of {', '.join(known)}. Use one of these "
                f"members of tf.distribute.experimental.CommunicationImplementation."
            )
        object.__setattr__(self, "implementation", found)

    def merge(self, options: "CommunicationOptions | None") -> "CommunicationOptions":
        """These options, except where the others say something else than the default.

        >>> CommunicationOptions(8, implementation="ring").merge(CommunicationOptions(4, timeout_seconds=1.0)).bytes_per_pack
        4
        """
        if options is None or options is self:
            return self
        said = {name: value for name, value in dataclasses.asdict(options).items() if value != getattr(NO_HINTS, name)}
        return dataclasses.replace(self, **said)


class CollectiveHints:
    """The deprecated name of CommunicationOptions, which make no mention of an implementation."""

    def __new__(cls, bytes_per_pack: float = 0, timeout_seconds: float | None = None) -> CommunicationOptions:
        """Make options of hints."""
        warnings.warn(
            "tf.distribute.experimental.CollectiveHints is deprecated; use tf.distribute.experimental.CommunicationOptions.",
            DeprecationWarning,
            stacklevel=2,
        )
        return CommunicationOptions(bytes_per_pack, timeout_seconds)


def require_communication(options: Any, what: str) -> None:
    """Raise unless options are those of an exchange, or left out."""
    if options is not None and not isinstance(options, CommunicationOptions):
        raise TypeError(
            f"{what} got options={options!r}, a {type(options).__name__}; expected tf.distribute.experimental."
            f"CommunicationOptions. Write options=CommunicationOptions(bytes_per_pack=...), or leave it out."
        )


_NUMBER = int, float, np.integer, np.floating
_FLAG = bool, np.bool_, int, type(None)


def _require(options: Any, name: str, kinds: tuple[type, ...], expected: str) -> None:
    given = getattr(options, name)
    if not isinstance(given, kinds):
        raise TypeError(
            f"{type(options).__name__}() got {name}={given!r}, a {type(given).__name__}; expected {expected}. Leave it out, or "
            f"correct it."
        )


def _require_number(name: str, given: Any, otherwise: str) -> None:
    if not isinstance(given, _NUMBER) or isinstance(given, bool):
        raise TypeError(
            f"CommunicationOptions() got {name}={given!r}; expected a number that is not negative. {otherwise}"
        )
    if not given >= 0:
        raise ValueError(f"CommunicationOptions() got {name}={given!r}; expected 0 or more. {otherwise}")


NO_HINTS = CommunicationOptions()


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

    def __post_init__(self) -> None:
        for name in ("experimental_fetch_to_device", "experimental_place_dataset_on_device"):
            _require(self, name, _FLAG, "True or False")
        _require(self, "experimental_replication_mode", (InputReplicationMode, type(None)), "an InputReplicationMode")
        _require(self, "experimental_per_replica_buffer_size", (*_NUMBER, type(None)), "a number")


@dataclasses.dataclass(frozen=True, slots=True)
class InputContext:
    """Tells a dataset function which input pipeline it makes a dataset for.

    >>> InputContext(num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=4).get_per_replica_batch_size(8)
    2
    """

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def __post_init__(self) -> None:
        for name in ("num_input_pipelines", "input_pipeline_id", "num_replicas_in_sync"):
            if not hasattr(getattr(self, name), "__index__"):  # which tensors have
                _require(self, name, _NUMBER, "a number")

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Divide a global batch size by the number of replicas."""
        count = self.num_replicas_in_sync
        try:
            rest = global_batch_size % count
        except TypeError as error:
            raise TypeError(
                f"get_per_replica_batch_size() got global_batch_size={global_batch_size!r}; expected a number, of all rows of a "
                f"batch. Pass an int."
            ) from error
        if rest:
            nearest = -(-global_batch_size // count) * count
            raise ValueError(
                f"get_per_replica_batch_size() got global_batch_size={global_batch_size}; expected a multiple of the {count} "
                f"replicas in sync. Use {nearest}, or batch per replica in your dataset function."
            )
        return global_batch_size // count


def _refused(self: Any, name: str, value: Any) -> Never:
    fields = ", ".join(field.name for field in dataclasses.fields(self))
    raise dataclasses.FrozenInstanceError(
        f"{type(self).__name__}.{name} was set to {value!r}; expected no change, because these are fixed once they are made. Make "
        f"others with {type(self).__name__}(...), which takes {fields}."
    )


# What Python itself says of an attribute that there is not is about super().
for _kind in (RunOptions, CommunicationOptions, ValueContext, InputOptions, InputContext):
    _kind.__setattr__ = _refused  # pyright: ignore[reportAttributeAccessIssue]

"""The logical devices of a replica: which tensors are on which of them, and in which pieces."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base.jax_facts import is_jax, staging
from refdist._core.base.where import HERE
from refdist._core.devices.device import Device
from refdist._core.replicas import context
from refdist._core.seam.capabilities import LogicalDevices, required
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.strategies.verbs import StrategyExtended


def assign(extended: "StrategyExtended", tensor: Any, logical_device_id: int) -> Any:
    """Bring a tensor to one logical device of the replica."""
    devices = _logical_devices(extended, "experimental_assign_to_logical_device()")
    if extended.plan.spmd:
        raise ValueError(
            "experimental_assign_to_logical_device() was called on a TPUStrategy with experimental_spmd_xla_partitioning=True; "
            "expected False, because otherwise all logical devices do the same. Leave it out, or replicate the tensor."
        )
    if not _is_int(logical_device_id) or not 0 <= logical_device_id < len(devices):
        raise ValueError(
            f"experimental_assign_to_logical_device() got logical_device_id={logical_device_id!r}; expected 0 to "
            f"{len(devices) - 1}, because each replica has {len(devices)} in the device assignment. Choose one of these, or "
            f"build an assignment with a larger computation_shape."
        )
    return _layouts(extended).lay_out(_tensor(extended, tensor), (devices[logical_device_id],), None)


def replicate(extended: "StrategyExtended", tensor: Any) -> Any:
    """Bring a whole tensor to each logical device of the replica."""
    devices = _logical_devices(extended, "experimental_replicate_to_logical_devices()")
    return _layouts(extended).lay_out(_tensor(extended, tensor), devices, None)


def split(extended: "StrategyExtended", tensor: Any, partition_dimensions: Any) -> Any:
    """Cut a tensor into one piece for each logical device of the replica."""
    devices = _logical_devices(extended, "experimental_split_to_logical_devices()")
    partition = _partition(partition_dimensions, len(devices))
    value = _tensor(extended, tensor)
    _require_divisible(value.shape, partition)
    return _layouts(extended).lay_out(value, devices, partition)


def logical_pieces(tensor: Any) -> tuple[tuple[str, np.ndarray[Any, Any]], ...]:
    """Say which part of a tensor lies on which device.

    >>> import refdist as tf
    >>> with tf.using("simulator", tpus=2):
    ...     topology = tf.tpu.experimental.initialize_tpu_system()
    ...     assignment = tf.tpu.experimental.DeviceAssignment.build(topology, [1, 1, 1, 2])
    ...     strategy = tf.distribute.TPUStrategy(experimental_device_assignment=assignment)
    ...     split = strategy.run(lambda: strategy.experimental_split_to_logical_devices([1, 2], [2]))
    ...     [(device[-5:], piece.tolist()) for device, piece in tf.logical_pieces(split)]
    [('TPU:0', [1]), ('TPU:1', [2])]
    """
    backend = context.backend()
    value = tensor.read_value() if isinstance(tensor, Variable) else tensor
    if not isinstance(value, backend.tensor_type) or staging():
        raise TypeError(
            f"logical_pieces() got a {type(value).__name__}; expected a tensor of the backend {backend.name!r}, outside of traces. "
            f"Take a per-replica value apart with strategy.experimental_local_results()."
        )
    return required(backend, LogicalDevices, "logical_pieces()").pieces(value)


def stays(tensor: Any) -> bool:
    """Say whether a tensor is on a logical device of the current replica, so that it may stay there."""
    frame = HERE.get().frame
    if frame is None or frame.replica is None or not frame.strategy.extended.plan.logical:
        return False
    plan, index = frame.strategy.extended.plan, frame.replica.local_index
    return HERE.get().device == plan.devices[index] and plan.backend.device_of(tensor) in plan.logical[index]


def _logical_devices(extended: "StrategyExtended", what: str) -> tuple[Device, ...]:
    """The logical devices of the current replica; outside of replicas, those of the first one."""
    plan = extended.plan
    if not plan.logical:
        raise NotImplementedError(
            f"{what} was called on a strategy of the kind {plan.name!r}; expected a TPUStrategy, whose replicas alone have logical "
            f"devices. Leave the call out, or use tf.distribute.TPUStrategy."
        )
    frame = HERE.get().frame
    if frame is None or frame.replica is None or frame.strategy.extended is not extended:
        return plan.logical[0]
    return plan.logical[frame.replica.local_index]


def _layouts(extended: "StrategyExtended") -> LogicalDevices:
    return required(extended.backend, LogicalDevices, "A logical device")


def _tensor(extended: "StrategyExtended", value: Any) -> Any:
    if is_jax(value) and not isinstance(value, extended.backend.tensor_type):
        return value  # a value that is being traced
    return extended.tensor(value, None)


def _partition(given: Any, count: int) -> tuple[int, ...]:
    entries = list(given) if isinstance(given, (Sequence, np.ndarray)) else None
    if entries is None or not all(_is_int(entry) and entry >= 1 for entry in entries):
        raise ValueError(
            f"experimental_split_to_logical_devices() got partition_dimensions={given!r}; expected a flat list of ints of at least "
            f"1, one for each dimension of the tensor. Write for example [1, 2, 4, 1]."
        )
    if math.prod(entries) != count:
        raise ValueError(
            f"experimental_split_to_logical_devices() got partition_dimensions={given!r}, which make {math.prod(entries)} pieces; "
            f"expected {count}, one for each logical device of a replica. Change them, or the computation_shape of the device "
            f"assignment."
        )
    return tuple(map(int, entries))


def _require_divisible(shape: Sequence[int | None], partition: Sequence[int]) -> None:
    if len(shape) != len(partition):
        raise ValueError(
            f"experimental_split_to_logical_devices() got partition_dimensions={list(partition)} for a tensor of shape "
            f"{tuple(shape)}; expected {len(shape)} entries, one for each dimension. Write 1 where it is not to be cut."
        )
    for dimension, (size, pieces) in enumerate(zip(shape, partition, strict=True)):
        if isinstance(size, int) and size % pieces:  # a size that is not known yet cannot be checked
            raise ValueError(
                f"experimental_split_to_logical_devices() got partition_dimensions={list(partition)} for a tensor of shape "
                f"{tuple(shape)}; expected {size}, the size of dimension {dimension}, to be divisible by {pieces}. Pad the tensor, "
                f"or cut it along another dimension."
            )


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)

"""Which algorithm combines the values of several devices, and where the result goes."""

import importlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.callables import require_callable
from refdist._core.base.common_values import CommonValues, once
from refdist._core.base.enums import CommunicationImplementation, ReduceOp
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.options import NO_HINTS, CommunicationOptions, require_communication
from refdist._core.base.tensor_shape import SAME_SIZES
from refdist._core.base.where import entered
from refdist._core.devices.device import Device, resolve
from refdist._core.devices.tensor import Tensor, dtype_name, mean_dtype, sizes_of
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues, Mirrored, PerReplica
from refdist._core.seam.backend import NOWHERE
from refdist._core.seam.capabilities import Timed, capability
from refdist._core.strategies.arguments import pairs_of
from refdist._core.strategies.packing import packs_of, taken_apart
from refdist._core.variables.tensors import as_tensor

Pairs = Sequence[tuple[Any, Any]]
_NO_NUMBERS = "bOSU"  # the kinds of dtypes that cannot be added up


class CrossDeviceOps:
    """Combines per-replica values; a subclass overrides the methods that end in `_implementation`."""

    algorithm = "reduce_broadcast"

    def reduce(self, reduce_op: ReduceOp | str, per_replica_value: Any, destinations: Any, options: Any = None) -> Any:
        """Combine a per-replica value into one, on one destination or mirrored on several; a plain value is its own sum."""
        op = reduce_op if type(reduce_op) is ReduceOp else ReduceOp.of(reduce_op)
        if type(options) is not CommunicationOptions:
            options = _said(options, "reduce()")
        if not isinstance(per_replica_value, DistributedValues) or per_replica_value.is_variable:
            per_replica_value = _tensors_of(per_replica_value)
        if len(per_replica_value.values) == 1 and _is_there(per_replica_value, destinations):
            return _alone(per_replica_value)
        return self.reduce_implementation(op, per_replica_value, destinations, options)

    def batch_reduce(self, reduce_op: ReduceOp | str, value_destination_pairs: Pairs, options: Any = None) -> list[Any]:
        """Combine several per-replica values, each with its own destinations."""
        op, options = ReduceOp.of(reduce_op), _said(options, "batch_reduce()")
        pairs = [
            (value if isinstance(value, DistributedValues) and not value.is_variable else _tensors_of(value), to)
            for value, to in pairs_of(value_destination_pairs, "batch_reduce()")
        ]
        if pairs and all(len(value.values) == 1 and _is_there(value, to) for value, to in pairs):
            return [_alone(value) for value, _ in pairs]
        return list(self.batch_reduce_implementation(op, pairs, options))

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """Bring one tensor to one destination, or mirror it on several."""
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """Do the work of `reduce`, with arguments already checked."""
        tensors = per_replica_value.values
        common = (
            type(tensors) is CommonValues
        )  # asked here, because a call that computes as ever takes longer than the look
        kinds = once(tensors, "kinds", lambda: set(map(type, tensors))) if common else set(map(type, tensors))
        if IndexedSlices in kinds:
            if kinds == {IndexedSlices}:
                return _joined(reduce_op, tensors, devices_of(destinations))
            tensors = [as_tensor(context.backend(), tensor, None) for tensor in tensors]
        if common:
            once(tensors, "alike", lambda: _require_alike(tensors))
        elif (known := per_replica_value.known_kind) is not None and known[1] is not None:
            require_numbers(tensors[0].dtype)  # known to be alike: they were compared when they were brought
        else:
            _require_alike(tensors)
        targets, algorithm = devices_of(destinations), self.algorithm_of(options)
        return _spread(_reduced(tensors, reduce_op, targets, algorithm))

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp, value_destination_pairs: Pairs, options: Any
    ) -> list[Any]:
        """Do the work of `batch_reduce`, with arguments already checked."""
        if options is None or not options.bytes_per_pack or self.custom():
            return [self.reduce_implementation(reduce_op, value, to, options) for value, to in value_destination_pairs]
        return self._reduced_in_packs(reduce_op, value_destination_pairs, options)

    def _reduced_in_packs(self, op: ReduceOp, pairs: Pairs, options: CommunicationOptions) -> list[Any]:
        """Reduce tensors with the same destinations as one; slices of tensors stay alone."""
        results = {
            number: self.reduce_implementation(op, value, to, options)
            for number, (value, to) in enumerate(pairs)
            if IndexedSlices in map(type, value.values)
        }
        dense = [number for number in range(len(pairs)) if number not in results]
        tensors = {number: pairs[number][0].values for number in dense}
        for parts in tensors.values():
            _require_alike(parts)
        kinds = [(len(tensors[number]), devices_of(pairs[number][1])) for number in dense]
        for pack in packs_of([tensors[number][0] for number in dense], options.bytes_per_pack, kinds):
            members = [dense[place] for place in pack]
            rows = [_in_a_row(parts) for parts in zip(*(tensors[number] for number in members), strict=True)]
            whole = self.reduce_implementation(op, PerReplica(rows), kinds[pack[0]][1], options)
            first = [tensors[number][0] for number in members]
            parts = [_taken_apart(row, first) for row in (whole.values if isinstance(whole, Mirrored) else [whole])]
            results |= {
                number: _spread(column) for number, column in zip(members, zip(*parts, strict=True), strict=True)
            }
        return [results[number] for number in range(len(pairs))]

    def algorithm_of(self, options: CommunicationOptions | None) -> str:
        """How the devices exchange their values, given hints on it."""
        return self.algorithm

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """Do the work of `broadcast`."""
        backend, targets = context.backend(), devices_of(destinations)
        if isinstance(tensor, IndexedSlices):
            parts = [tensor.mapped(lambda part, to=device: backend.copy(part, to)) for device in targets]
            return _spread(parts)
        timed = capability(backend, Timed)
        with NOWHERE if timed is None else timed.in_unison(targets, tensor):
            return _spread([backend.copy(tensor, device) for device in targets])

    def custom(self) -> bool:
        """Say whether a user's code defines how values are combined."""
        known = (CrossDeviceOps.reduce_implementation, ReductionToOneDevice.reduce_implementation)
        alone = type(self).reduce_implementation in known
        batched = type(self).batch_reduce_implementation is CrossDeviceOps.batch_reduce_implementation
        return not alone or not batched or getattr(self, "_accumulate", None) is not None

    def gather(self, per_replica_value: DistributedValues, destinations: Any, axis: int) -> Any:
        """Join the components of a per-replica value along an axis."""
        tensors = per_replica_value.values
        once(tensors, ("joinable", axis), lambda: require_joinable(tensors, axis))
        return _spread(context.backend().gather(tensors, axis, devices_of(destinations)))


class _Packed(CrossDeviceOps):
    def __init__(self, num_packs: int = 1) -> None:
        if not isinstance(num_packs, int) or num_packs < 0:
            raise ValueError(f"num_packs is {num_packs!r}; expected an int of at least 0. Leave it at 1 when in doubt.")
        self.num_packs = num_packs


class NcclAllReduce(_Packed):
    """Reduce in a ring over all devices, as NCCL does."""

    algorithm = "ring"


class WorkersAllReduce(NcclAllReduce):
    """Reduce over all devices of all workers, by the implementation that the options ask for: a ring, unless they say NCCL."""

    def algorithm_of(self, options: CommunicationOptions | None) -> str:
        nccl = options is not None and options.implementation is CommunicationImplementation.NCCL
        return "nccl" if nccl else self.algorithm


class HierarchicalCopyAllReduce(_Packed):
    """Reduce inside groups of neighbouring devices first, then between the groups."""

    algorithm = "hierarchical"


class ReductionToOneDevice(CrossDeviceOps):
    """Bring all values to one device, combine them there, and copy the result to the others."""

    def __init__(
        self, reduce_to_device: str | None = None, accumulation_fn: Callable[[Sequence[Any]], Any] | None = None
    ) -> None:
        if accumulation_fn is not None:
            require_callable(accumulation_fn, "ReductionToOneDevice()")
        self._device = reduce_to_device
        self._accumulate = accumulation_fn

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        backend = context.backend()
        targets = devices_of(destinations)
        tensors = per_replica_value.values
        if (self._device is None and self._accumulate is None) or IndexedSlices in map(type, tensors):
            return super().reduce_implementation(reduce_op, per_replica_value, destinations, options)
        _require_alike(tensors)
        device = resolve(self._device, backend.devices()) if self._device else targets[0]
        if self._accumulate is None:
            total = _reduced(tensors, reduce_op, [device], self.algorithm_of(options))[0]
        else:
            total = self._accumulate([backend.copy(tensor, device) for tensor in tensors])
            total = total / len(tensors) if reduce_op is ReduceOp.MEAN else total
        return self.broadcast_implementation(total, targets)


def _reduced(tensors: Sequence[Any], op: ReduceOp, targets: Sequence[Device], algorithm: str) -> Sequence[Any]:
    """Let the backend combine tensors, and judge the numbers if it was asked to."""
    backend = context.backend()
    found = backend.reduce(tensors, op, targets, algorithm)
    inspection = getattr(backend, "inspection", None)  # as inspection_of(), which would be one more call
    if inspection is not None and inspection.numerics:
        importlib.import_module("refdist._core.strategies.numerics").judge_reduction(tensors, op, found[0])
    return found


def _in_a_row(tensors: Sequence[Any]) -> Any:
    """All elements of several tensors of one device, on that device, whatever the code around computes on."""
    backend = context.backend()
    device = backend.device_of(tensors[0])
    with entered(device=device):
        return backend.gather([tensor.reshape(-1) for tensor in tensors], 0, [device])[0]


def _taken_apart(row: Any, tensors: Sequence[Any]) -> list[Any]:
    with entered(device=context.backend().device_of(row)):
        return taken_apart(row, tensors)


def _said(options: Any, what: str) -> CommunicationOptions:
    """The options of a call, which may leave them out."""
    require_communication(options, what)
    return NO_HINTS if options is None else options


def devices_of(destinations: Any, replica: int = 0) -> tuple[Device, ...]:
    """The devices that a destination stands for: a name, several names, or where the value of a replica is."""
    if type(destinations) is Device:
        return (destinations,)
    if type(destinations) is tuple and set(map(type, destinations)) == {Device}:
        return destinations
    backend = context.backend()
    if isinstance(destinations, str):
        return (resolve(destinations, backend.devices()),)
    if isinstance(destinations, DistributedValues):
        return tuple(device for r, value in enumerate(destinations.values) for device in devices_of(value, r))
    if isinstance(destinations, backend.tensor_type):
        return (backend.device_of(destinations),)
    if (device := getattr(destinations, "device", None)) is not None and hasattr(destinations, "assign"):
        return (Device(device),)  # of a variable
    if isinstance(destinations, (list, tuple)) and destinations:
        return tuple(device for name in destinations for device in devices_of(name))
    if hasattr(destinations, "__array__"):
        # An array of another library, such as numpy, or JAX in the simulator, counts as being on its replica's device.
        return (context.get_strategy().extended.plan.devices[replica],)
    if isinstance(destinations, IndexedSlices):
        return devices_of(destinations.values, replica)
    raise TypeError(
        f"The destination is {destinations!r}; expected a device name, a tensor, a variable or a per-replica value. "
        f"Pass the value itself to leave the result where it is."
    )


def _is_there(value: DistributedValues, destinations: Any) -> bool:
    """Say whether a value lies where it should go."""
    return devices_of(destinations) == devices_of(value)


def _alone(value: DistributedValues) -> Any:
    """The only component of a value: it is its own sum and its own mean, so nothing is computed, and integers stay integers."""
    (tensor,) = value.values
    require_numbers(tensor.values.dtype if isinstance(tensor, IndexedSlices) else tensor.dtype)
    return tensor


def _spread(tensors: Sequence[Any]) -> Any:
    return tensors[0] if len(tensors) == 1 else Mirrored(tensors)


def _joined(op: ReduceOp, slices: Sequence[IndexedSlices], targets: Sequence[Device]) -> Any:
    """Join the slices of all replicas: the sum of several tensors has the slices of each of them."""
    backend, shape = context.backend(), slices[0].dense_shape
    require_numbers(slices[0].values.dtype)
    values, indices = [part.values for part in slices], [part.indices for part in slices]
    if op is ReduceOp.MEAN:
        values = [divided(value, len(slices)) for value in values]
    for tensors in (values, indices):
        require_joinable(tensors, 0)
    columns = [backend.gather(values, 0, targets), backend.gather(indices, 0, targets)]
    columns.append([None if shape is None else backend.copy(shape, device) for device in targets])
    return _spread([IndexedSlices(*row) for row in zip(*columns, strict=True)])


def divided(tensor: Any, count: int) -> Any:
    """Divide a tensor by a count; floats keep their dtype, and integers become floats."""
    dtype, whole = mean_dtype(tensor.dtype), tensor.dtype.kind in "iu"
    if whole:
        tensor = tensor.astype(float if dtype == np.float64 else dtype)  # as wide as JAX allows
    elif tensor.dtype.itemsize == 2:
        tensor = tensor.astype(np.float32)  # sixteen bits are too few for some counts
    with np.errstate(invalid="ignore", divide="ignore"):  # the mean of no examples is not a number
        quotient = tensor / count
    return quotient if whole else quotient.astype(dtype)


def _tensors_of(value: Any) -> PerReplica:
    """The tensors of the copies of a variable; or a single component, which is what TensorFlow takes a plain value for."""
    backend = context.backend()
    if isinstance(value, DistributedValues):
        return PerReplica([copy.stored for copy in value.values])
    try:
        return PerReplica([as_tensor(backend, value, None)])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"A {type(value).__name__} ({value!r}) was to be reduced; expected a per-replica value, a variable or a tensor. "
            f"Return it from run, or make it with experimental_distribute_values_from_function."
        ) from error


def require_numbers(dtype: Any) -> None:
    """Raise for what cannot be added up: truth values would stay true, and text would be joined."""
    if dtype.kind in _NO_NUMBERS:
        raise TypeError(
            f"Values of dtype {dtype_name(dtype)} were to be reduced; expected numbers. Convert them first, for example with "
            f"tf.cast(x, tf.float32)."
        )


def _require_alike(tensors: Sequence[Any]) -> None:
    dtype = tensors[0].dtype
    if dtype.kind in _NO_NUMBERS:
        require_numbers(dtype)
    sizes = list(map(sizes_of if set(map(type, tensors)) == {Tensor} else _shape, tensors))
    for index, tensor in enumerate(tensors):
        if not SAME_SIZES(sizes[index], sizes[0]) or (tensor.dtype is not dtype and tensor.dtype != dtype):
            raise ValueError(
                f"The replicas have different values to reduce: {_outline(tensors[0])} on replica 0, {_outline(tensor)} on "
                f"replica {index}; expected one shape and dtype. For a last partial batch pass axis=0 to reduce()."
            )


def require_joinable(tensors: Sequence[Any], axis: int) -> None:
    """Raise unless tensors can be joined along an axis."""
    rank = len(tensors[0].shape)
    if not rank:
        raise ValueError(
            "Scalars were to be gathered; expected tensors with a dimension to join along. Give each one with tensor[None]."
        )
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise ValueError(
            f"The axis is {axis!r} for values of shape {tuple(tensors[0].shape)}; expected an int from {-rank} to "
            f"{rank - 1}. Name a dimension of the values."
        )
    others = [tuple(size for d, size in enumerate(t.shape) if d != axis % rank) + (t.dtype,) for t in tensors]
    for index, other in enumerate(others):
        if other != others[0] or len(tensors[index].shape) != rank:
            raise InvalidArgumentError(
                f"The replicas have values that do not join along axis {axis}: {_outline(tensors[0])} on replica 0, "
                f"{_outline(tensors[index])} on replica {index}; expected one dtype, and one size in every other "
                f"dimension. Pad them, or choose another axis."
            )


_shape = operator.attrgetter("shape")


def _outline(tensor: Any) -> str:
    return f"{dtype_name(tensor.dtype)} of shape {tuple(tensor.shape)}"

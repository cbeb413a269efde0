"""What `input_signature` asks of the arguments of a call."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from refdist._core.base import convert, nest
from refdist._core.base.jax_facts import is_jax
from refdist._core.devices.tensor import dtype_name
from refdist._core.replicas import context
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec
from refdist._core.replicas.values import DistributedValues
from refdist._core.variables.variable import Variable


def conforming(
    function: Callable[..., Any], signature: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert the arguments of a call to tensors that fit the function's signature, or raise."""
    name = getattr(function, "__name__", "function")
    if kwargs:
        try:
            bound = inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"{name}() got other arguments than it takes: {error}. Pass what its signature names."
            ) from None
        args, kwargs = bound.args, bound.kwargs
    if len(args) != len(signature) or kwargs:
        raise TypeError(
            f"{name}() got {len(args) + len(kwargs)} arguments; expected {len(signature)}, as many as input_signature has. Pass a "
            f"tensor for each of its specs."
        )
    return tuple(
        _fitting(name, place, spec, arg) for place, (spec, arg) in enumerate(zip(signature, args, strict=True))
    ), {}


def _fitting(name: str, place: int, spec: Any, arg: Any) -> Any:
    if not nest.is_container(spec):
        return fitting_leaf(name, place, spec, arg)
    specs = nest.flatten(spec)
    leaves = nest.flatten(arg)
    if nest.shape_of(spec) != nest.shape_of(arg):
        raise TypeError(
            f"{name}() got argument {place} as another nest, of {len(leaves)} leaves; expected that of input_signature: {spec}. "
            f"Pass a nest of the same shape."
        )
    return nest.pack_sequence_as(arg, [fitting_leaf(name, place, *pair) for pair in zip(specs, leaves, strict=True)])


def fitting_leaf(name: str, place: int | str, spec: Any, leaf: Any) -> Any:
    """One argument as a tensor that fits its spec, or an error."""
    if isinstance(leaf, Variable):
        leaf = leaf.read_value()
    parts = spec.specs if isinstance(spec, PerReplicaSpec) else (spec,)
    if not all(isinstance(part, TensorSpec) for part in parts):
        raise TypeError(
            f"{name}() has {spec!r} in its input_signature; expected TensorSpecs. Use tf.TensorSpec, or an element_spec."
        )
    if isinstance(leaf, DistributedValues):
        if leaf.spec is None:
            found = type(leaf)([_tensor(name, place, parts[0], value) for value in leaf.values])
            components = found.values
        else:
            found, components = leaf, [_Spec(*leaf.spec)]
    else:
        found = _tensor(name, place, parts[0], leaf)
        components = [found]
    for component in components:
        if not any(part.is_compatible_with(_Spec(component.shape, _wide(part, component))) for part in parts):
            raise TypeError(
                f"{name}() got a tensor of shape {tuple(component.shape)} and dtype {dtype_name(component.dtype)} as argument "
                f"{place}; expected {spec!r}, as its input_signature says. Convert the tensor, or widen the signature."
            )
    return found


class _Spec(NamedTuple):
    shape: Any
    dtype: Any


def _wide(spec: TensorSpec, tensor: Any) -> Any:
    """The dtype of a tensor, or that of its spec where JAX has no room for 64 bits."""
    narrowed = is_jax(tensor) or isinstance(tensor, _Spec)
    fits = narrowed and spec.dtype.kind == tensor.dtype.kind and spec.dtype.itemsize == 2 * tensor.dtype.itemsize == 8
    return spec.dtype if fits and context.backend().name != "simulator" else tensor.dtype


def _tensor(name: str, place: int | str, spec: TensorSpec, value: Any) -> Any:
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic):
        alike = type(value) is np.ndarray and value.dtype.kind == spec.dtype.kind and value.dtype.kind in "iuf"
        return value.astype(spec.dtype) if alike else value
    try:
        array = convert.to_array(value, None if spec.dtype.kind == "O" else spec.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name}() got {value!r} as argument {place}; expected {spec!r}, as its input_signature says ({error})."
        ) from None
    return context.backend().put(array, None)

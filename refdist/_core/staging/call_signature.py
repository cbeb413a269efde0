"""What tells the traces of a function apart: structure, dtypes and Python values, and shapes as far as they have to fit."""

from collections.abc import Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.input.dataset import Dataset
from refdist._core.input.distributed_dataset import DistributedDataset
from refdist._core.input.position import Loop
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec
from refdist._core.replicas.values import DistributedValues
from refdist._core.staging.cache_keys import ByIdentity, argument_key, value_key
from refdist._core.staging.trace_count import Signature, Sizes
from refdist._core.variables.variable import Variable

_DATA = (Dataset, DistributedDataset, Loop)
_Part = tuple[Any, Sequence[Sizes]]


def call_signature(around: Any, leaves: Sequence[Any]) -> Signature:
    """The signature of a call.

    Args:
        around: what else is part of it, and has to be equal.
    """
    ids = [id(leaf) for leaf in leaves]
    parts = [_part(leaf, ids) for leaf in leaves]
    places = [
        -1 if isinstance(leaf, _DATA) else place
        for place, (leaf, (_, shapes)) in enumerate(zip(leaves, parts, strict=True))
        for _ in shapes
    ]
    kinds = [kind for kind, _ in parts]
    return Signature((around, *kinds), tuple(shape for _, shapes in parts for shape in shapes), tuple(places))


def _part(leaf: Any, ids: Sequence[int]) -> _Part:
    if isinstance(leaf, Variable):
        # Another variable of the same kind is as good; two places may have the same one, or not.
        return ("variable", leaf.shape, leaf.dtype, leaf.trainable, ids.index(id(leaf))), ()
    if isinstance(leaf, PerReplicaSpec):
        return _specs("per replica", leaf.specs)
    if isinstance(leaf, DistributedValues):
        return _distributed(leaf)
    if isinstance(leaf, _DATA):
        return _data(leaf)
    return _specs("tensor", [leaf]) if _is_tensor(leaf) else (argument_key(leaf), ())


def _distributed(leaf: DistributedValues) -> _Part:
    if leaf.spec is not None:
        shape, dtype = leaf.spec
        return ("per replica", (dtype,) * leaf.count), [tuple(shape)] * leaf.count
    if all(map(_is_tensor, leaf.values)):
        return _specs("per replica", leaf.values)
    return (type(leaf), tuple(map(value_key, leaf.values))), ()


def _data(leaf: Any) -> _Part:
    spec = leaf.element_spec if not isinstance(leaf, Loop) else leaf.kind and leaf.element_spec
    if spec is None:
        return ByIdentity(leaf), ()
    parts = [_part(one, ()) for one in nest.flatten(spec)]
    kinds = tuple(kind for kind, _ in parts)
    return (type(leaf), nest.shape_of(spec), kinds), [shape for _, shapes in parts for shape in shapes]


def _specs(kind: str, specs: Sequence[Any]) -> _Part:
    shapes: list[Sizes] = [None if one.shape is None else tuple(one.shape) for one in specs]
    return (kind, tuple(one.dtype for one in specs)), shapes


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, TensorSpec) or all(hasattr(leaf, name) for name in ("dtype", "shape", "__array__"))

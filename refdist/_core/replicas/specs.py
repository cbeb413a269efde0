"""What is known about a tensor before it exists: shape and dtype."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.tensor_shape import StaticShape, TensorShape
from refdist._core.devices.tensor import dtype_name
from refdist._core.replicas.values import DistributedValues, of_parts

Shape = tuple[int | None, ...]


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """A shape, in which None means any size, and a dtype; a shape of None is any shape.

    >>> TensorSpec((None, 2), "float32")
    TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)
    """

    shape: Shape | None
    dtype: Any = "float32"
    name: str | None = None

    def __post_init__(self) -> None:
        sizes = None if isinstance(self.shape, TensorShape) and self.shape.rank is None else self.shape
        object.__setattr__(self, "shape", sizes)
        if sizes is not None:
            sizes = (sizes,) if isinstance(sizes, (int, np.integer)) else sizes
            object.__setattr__(self, "shape", StaticShape(None if size is None else int(size) for size in sizes))
        object.__setattr__(self, "dtype", numpy_dtype(self.dtype))

    @property
    def sizes(self) -> Shape:
        """The shape, where the number of dimensions has to be known."""
        if self.shape is None:
            raise ValueError(
                f"{self!r} says nothing of the shape; expected the number of dimensions to be known here. Write None for each "
                f"size that is not known, such as TensorSpec([None, 2])."
            )
        return self.shape

    def is_compatible_with(self, other: Any) -> bool:
        """Say whether a tensor, or what another spec stands for, fits this one.

        >>> TensorSpec((None,)).is_compatible_with(np.ones(3, np.float32))
        True
        """
        dtype = np.dtype(other.dtype)
        if self.shape is None or other.shape is None:
            return self.dtype == dtype
        shape = tuple(other.shape)
        sizes = zip(self.shape, shape, strict=False)
        return (
            self.dtype == dtype
            and len(self.shape) == len(shape)
            and all(mine is None or theirs is None or mine == theirs for mine, theirs in sizes)
        )

    def __repr__(self) -> str:
        shape = "<unknown>" if self.shape is None else self.shape
        return f"TensorSpec(shape={shape}, dtype=tf.{dtype_name(self.dtype)}, name={self.name!r})"


@dataclasses.dataclass(frozen=True)
class DatasetSpec:
    """What is known about an element that is itself a dataset: the spec of its elements, and how a stage becomes a dataset."""

    element_spec: Any
    of: Callable[[Any], Any] = dataclasses.field(compare=False)
    shape = ()

    @property
    def dtype(self) -> Any:
        """Raise: a dataset has no dtype, so it can be neither batched nor given to replicas."""
        return require_tensor(self)

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, TensorShape([]))"


class PerReplicaSpec:
    """One spec for each replica.

    >>> PerReplicaSpec(TensorSpec(()), TensorSpec(()))
    PerReplicaSpec(TensorSpec(shape=(), dtype=tf.float32, name=None), TensorSpec(shape=(), dtype=tf.float32, name=None))
    """

    def __init__(self, *specs: Any) -> None:
        self.specs = specs

    def is_compatible_with(self, other: Any) -> bool:
        """Say whether a per-replica value, or another spec of this kind, fits component by component."""
        parts = other.specs if isinstance(other, PerReplicaSpec) else getattr(other, "values", ())
        pairs = zip(self.specs, parts, strict=False)
        return len(parts) == len(self.specs) and all(spec.is_compatible_with(part) for spec, part in pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerReplicaSpec) and self.specs == other.specs

    def __hash__(self) -> int:
        return hash(self.specs)

    def __repr__(self) -> str:
        return f"PerReplicaSpec({', '.join(map(repr, self.specs))})"


def is_dataset(leaf: Any) -> bool:
    """Say whether a leaf of an element is a dataset, the class of which belongs to a later room."""
    return hasattr(leaf, "element_spec")


def require_tensor(leaf: Any) -> Any:
    """Return the leaf, or raise if it is a dataset."""
    if is_dataset(leaf):
        raise TypeError(
            "The elements are datasets, as window() makes them; expected tensors. Make batches of them first: "
            "flat_map(lambda window: window.batch(size))."
        )
    return leaf


def spec_of(value: Any) -> Any:
    """The spec of every tensor in a nest."""

    def one(leaf: Any) -> Any:
        if isinstance(leaf, DistributedValues):
            return PerReplicaSpec(*map(spec_of, leaf.values))
        if is_dataset(leaf):
            return DatasetSpec(leaf.element_spec, leaf.of)
        if of_parts(leaf):
            return leaf.type_spec
        array = leaf if hasattr(leaf, "shape") else np.asarray(leaf)
        return TensorSpec(tuple(array.shape), array.dtype)

    return nest.map_structure(one, value)


def batched(spec: Any, size: int | None) -> Any:
    """The spec of a batch of such elements."""

    def one(leaf: Any) -> Any:
        return leaf.batched(size) if of_parts(leaf) else TensorSpec((size, *leaf.shape), leaf.dtype)

    return nest.map_structure(one, spec)


def unbatched(spec: Any) -> Any:
    """The spec of one element of such a batch."""

    def one(leaf: Any) -> Any:
        return leaf.unbatched() if of_parts(leaf) else TensorSpec(leaf.shape[1:], leaf.dtype)

    return nest.map_structure(one, spec)


def common(first: Any, second: Any) -> Any:
    """The narrowest spec that both fit; sizes that differ become None."""

    def one(mine: Any, theirs: Any) -> Any:
        if isinstance(mine, DatasetSpec) and isinstance(theirs, DatasetSpec):
            return DatasetSpec(common(mine.element_spec, theirs.element_spec), mine.of)
        kind: Any = mine
        return kind.common(theirs) if of_parts(mine) else TensorSpec(fitting_sizes(mine, theirs), mine.dtype)

    nest.assert_same_structure(first, second)
    return nest.map_structure(one, first, second)


def fitting_sizes(mine: Any, theirs: Any) -> Shape:
    """The sizes that two specs have in common, None where they differ; or raise if the specs are of different kinds."""
    kinds = [(of_parts(one), getattr(one, "ragged_rank", None), one.dtype, len(one.shape)) for one in (mine, theirs)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"The elements {mine} and {theirs} differ; expected one dtype and one number of dimensions. Convert "
            f"one of them before they come together."
        )
    return tuple(a if a == b else None for a, b in zip(mine.shape, theirs.shape, strict=True))


def shapes_text(spec: Any) -> str:
    """Print the shapes of a spec as datasets do."""
    return _text(spec, lambda leaf: str(leaf.shape))


def types_text(spec: Any) -> str:
    """Print the dtypes of a spec as datasets do."""
    return _text(spec, lambda leaf: f"tf.{dtype_name(leaf.dtype)}")


def _text(spec: Any, show: Any) -> str:
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{key}: {_text(part, show)}" for key, part in spec.items()) + "}"
    if isinstance(spec, (tuple, list)):
        inner = ", ".join(_text(part, show) for part in spec)
        return f"({inner},)" if len(spec) == 1 else f"({inner})"
    return repr(spec) if isinstance(spec, DatasetSpec) else show(spec)

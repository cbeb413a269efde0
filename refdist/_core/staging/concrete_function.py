"""A function for one kind of arguments, as `get_concrete_function` returns it."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.replicas import context
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec
from refdist._core.staging.input_signature import fitting_leaf
from refdist._core.staging.program_cache import Kept
from refdist._core.variables.variable import Variable

_SPECS = (TensorSpec, PerReplicaSpec)


class ConcreteFunction:
    """A function that takes tensors of one signature, and has the Python values that it was made with.

    >>> import refdist as tf
    >>> double = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([], tf.float32))
    >>> double.structured_outputs
    TensorSpec(shape=(), dtype=tf.float32, name=None)
    >>> double(tf.constant(3.0))
    <tf.Tensor: shape=(), dtype=float32, numpy=6.0>
    """

    def __init__(
        self,
        function: Callable[..., Any],
        program: Callable[[Any, Any], Kept | None],
        names: Sequence[str],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.function: Any = function
        self._function, self._names, self.name = function, names, getattr(function, "__name__", "function")
        specs = [_named(arg, names[place] if place < len(names) else None) for place, arg in enumerate(args)]
        self.structured_input_signature: Any = (tuple(specs), {name: _named(arg, name) for name, arg in kwargs.items()})
        self.inputs = [leaf for leaf in nest.flatten(self.structured_input_signature) if isinstance(leaf, _SPECS)]
        self._program: Kept | None = None
        shapes = [one.shape if isinstance(one, TensorSpec) else None for one in self.inputs]
        if None not in shapes:
            made = program(_examples(self.structured_input_signature), self.structured_input_signature)
            sizes_open = any(None in shape for shape in shapes if shape is not None)
            self._program = made if made is not None and (made.sizes_open or not sizes_open) else None

    @property
    def structured_outputs(self) -> Any:
        """The result, with a spec in the place of each tensor."""
        if self._program is None:
            raise ValueError(
                f"The outputs of {self.name}() were asked for, of inputs {self.inputs}; expected tensors of known rank, and a body "
                f"that becomes one program, whatever the sizes are. Give get_concrete_function() specs without None, or take what "
                f"depends on a size out of the function."
            )
        return self._program.outline()

    @property
    def outputs(self) -> list[Any]:
        """The specs of the tensors that the function returns."""
        return [leaf for leaf in nest.flatten(self.structured_outputs) if isinstance(leaf, _SPECS)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        expected, by_name = self.structured_input_signature
        given = list(args)
        for place, spec in enumerate(expected[len(args) :], len(args)):
            name = self._names[place] if place < len(self._names) else ""  # which no argument has
            if name not in kwargs and _has_specs(spec):
                break  # it is missing, which is told below
            given.append(kwargs.pop(name, spec))
        for name, spec in by_name.items():
            if not _has_specs(spec):
                kwargs.setdefault(name, spec)
        if len(given) != len(expected) or kwargs.keys() != by_name.keys():
            raise TypeError(
                f"{self.name}() got {len(given)} arguments by place and {sorted(kwargs)} by name; expected {len(expected)} and "
                f"{sorted(by_name)}, as it was made by get_concrete_function(). Pass a tensor for each of its specs."
            )
        placed = [self._fitting(place, *pair) for place, pair in enumerate(zip(expected, given, strict=True))]
        named = {name: self._fitting(name, spec, kwargs[name]) for name, spec in by_name.items()}
        return self._function(*placed, **named)

    def _fitting(self, place: int | str, spec: Any, given: Any) -> Any:
        if isinstance(spec, _SPECS):
            return fitting_leaf(self.name, place, spec, given)
        specs, leaves = nest.flatten(spec), nest.flatten(given)
        fits = nest.shape_of(spec) == nest.shape_of(given) and all(
            isinstance(one, _SPECS) or one is leaf or (type(one) is type(leaf) and one == leaf)
            for one, leaf in zip(specs, leaves, strict=True)
        )
        if not fits:
            raise TypeError(
                f"{self.name}() got {given!r} as argument {place}; expected {spec!r}, with which it was made by "
                f"get_concrete_function(). Pass that, leave it out, or make another one."
            )
        pairs = zip(specs, leaves, strict=True)
        found = [fitting_leaf(self.name, place, *pair) if isinstance(pair[0], _SPECS) else pair[1] for pair in pairs]
        return nest.pack_sequence_as(given, found) if nest.is_container(given) else found[0]

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name}{self.structured_input_signature}>"


def _named(arg: Any, name: str | None) -> Any:
    """The spec of each tensor of an argument; one that is a tensor itself has the name of the parameter."""

    def spec(leaf: Any) -> Any:
        if isinstance(leaf, (Variable, *_SPECS)) or not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            return leaf
        return TensorSpec(tuple(leaf.shape), leaf.dtype)

    found = nest.map_structure(spec, arg)
    bare = isinstance(found, TensorSpec) and found.name is None
    return dataclasses.replace(found, name=name) if bare else found


def _examples(structure: Any) -> Any:
    """A tensor for each spec of a nest, of two rows where any number will do; anything else stays itself."""

    def example(leaf: Any) -> Any:
        if not isinstance(leaf, TensorSpec):
            return leaf
        return context.backend().put(np.zeros([2 if size is None else size for size in leaf.sizes], leaf.dtype), None)

    return nest.map_structure(example, structure)


def _has_specs(spec: Any) -> bool:
    return any(isinstance(leaf, _SPECS) for leaf in nest.flatten(spec))

"""What a tape has recorded, and the gradients of it."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.dtypes import canonicalize_value_handlers  # pyright: ignore

from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.where import entered
from refdist._core.compilers.observing import Operation, observed

__all__ = ["Recording", "as_array", "fresh", "observed"]

Backward = Callable[[Sequence[Any]], Sequence[Any]]
"""Takes the gradients of an operation's results, and returns those of its inputs."""


class _Node(NamedTuple):
    """An operation on something that is watched."""

    inputs: tuple[Any, ...]
    watched: tuple[bool, ...]  # of each input: whether it was when the operation was recorded
    outputs: tuple[Any, ...]
    operation: Operation | None
    backward: Backward | None  # None where JAX differentiates the operation


class Recording:
    """The operations that depend on what is watched, in their order.

    Arrays are told apart by their identity, and kept, so that no other array gets it.
    """

    def __init__(self, *, of_everything: bool = False) -> None:
        self._nodes: list[_Node] = []
        self._known: dict[int, Any] = {}
        self._made: set[int] = set()  # of those, the results of operations
        self._hidden: set[int] = set()  # arrays of which it is not known how they were made
        self._of_everything = of_everything  # whether all numbers are watched from the beginning

    def copy(self) -> "Recording":
        """A recording that goes on where this one is now."""
        copied = Recording(of_everything=self._of_everything)
        copied._nodes, copied._known, copied._made = list(self._nodes), dict(self._known), set(self._made)
        copied._hidden = set(self._hidden)
        return copied

    def without(self, arrays: Sequence[Any]) -> "Recording":
        """The same recording, in which arrays do not depend on anything."""
        stops, copied = set(map(id, arrays)), self.copy()
        copied._nodes = [
            node._replace(outputs=tuple(_unnamed(one) if id(one) in stops else one for one in node.outputs))
            for node in self._nodes
        ]
        copied._made -= stops
        return copied

    def watch(self, array: Any) -> None:
        """Record from now on what depends on an array."""
        self._known[id(array)] = array

    def knows(self, array: Any) -> bool:
        """Say whether an array is watched, or depends on one that is."""
        return self._of_everything or id(array) in self._known

    def note(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        operation: Operation | None,
        backward: Backward | None = None,
    ) -> None:
        """Record an operation, if it is on something that is watched; its results are watched too, unless they are integers."""
        if self._of_everything:
            arrays = [one for one in inputs if isinstance(one, jax.Array) and _has_gradients(one)]
            self._known.update((id(array), array) for array in arrays)
        watched = tuple(id(array) in self._known for array in inputs)
        if not any(watched):
            return
        # An operation may also return what it was given, which does not depend on it.
        named = tuple(_unnamed(array) if id(array) in self._known else array for array in outputs)
        changing = [one for one, array in zip(named, outputs, strict=True) if one is array and _has_gradients(one)]
        if not changing:
            return
        self._known.update((id(array), array) for array in changing)
        self._made.update(map(id, changing))
        self._nodes.append(_Node(tuple(inputs), watched, named, operation, backward))

    def hide(self, arrays: Sequence[Any]) -> None:
        """Remember arrays whose making was not recorded."""
        self._known.update((id(array), array) for array in arrays)
        self._hidden.update(map(id, arrays))

    def hides(self, targets: Sequence[Any]) -> bool:
        """Say whether a target depends on an array whose making was not recorded."""
        needed = set(map(id, targets))
        for node in reversed(self._nodes if self._hidden else []):
            if any(id(array) in needed for array in node.outputs):
                needed.update(id(x) for x, w in zip(node.inputs, node.watched, strict=True) if w)
        return not needed.isdisjoint(self._hidden)

    def depends(self, arrays: Sequence[Any], sources: Sequence[int]) -> bool:
        """Say whether one of some arrays depends on sources, given by their ids."""
        return not self._connected(sources).isdisjoint(id(one) for one in arrays if _has_gradients(one))

    def gradients(self, targets: Sequence[Any], seeds: Sequence[Any], sources: Sequence[int]) -> dict[int, Any]:
        """The gradients of a sum of targets, each times its seed, with respect to arrays; without those that are unconnected.

        Args:
            sources: the ids of the arrays.
        """
        held: dict[int, Any] = {}
        connected = self._connected(sources)
        for target, seed in zip(targets, seeds, strict=True):
            if id(target) in connected and _has_gradients(target):
                _add(held, id(target), jnp.ones_like(target) if seed is None else _dense(seed).astype(target.dtype))
        for nodes in reversed(self._segments([target for target in targets if id(target) in held], connected, sources)):
            if nodes[0].backward is None:
                self._through_operations(nodes, held, connected)
            else:
                self._through_backward(nodes[0], held, connected)
        return {source: held[source] for source in sources if source in held}

    def jacobians(self, target: Any, sources: Sequence[int]) -> dict[int, Any]:
        """The derivatives of each element of a target."""
        basis = jnp.eye(target.size, dtype=target.dtype).reshape(target.size, *target.shape)
        rows = self._of_each(target, basis, sources)
        return {source: value.reshape(*target.shape, *value.shape[1:]) for source, value in rows.items()}

    def batch_jacobians(self, target: Any, sources: Sequence[int]) -> dict[int, Any]:
        """The derivatives of each element of a target's rows; those of a row depend on nothing but the same row of a source."""
        shape = target.shape[1:]
        places = jnp.eye(math.prod(shape), dtype=target.dtype).reshape(-1, 1, *shape)
        rows = self._of_each(target, places * jnp.ones_like(target), sources)
        return {
            source: jnp.moveaxis(value.reshape(*shape, *value.shape[1:]), len(shape), 0)
            for source, value in rows.items()
        }

    def _of_each(self, target: Any, seeds: Any, sources: Sequence[int]) -> dict[int, Any]:
        """The gradients for each of several seeds, stacked."""

        def row(seed: Any) -> dict[int, Any]:
            return {source: _dense(value) for source, value in self.gradients([target], [seed], sources).items()}

        if all(node.backward is None for node in self._nodes):
            return jax.vmap(row)(seeds)
        every = [row(seed) for seed in seeds]  # other people's functions, and collectives, take one at a time
        return {source: jnp.stack([one[source] for one in every]) for source in (every[0] if every else {})}

    def _connected(self, sources: Sequence[int]) -> set[int]:
        """The ids of everything that depends on the sources, and of these themselves."""
        connected = set(sources)
        for node in self._nodes:
            if any(w and id(x) in connected for x, w in zip(node.inputs, node.watched, strict=True)):
                connected.update(id(array) for array in node.outputs if id(array) in self._made)
        return connected

    def _segments(self, targets: Sequence[Any], connected: set[int], sources: Sequence[int]) -> list[list[_Node]]:
        """The operations between sources and targets; those that JAX differentiates together stand in one list."""
        needed, between = set(map(id, targets)), list[_Node]()
        for node in reversed(self._nodes):
            inputs = {id(x) for x, w in zip(node.inputs, node.watched, strict=True) if w and id(x) in connected}
            if inputs and any(id(array) in needed for array in node.outputs):
                needed |= inputs
                between.append(node)
        segments, ends, wanted = list[list[_Node]](), True, set(sources)
        for node in reversed(between):
            if ends or node.backward is not None:
                segments.append([])
            segments[-1].append(node)
            # The gradient of an intermediate result is asked for: it has to appear between two segments.
            ends = node.backward is not None or any(id(array) in wanted for array in node.outputs)
        return segments

    def _through_operations(self, nodes: Sequence[_Node], held: dict[int, Any], connected: set[int]) -> None:
        made = {id(array) for node in nodes for array in node.outputs}
        pairs = [pair for node in nodes for pair in zip(node.inputs, node.watched, strict=True)]
        entries = list(dict.fromkeys(id(x) for x, w in pairs if w and id(x) in connected and id(x) not in made))
        exits = [one for one in made if one in held]

        def replayed(*values: Any) -> list[Any]:
            known = dict(zip(entries, values, strict=True))
            for node in nodes:
                given = [known.get(id(x), x) if w else x for x, w in zip(node.inputs, node.watched, strict=True)]
                assert node.operation is not None
                known.update(zip(map(id, node.outputs), node.operation(*given), strict=True))
            return [known[one] for one in exits]

        _, pull = jax.vjp(replayed, *(self._known[one] for one in entries))
        for one, gradient in zip(entries, pull([_dense(held[one]) for one in exits]), strict=True):
            _add(held, one, gradient)

    def _through_backward(self, node: _Node, held: dict[int, Any], connected: set[int]) -> None:
        assert node.backward is not None
        incoming = [held[id(array)] if id(array) in held else jnp.zeros_like(array) for array in node.outputs]
        for array, watched, gradient in zip(node.inputs, node.watched, node.backward(incoming), strict=True):
            if watched and gradient is not None and id(array) in connected:
                _add(held, id(array), gradient)


def _has_gradients(array: Any) -> bool:
    return jnp.issubdtype(array.dtype, jnp.inexact)


def _unnamed(array: Any) -> Any:
    """What stands for a result that nobody can ask for."""
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _add(held: dict[int, Any], key: int, gradient: Any) -> None:
    """Add to a gradient; slices that meet slices stay slices."""
    before = held.get(key)
    if before is None:
        held[key] = gradient
    elif isinstance(before, IndexedSlices) and isinstance(gradient, IndexedSlices):
        values = jnp.concatenate([before.values, gradient.values])
        indices = jnp.concatenate([before.indices, gradient.indices])
        held[key] = IndexedSlices(values, indices, before.dense_shape)
    else:
        held[key] = _dense(before) + _dense(gradient)


def _dense(gradient: Any) -> Any:
    if not isinstance(gradient, IndexedSlices):
        return jnp.asarray(gradient)
    whole = jnp.zeros(tuple(np.asarray(gradient.dense_shape).tolist()), gradient.values.dtype)
    return whole.at[gradient.indices].add(gradient.values)


def as_array(value: Any) -> Any:
    """An array of JAX with the numbers of a tensor; None where JAX would change them, or has no such numbers."""
    if isinstance(value, jax.Array):
        return value
    plain = np.asarray(value)
    if plain.dtype.kind in "OSU":
        return None
    narrow = jax.dtypes.canonicalize_dtype(plain.dtype)
    if narrow != plain.dtype:
        if plain.dtype.kind not in "iu":
            return None
        limits = np.iinfo(narrow)
        if plain.size and (plain.min() < limits.min or plain.max() > limits.max):
            return None
    with entered(tapes=None), jax.ensure_compile_time_eval():
        return jax.device_put(
            np.array(plain, narrow, copy=True)
        )  # jnp.asarray() would compile a program for each shape


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as a compiled program."""
    return jax.jit(function)


def whole(gradient: Any) -> Any:
    """A gradient as one array."""
    return _dense(gradient)


def take_as_arrays(kind: type, convert: Callable[[Any], Any]) -> None:
    """Let JAX take values of a class as what a function makes of them."""
    canonicalize_value_handlers[kind] = convert


def fresh(array: Any) -> Any:
    """Another array with the same numbers, which no tape knows."""
    with entered(tapes=None):
        return _copied(array)


@functools.partial(jax.jit, inline=True)
def _copied(array: Any) -> Any:
    return jnp.array(array, copy=True)


def total(gradients: Sequence[Any]) -> Any:
    """The sum of several gradients with respect to one variable."""
    held: dict[int, Any] = {}
    for gradient in gradients:
        _add(held, 0, gradient)
    return held[0]


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """The gradient with respect to something that does not matter."""
    return jnp.zeros(shape, dtype)


def stopped(array: Any) -> Any:
    """The same numbers, through which neither a tape nor JAX sees a gradient."""
    with entered(tapes=None):
        return jax.lax.stop_gradient(_copied(array))

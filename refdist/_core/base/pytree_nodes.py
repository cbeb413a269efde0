"""Containers that programs have registered with JAX, as nests: modules of equinox, states of flax, dataclasses.

optree knows nothing of them. Each is opened in Python, into a stand-in that optree can look into, and closed in Python: so no code
of the user's runs below a frame of C++, where a replica could not pause.
"""

import functools
from collections.abc import Sequence
from typing import Any

import optree

from refdist._core.base.jax_facts import loaded, part_names, pytree_registry

_MUTABLE = ("Pytree", "Object", "Module")  # the classes of flax.nnx whose objects are changed in place


def is_node(value: Any) -> bool:
    """Say whether a value is a container that JAX knows and Python does not; without JAX there is none."""
    return loaded() is not None and is_node_type(type(value))


def is_node_type(kind: type) -> bool:
    """The same for a type."""
    return kind in pytree_registry() and _opens(kind)


@functools.cache
def is_mutable(kind: type) -> bool:
    """Say whether objects of a type are modules of flax.nnx and the like, whose parts are replaced in place."""
    return any(one.__module__.startswith("flax.nnx") and one.__name__ in _MUTABLE for one in kind.__mro__)


@functools.cache
def is_flax_variable(kind: type) -> bool:
    """Say whether a type is that of a variable of flax.nnx."""
    return any(one.__name__ == "Variable" and one.__module__.startswith("flax.nnx") for one in kind.__mro__)


class Node:
    """Stands for such a container: its parts, and what is known of it beside them."""

    __slots__ = ("known", "parts")

    def __init__(self, known: "Known", parts: Sequence[Any]) -> None:
        self.known, self.parts = known, tuple(parts)


class Known:
    """The type of a container and what it keeps beside its parts: equal where two containers have the same shape."""

    __slots__ = ("beside", "kind")

    def __init__(self, kind: type, beside: Any) -> None:
        self.kind, self.beside = kind, beside

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Known) or self.kind is not other.kind:
            return False
        try:
            return self.beside is other.beside or bool(self.beside == other.beside)
        except ValueError:  # arrays, of which it cannot be said whether they are equal
            return False

    def __hash__(self) -> int:
        return hash(self.kind)  # what is beside need not be hashable

    def __repr__(self) -> str:
        return self.kind.__name__


@functools.cache
def known_in(namespace: str) -> str:
    """Make a namespace of optree in which stand-ins are known; other users of optree need not know them."""
    namespace = namespace or "refdist.nodes"
    register: Any = optree.register_pytree_node  # whose types know collections only
    register(Node, lambda node: (node.parts, node.known), Node, namespace=namespace)
    return namespace


def opened(value: Any, namespace: str = "") -> Any:
    """Replace every such container in a nest by its stand-in; what None says inside of one is part of its shape."""
    return _opened(value, namespace, inside=False)


def _opened(value: Any, namespace: str, *, inside: bool) -> Any:
    if is_node(value):
        parts, beside = pytree_registry()[type(value)].to_iter(value)
        return Node(Known(type(value), beside), [_opened(part, namespace, inside=True) for part in parts])
    if value is None:
        return _NOTHING if inside else None
    leaves, shape = optree.tree_flatten(value, none_is_leaf=True, namespace=namespace)
    if shape.is_leaf():
        return value
    return optree.tree_unflatten(shape, [_opened(leaf, namespace, inside=inside) for leaf in leaves])


def closed(value: Any, namespace: str = "") -> Any:
    """Undo `opened`, with whatever parts the stand-ins have now."""
    leaves, shape = optree.tree_flatten(value, is_leaf=_is_stand_in, none_is_leaf=True, namespace=namespace)
    return optree.tree_unflatten(shape, [_closed(leaf, namespace) if type(leaf) is Node else leaf for leaf in leaves])


def _closed(node: Node, namespace: str) -> Any:
    if node.known is _NOTHING.known:
        return None
    parts = [closed(part, namespace) for part in node.parts]
    return pytree_registry()[node.known.kind].from_iter(node.known.beside, parts)


def named_parts(value: Any) -> list[tuple[Any, Any]]:
    """The parts of such a container, without those that are None, each under the name that JAX has for it."""
    parts, _ = pytree_registry()[type(value)].to_iter(value)
    return [(name, part) for name, part in zip(part_names(value), parts, strict=True) if part is not None]


def _is_stand_in(value: Any) -> bool:
    return type(value) is Node


_NOTHING = Node(Known(type(None), None), ())


@functools.cache
def _opens(kind: type) -> bool:
    """Say whether a type that JAX knows is a nest here: not what optree knows, nor what replicas would change in place."""
    if issubclass(kind, (tuple, list, dict, type(None))):
        return False
    return not is_mutable(kind)

"""Flattening, packing and mapping nested tuples, lists and dicts, and the containers that programs register with JAX."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import optree

from refdist._core.base.pytree_nodes import closed, is_node, is_node_type, known_in, named_parts, opened

CONTAINERS: tuple[type[Any], ...] = (tuple, list, dict)
"""The containers of Python that count as nests."""


def is_container(value: Any) -> bool:
    """Say whether a value is one of these, or a container that JAX knows."""
    return isinstance(value, CONTAINERS) or is_node(value)


def is_nested(structure: Any) -> bool:
    """Say whether a value is a container that the functions of this module look into.

    >>> is_nested([1]), is_nested(1), is_nested(None)
    (True, False, False)
    """
    return is_node(structure) or not optree.tree_is_leaf(structure, none_is_leaf=True)


class OpenedShape:
    """The shape of a nest that has containers of JAX in it: that of the nest with their stand-ins."""

    __slots__ = ("_namespace", "_shape")

    def __init__(self, shape: Any, namespace: str) -> None:
        self._shape, self._namespace = shape, namespace

    @property
    def num_leaves(self) -> int:
        """How many leaves there are."""
        return self._shape.num_leaves

    def is_leaf(self) -> bool:
        """Say that it is not the shape of a single leaf."""
        return False

    def flatten_up_to(self, structure: Any) -> list[Any]:
        """What another structure has in the places of the leaves."""
        parts = self._shape.flatten_up_to(opened(structure, self._namespace))
        return [closed(part, self._namespace) for part in parts]

    def packed(self, leaves: Iterable[Any]) -> Any:
        """A structure of this shape, with these leaves."""
        return closed(optree.tree_unflatten(self._shape, leaves), self._namespace)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenedShape) and self._shape == other._shape

    def __hash__(self) -> int:
        return hash(self._shape)

    def __str__(self) -> str:
        return str(self._shape)


def taken_apart(
    structure: Any, is_leaf: Callable[[Any], bool] | None = None, *, namespace: str = ""
) -> tuple[list[Any], Any]:
    """The leaves of a structure, and its shape, which `put_together` takes; shapes can be compared and hashed.

    Args:
        is_leaf: says which containers count as leaves; it must not pause.
    """
    leaves, shape = optree.tree_flatten(structure, is_leaf, none_is_leaf=True, namespace=namespace)
    # Types instead of leaves: there may be thousands of leaves, but only a few types.
    if not any(map(is_node_type, set(map(type, leaves)))):
        return leaves, shape
    whole, known = opened(structure, namespace), known_in(namespace)
    leaves, shape = optree.tree_flatten(whole, is_leaf, none_is_leaf=True, namespace=known)
    return leaves, OpenedShape(shape, namespace)


def put_together(shape: Any, leaves: Iterable[Any]) -> Any:
    """A structure of a shape, with these leaves."""
    return shape.packed(leaves) if type(shape) is OpenedShape else optree.tree_unflatten(shape, leaves)


def flatten(structure: Any) -> list[Any]:
    """List the leaves of a structure, dicts in the order of their sorted keys.

    >>> flatten({"b": [2, 3], "a": (1, None)})
    [1, None, 2, 3]
    """
    return taken_apart(structure)[0] if is_container(structure) else [structure]


def named_leaves(structure: Any, place: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves of a structure in the order of `flatten`, each with the keys, numbers and attributes that lead to it.

    >>> named_leaves({"b": [2, 3], "a": 1})
    [(('a',), 1), (('b', '0'), 2), (('b', '1'), 3)]
    """
    if is_node(structure):
        pairs = named_parts(structure)
    elif optree.tree_is_leaf(structure, none_is_leaf=True):
        return [(place, structure)]
    else:
        parts, _, entries, _ = optree.tree_flatten_one_level(structure, none_is_leaf=True)
        fields = getattr(structure, "_fields", map(str, entries))
        pairs = list(zip(entries if isinstance(structure, dict) else fields, parts, strict=True))
    return [found for name, part in pairs for found in named_leaves(part, (*place, name))]


def map_structure(function: Callable[..., Any], *structures: Any) -> Any:
    """Apply a function to the leaves of structures of the same shape, and keep that shape.

    >>> map_structure(lambda a, b: a + b, {"x": 1}, {"x": 2})
    {'x': 3}
    """
    if not structures:
        raise ValueError("map_structure() got no structure; expected at least one. Pass one after the function.")
    if not any([is_container(structure) for structure in structures]):
        return function(*structures)
    leaves, shape = taken_apart(structures[0])
    columns = [leaves, *(shape.flatten_up_to(structure) for structure in structures[1:])]
    # Called from Python, not by optree: a replica that pauses inside its C++ code would crash the process.
    return put_together(shape, [function(*row) for row in zip(*columns, strict=True)])


def pack_sequence_as(structure: Any, flat_sequence: Iterable[Any]) -> Any:
    """Pack a flat sequence of leaves into the shape of a structure.

    >>> pack_sequence_as({"x": 0, "y": [0]}, [1, 2])
    {'x': 1, 'y': [2]}
    """
    leaves = list(flat_sequence)
    shape = taken_apart(structure)[1]
    if shape.num_leaves != len(leaves):
        raise ValueError(
            f"pack_sequence_as() got {len(leaves)} leaves; expected {shape.num_leaves}, as many as the structure has. "
            f"Flatten a structure of the same shape."
        )
    return put_together(shape, leaves)


def assert_same_structure(first: Any, second: Any) -> None:
    """Raise unless two structures have the same containers around their leaves."""
    shapes = [taken_apart(structure)[1] for structure in (first, second)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"The two structures differ: {shapes[0]} and {shapes[1]}; expected the same containers, lengths and keys. "
            f"Return the same structure from both places."
        )


def shape_of(structure: Any) -> Any:
    """The containers of a structure without its leaves; equal shapes compare equal."""
    return taken_apart(structure)[1] if is_container(structure) else None


def outline(shape: Any) -> str:
    """Print the shape of a structure, the same in every process.

    >>> outline(shape_of({"loss": 1.0, "parts": [2.0, 3.0]}))
    "{'loss': *, 'parts': [*, *]}"
    """
    return str(shape).removeprefix("PyTreeSpec(").split(", NoneIsLeaf")[0]


def transpose(
    structures: Sequence[Any], combine: Callable[[list[Any]], Any], shapes_differ: Callable[[], BaseException]
) -> Any:
    """Turn a list of structures of one shape into one structure of combined leaves."""
    first = structures[0]
    if not is_container(first):
        # Compares types, not values: there may be thousands of structures, but of few types.
        examples = {type(structure): structure for structure in structures}
        if any(map(is_container, examples.values())):
            raise shapes_differ()
        return combine(list(structures))
    flat, shape = taken_apart(first)
    columns = [[leaf] for leaf in flat]
    for structure in structures[1:]:
        leaves, other = taken_apart(structure)
        if other != shape:
            raise shapes_differ()
        for column, leaf in zip(columns, leaves, strict=True):
            column.append(leaf)
    return put_together(shape, [combine(column) for column in columns])

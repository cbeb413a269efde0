"""Flattening, packing and mapping nested tuples, lists and dicts."""

from collections.abc import Callable, Iterable
from typing import Any

import optree

CONTAINERS: tuple[type[Any], ...] = (tuple, list, dict)
"""The containers that count as nests."""


def is_nested(structure: Any) -> bool:
    """Say whether a value is a container that the functions of this module look into.

    >>> is_nested([1]), is_nested(1), is_nested(None)
    (True, False, False)
    """
    return not optree.tree_is_leaf(structure, none_is_leaf=True)


def flatten(structure: Any) -> list[Any]:
    """List the leaves of a structure, dicts in the order of their sorted keys.

    >>> flatten({"b": [2, 3], "a": (1, None)})
    [1, None, 2, 3]
    """
    if not isinstance(structure, CONTAINERS):
        return [structure]
    return optree.tree_leaves(structure, none_is_leaf=True)


def map_structure(function: Callable[..., Any], *structures: Any) -> Any:
    """Apply a function to the leaves of structures of the same shape, and keep that shape.

    >>> map_structure(lambda a, b: a + b, {"x": 1}, {"x": 2})
    {'x': 3}
    """
    if not structures:
        raise ValueError("map_structure() got no structure; expected at least one. Pass one after the function.")
    if not any(isinstance(structure, CONTAINERS) for structure in structures):
        return function(*structures)
    leaves, shape = optree.tree_flatten(structures[0], none_is_leaf=True)
    columns = [leaves, *(shape.flatten_up_to(structure) for structure in structures[1:])]
    # Called from Python, not by optree: a replica that pauses inside its C++ code would crash the process.
    return optree.tree_unflatten(shape, [function(*row) for row in zip(*columns, strict=True)])


def pack_sequence_as(structure: Any, flat_sequence: Iterable[Any]) -> Any:
    """Pack a flat sequence of leaves into the shape of a structure.

    >>> pack_sequence_as({"x": 0, "y": [0]}, [1, 2])
    {'x': 1, 'y': [2]}
    """
    leaves = list(flat_sequence)
    shape = optree.tree_structure(structure, none_is_leaf=True)
    if shape.num_leaves != len(leaves):
        raise ValueError(
            f"pack_sequence_as() got {len(leaves)} leaves; expected {shape.num_leaves}, as many as the structure has. "
            f"Flatten a structure of the same shape."
        )
    return optree.tree_unflatten(shape, leaves)


def assert_same_structure(first: Any, second: Any) -> None:
    """Raise unless two structures have the same containers around their leaves."""
    shapes = [optree.tree_structure(structure, none_is_leaf=True) for structure in (first, second)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"The two structures differ: {shapes[0]} and {shapes[1]}; expected the same containers, lengths and keys. "
            f"Return the same structure from both places."
        )


def shape_of(structure: Any) -> Any:
    """The containers of a structure without its leaves; equal shapes compare equal."""
    return optree.tree_structure(structure, none_is_leaf=True) if isinstance(structure, CONTAINERS) else None


def transpose(
    structures: list[Any], combine: Callable[[list[Any]], Any], shapes_differ: Callable[[], BaseException]
) -> Any:
    """Turn a list of structures of one shape into one structure of combined leaves."""
    first = structures[0]
    if not isinstance(first, CONTAINERS):
        # Compares types, not values: there may be thousands of structures, but of few types.
        if any(issubclass(kind, CONTAINERS) for kind in set(map(type, structures))):
            raise shapes_differ()
        return combine(structures)
    flat, shape = optree.tree_flatten(first, none_is_leaf=True)
    columns = [[leaf] for leaf in flat]
    for structure in structures[1:]:
        leaves, other = optree.tree_flatten(structure, none_is_leaf=True)
        if other != shape:
            raise shapes_differ()
        for column, leaf in zip(columns, leaves, strict=True):
            column.append(leaf)
    return optree.tree_unflatten(shape, [combine(column) for column in columns])

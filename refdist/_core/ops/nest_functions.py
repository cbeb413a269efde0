"""`tf.nest` with its documented keywords: nests whose containers may differ, and tensors that consist of others."""

from collections.abc import Callable, Iterable
from typing import Any

from refdist._core.base import nest


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """List the leaves of a structure, dicts in the order of their sorted keys."""
    leaves = nest.flatten(structure)
    _require_simple(leaves, expand_composites)
    return leaves


def pack_sequence_as(structure: Any, flat_sequence: Iterable[Any], expand_composites: bool = False) -> Any:
    """Pack a flat sequence of leaves into the shape of a structure."""
    _require_simple(nest.flatten(structure), expand_composites)
    return nest.pack_sequence_as(structure, flat_sequence)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raise unless two structures have the same containers, or at least as many parts, around their leaves."""
    if check_types:
        nest.assert_same_structure(nest1, nest2)
    elif _outline(nest1) != _outline(nest2):
        raise ValueError(
            f"The two structures differ: {nest1!r} and {nest2!r}; expected as many parts at each place. Return the same structure "
            f"from both places."
        )
    _require_simple(nest.flatten(nest1), expand_composites)


def map_structure(
    func: Callable[..., Any], *structure: Any, check_types: bool = True, expand_composites: bool = False
) -> Any:
    """Apply a function to the leaves of structures of the same shape, and keep that of the first.

    >>> map_structure(lambda a, b: a + b, [1, 2], (3, 4), check_types=False)
    [4, 6]
    """
    if structure:
        _require_simple(nest.flatten(structure[0]), expand_composites)
    if check_types:
        return nest.map_structure(func, *structure)
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=False)
    rows = zip(*map(nest.flatten, structure), strict=True)
    return nest.pack_sequence_as(structure[0], [func(*row) for row in rows])


def _outline(structure: Any) -> Any:
    """How many parts there are at each place, whatever contains them."""
    if not nest.is_nested(structure):
        return None
    if isinstance(structure, dict):
        return tuple(_outline(structure[key]) for key in sorted(structure))
    return tuple(map(_outline, structure))


def _require_simple(leaves: list[Any], expand_composites: bool) -> None:
    found = (
        [leaf for leaf in leaves if hasattr(leaf, "indices") or hasattr(leaf, "row_splits")]
        if expand_composites
        else []
    )
    if found:
        raise NotImplementedError(
            f"A nest with {type(found[0]).__name__} was given with expand_composites=True; expected tensors. Put its parts into "
            f"the nest, such as its values and indices."
        )

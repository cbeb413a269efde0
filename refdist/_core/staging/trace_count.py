"""How often a function was traced, as its user counts it: once for each kind of input, however many programs that takes."""

from typing import Any, NamedTuple, TypeAlias

Sizes: TypeAlias = "tuple[int | None, ...] | None"
"""A shape, in which None means any size; None is any shape."""


class Signature(NamedTuple):
    """What tells the traces of a function apart."""

    kind: Any  # everything besides shapes; it has to be equal
    shapes: tuple[Sizes, ...]  # of all tensors; it is enough that they fit
    places: tuple[int, ...] = ()  # of the arguments that they belong to; -1 for those of elements


class Traces:
    """The signatures for which a function was traced.

    >>> traces = Traces(relax=True)
    >>> [traces.note(Signature("x", ((size,),))) for size in (1, 2, 3)]
    [True, True, False]

    Args:
        relax: whether a trace for a second shape is one for all shapes that differ in the same places.
    """

    def __init__(self, *, relax: bool) -> None:
        self._relax, self.count = relax, 0
        self._known: dict[Any, list[tuple[Sizes, ...]]] = {}

    def shapes(self, signature: Signature) -> tuple[Sizes, ...]:
        """The shapes of the trace that covers a signature, or of the one that would be made for it."""
        known, shapes = self._known.get(signature.kind, []), signature.shapes
        for one in known:
            if all(map(_fits, shapes, one)):
                return one
        if self._relax:
            for one in known:
                shapes = tuple(map(_common, shapes, one))
        return shapes

    def note(self, signature: Signature) -> bool:
        """Count a trace, unless an earlier one covers it; say whether it counts."""
        known, shapes = self._known.setdefault(signature.kind, []), self.shapes(signature)
        if shapes in known:
            return False
        known.append(shapes)
        self.count += 1
        return True


def _fits(shape: Sizes, known: Sizes) -> bool:
    if known is None:
        return True
    return shape is not None and len(shape) == len(known) and all(map(_fits_size, shape, known))


def _fits_size(size: int | None, known: int | None) -> bool:
    return known is None or size == known


def _common(a: Sizes, b: Sizes) -> Sizes:
    """The narrowest shape that both fit."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))

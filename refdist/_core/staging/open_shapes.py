"""The shapes that a program is written for, as far as the signature of the call says."""

from collections.abc import Mapping, Sequence
from typing import Any

from refdist._core.seam.compiler import Compiler, Spec
from refdist._core.staging.stand_ins import spec_of
from refdist._core.staging.trace_count import Sizes


class OpenShapes:
    """The shapes that a program is written for: a size that the signature leaves open has a name.

    Sizes of one axis that are equal in the call that is traced have one name, such as those of a batch and its labels. If they
    differ in a later call, another program has to be written.
    """

    def __init__(self, compiler: Compiler, *, allowed: bool) -> None:
        self._compiler, self._allowed = compiler, allowed
        self._names: dict[tuple[int, int], str] = {}  # by axis, and the size in the call that is traced
        self._shapes: dict[int, tuple[int | str, ...]] = {}  # by the place of the tensor

    def spec(self, place: int, leaf: Any, declared: Sizes) -> Spec:
        """The spec of what stands for a tensor.

        Args:
            declared: its shape as far as the signature says.
        """
        shape, dtype = spec_of(leaf)
        if not self._allowed or declared is None or len(declared) != len(shape):
            return shape, dtype
        # Programs for tensors without elements are others: what is written for any size may take the first row.
        names = [
            self._name(*pair) if size is None and pair[1] else pair[1]
            for size, pair in zip(declared, enumerate(shape), strict=True)
        ]
        self._shapes[place] = tuple(names)
        return tuple(self._compiler.open_size(one) if isinstance(one, str) else one for one in names), dtype

    @property
    def open(self) -> bool:
        """Whether any size is."""
        return bool(self._names)

    def sizes(self, leaves: Sequence[Any]) -> Mapping[str, int] | None:
        """The sizes of the tensors of a call by their names; None if these do not fit."""
        found: dict[str, int] = {}
        for place, names in self._shapes.items():
            shape = spec_of(leaves[place])[0]
            if len(shape) != len(names):
                return None
            for name, size in zip(names, shape, strict=True):
                known = found.setdefault(name, size) if isinstance(name, str) else name
                if known != size or (isinstance(name, str) and not size):
                    return None
        return found

    def _name(self, axis: int, size: int) -> str:
        return self._names.setdefault((axis, size), f"size{len(self._names)}")

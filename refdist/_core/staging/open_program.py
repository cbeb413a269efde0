"""A program that was written without knowing some sizes: it is made for each of them when it is needed."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import optree

from refdist._core.seam.compiler import Compiler, WrittenProgram
from refdist._core.staging.open_shapes import OpenShapes
from refdist._core.staging.program import Interface, Output, Program


@dataclasses.dataclass(frozen=True)
class OpenProgram:
    """A program that was written for any sizes."""

    compiler: Compiler
    written: WrittenProgram
    interface: Interface
    shapes: OpenShapes

    def at(self, leaves: Sequence[Any]) -> Program | None:
        """The program for the tensors of a call; None if it cannot be made for these."""
        sizes = self.shapes.sizes(leaves)
        if sizes is None:
            return None

        def sized(leaf: Any) -> Any:
            if type(leaf) is not Output:
                return leaf
            shape, dtype = leaf.spec
            declared = tuple(size if isinstance(size, int) else None for size in shape)
            return dataclasses.replace(leaf, spec=(self.compiler.sized_shape(shape, sizes), dtype), declared=declared)

        result = optree.tree_map(sized, self.interface.result, none_is_leaf=True)
        interface = dataclasses.replace(self.interface, result=result)
        return Program(self.compiler, self.compiler.sized(self.written, sizes), interface)

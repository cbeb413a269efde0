"""A program that takes elements from iterators before it runs."""

from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.input.position import Loop
from refdist._core.seam.draft import NeedsPython
from refdist._core.seam.peers import uneven
from refdist._core.staging.argument_kinds import ArgumentKinds
from refdist._core.staging.elements import Elements
from refdist._core.staging.program import Program
from refdist._core.staging.program_cache import ProgramCache
from refdist._core.staging.replica_draft import UnevenReplicas

Write = Callable[[Sequence[Any], Elements], "Program | None"]
"""Writes the program for some arguments and elements; None where only Python can do the work."""


class FedProgram:
    """Takes what its body asked for from iterators, and runs the program for elements of that kind.

    Args:
        leaves: the arguments of the call for which the first program was written.
        elements: what it takes.
    """

    used = False
    enters_nothing = False  # what makes the elements may

    def __init__(self, name: str, leaves: Sequence[Any], elements: Elements, first: Program, write: Write) -> None:
        places = {id(leaf): place for place, leaf in enumerate(leaves)}
        # Those that are no arguments stay the same in all calls, as everything does that a body refers to.
        self._sources: list[int | Loop] = [places.get(id(loop), loop) for loop in elements.sources]
        self.sizes_open = first.sizes_open
        self._last, self._write, self._programs = first, write, ProgramCache(name)
        self._programs.keep(ArgumentKinds(elements.leaves).key, first, leaves)

    def run(self, leaves: Sequence[Any]) -> Any:
        """Run; raise NeedsPython, with nothing taken, where only Python can handle the elements."""
        elements = self._elements(leaves)
        program = self._program(leaves, elements)
        if program is None:
            elements.put_back()
            raise NeedsPython
        return program.run([*leaves, *elements.leaves])

    def outline(self) -> Any:
        """The result, with a spec in the place of each tensor, for the last kind of elements."""
        return self._last.outline()

    def text(self, leaves: Sequence[Any], stage: str) -> str:
        """The program for the next elements, which stay where they are."""
        elements = self._elements(leaves)
        try:
            program = self._program(leaves, elements)
            return (program or self._last).text([*leaves, *elements.leaves], stage)
        finally:
            elements.put_back()

    def _elements(self, leaves: Sequence[Any]) -> Elements:
        return Elements([leaves[source] if isinstance(source, int) else source for source in self._sources])

    def _program(self, leaves: Sequence[Any], elements: Elements) -> Program | None:
        kinds = ArgumentKinds(elements.leaves)
        if kinds.in_python or uneven(elements.leaves):
            return None
        program = self._programs.find(kinds.key)
        if program is ProgramCache.missing:
            try:
                program = self._write(leaves, elements)
            except UnevenReplicas:
                program = None
            except BaseException:
                elements.put_back()
                raise
            self._programs.keep(kinds.key, program, elements.leaves)
            self._last = program or self._last
        return program

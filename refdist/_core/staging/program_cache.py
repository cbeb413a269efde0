"""The programs that a function keeps: a limited number, with a warning about what makes it write so many."""

import collections
import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from refdist._core.base.call_sites import frames_to_program
from refdist._core.base.where import Where
from refdist._core.replicas.values import DistributedValues
from refdist._core.staging.trace_count import Sizes

MOST_KEPT = 64  # a program takes a megabyte or more, and most functions need a handful
OFTEN = 5  # so many programs in a row, none of which was used again, are worth a word
NOTHING_DECLARED: Mapping[int, Sizes] = MappingProxyType({})
_MISSING: Any = object()

Steady: TypeAlias = "tuple[Where | None, int, dict[Any, Kept]]"
"""The place from which the last calls came, the changes in the process until then, and programs by kinds of arguments alone."""

_NOTHING_STEADY: Steady = (None, -1, {})


class Kept(Protocol):
    """A program, or something that has programs of its own."""

    used: bool  # whether it was asked for again since the last look
    sizes_open: bool  # whether it was made for certain sizes only after it was written
    enters_nothing: bool  # when it runs, so that a Ctrl-C cannot leave anything entered

    def run(self, leaves: Sequence[Any]) -> Any:
        """Run it on the arguments of a call."""
        ...

    def outline(self) -> Any:
        """The result, with a spec in the place of each tensor."""
        ...

    def text(self, leaves: Sequence[Any], stage: str) -> str:
        """The program as the compiler has it, before or after it was optimised."""
        ...


class ProgramCache:
    """The programs of one function by the keys of its calls; when there are too many, one that is not in use is dropped."""

    missing = _MISSING

    def __init__(self, name: str, parameters: Sequence[str] = ()) -> None:
        self._name, self._parameters = name, tuple(parameters)
        # The programs that were kept last, and what the inputs were that they were written for.
        self._recent: collections.deque[tuple[Kept | None, tuple[str, ...]]] = collections.deque(maxlen=OFTEN)
        self._told_of_change = False
        self._kept: dict[Any, Kept | None] = {}  # None for what runs in Python
        self._quick: dict[Any, Kept] = {}  # the same for plain tensors, by shorter keys
        self.steady: Steady = _NOTHING_STEADY
        self._told = False

    def find(self, key: Any) -> Any:
        """The program under a key, None where Python has to do the work, or `missing`."""
        program = self._kept.get(key, _MISSING)
        if program is not None and program is not _MISSING:
            program.used = True
        return program

    def find_quickly(self, key: Any) -> Kept | None:
        """The program under a short key, if it was kept under one."""
        program = self._quick.get(key)
        if program is not None:
            program.used = True
        return program

    def keep(
        self, key: Any, program: Kept | None, leaves: Sequence[Any], declared: Mapping[int, Sizes] = NOTHING_DECLARED
    ) -> None:
        """Keep a program, and drop one if there are too many: the oldest that was not used since the last time.

        Args:
            declared: the sizes of inputs of which some are open, so that programs for several sizes are of one trace.
        """
        self._kept[key] = program
        if program is not None and not (self._recent and self._recent[-1][0] is program):
            outlines = (_outline(leaf, declared.get(place)) for place, leaf in enumerate(leaves))
            self._recent.append((program, tuple(outlines)))
            self._warn_of_change()
        if len(self._kept) <= MOST_KEPT:
            return
        if program is not None:
            program.used = (
                True  # it is about to be; if all others are in use, the oldest of them goes, and not this one
            )
        oldest = next(iter(self._kept))
        while (gone := self._kept.pop(oldest)) is not None and gone.used:
            gone.used = False
            self._kept[oldest] = gone
            oldest = next(iter(self._kept))
        self._quick = {key: one for key, one in self._quick.items() if one is not gone}
        self.steady = _NOTHING_STEADY
        if not self._told:
            self._told = True
            self._warn(leaves)

    def keep_quickly(self, key: Any, program: Kept) -> None:
        """Keep a program under a short key too."""
        self._quick[key] = program

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        """Drop all programs."""
        self._kept.clear()
        self._quick.clear()
        self.steady = _NOTHING_STEADY

    def _warn_of_change(self) -> None:
        """Say which input changes where one program after the other is written, and none is used again."""
        *before, (_, now) = self._recent
        if self._told_of_change or len(self._recent) < OFTEN or any(one is not None and one.used for one, _ in before):
            return
        columns = [outlines for _, outlines in self._recent]
        if len(set(map(len, columns))) > 1 or len(set(columns)) < OFTEN:
            return
        changed = [place for place in range(len(now)) if len({outlines[place] for outlines in columns}) > 1]
        if not changed:
            return
        self._told_of_change = True
        named = self._parameters if len(self._parameters) == len(now) else ()
        text = "; ".join(
            f"{named[place] if named else f'input {place}'} was {', '.join(dict.fromkeys(one[place] for one in columns))}"
            for place in changed[:3]
        )
        warnings.warn(
            f"The function {self._name} was traced {OFTEN} times, and no program was used again: {text}; expected few kinds of "
            f"input, because a program is written and compiled for each. Pad or bucket shapes, declare sizes as None in "
            f"input_signature, or pass tensors in place of Python values.",
            RuntimeWarning,
            stacklevel=frames_to_program(),
        )

    def _warn(self, leaves: Sequence[Any]) -> None:
        kinds = ", ".join(_outline(leaf) for leaf in leaves[:4]) + (", ..." if len(leaves) > 4 else "")
        warnings.warn(
            f"The function {self._name} was called with more than {MOST_KEPT} kinds of input, the last one {kinds or 'none'}; "
            f"expected few, because a program is written and compiled for each, and {MOST_KEPT} are kept. Pass tensors of few "
            f"shapes (pad them, or batch with drop_remainder=True), and tensors in place of Python numbers and new objects.",
            RuntimeWarning,
            stacklevel=frames_to_program(),
        )


def _outline(leaf: Any, sizes: Sizes = None) -> str:
    if isinstance(leaf, DistributedValues) and leaf.spec is not None:
        shape, dtype = leaf.spec
    else:
        shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if sizes is not None:
        shape = sizes
    return f"{dtype}[{','.join(map(str, shape))}]" if shape is not None else repr(leaf)[:40]

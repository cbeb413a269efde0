"""Ranges whose length a tensor says: loops go over them; all other uses make the function run in Python."""

from typing import Any, Never

from refdist._core.autograph.loops import Turns
from refdist._core.autograph.state import as_tensor
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.operators import add_operators
from refdist._core.base.where import HERE
from refdist._core.compilers.control_flow import number_of_steps
from refdist._core.seam.draft import NeedsPython


class UnknownLength(ValueError):
    """Says that the length of a range is not known before the program runs."""


class SymbolicRange:
    """What `tf.range(n)` is in a function, where n is a tensor without a value yet."""

    def __init__(self, start: Any, limit: Any, delta: Any, dtype: Any = None) -> None:
        bounds = [as_tensor(one) for one in (start, limit, delta)]
        kind = max((one.dtype for one in bounds), key=lambda own: (own.kind == "f", own.itemsize))
        self.dtype = numpy_dtype(dtype) if dtype is not None else kind
        self._start, self._limit, self._delta = (one.astype(self.dtype) for one in bounds)

    def turns(self, limit: Any) -> Turns:
        """How a loop goes over it."""
        count = number_of_steps(self._start, self._limit, self._delta)
        return Turns(
            count,
            limit=None if limit is None else int(limit),
            element=lambda turn, _: self._start + turn.astype(self.dtype) * self._delta,
        )

    def __iter__(self) -> Never:
        error = UnknownLength(
            "A range with a length that is not known before the program runs was gone through; expected `for i in tf.range(n):` in "
            "a function that is converted. Write such a loop, or use a known number."
        )
        draft = HERE.get().draft
        if draft is not None:
            draft.refuse(error, self._limit)
        raise error

    def __array__(self, dtype: Any = None, copy: Any = None) -> Never:
        raise NeedsPython  # a compiled program knows all shapes; Python does not have to

    def __len__(self) -> Never:
        raise NeedsPython

    def __getattr__(self, name: str) -> Never:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NeedsPython


def _computed(range_: SymbolicRange) -> Never:
    return range_.__array__()


add_operators(SymbolicRange, _computed)

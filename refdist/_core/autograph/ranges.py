"""Ranges whose length a tensor says: they can be looped over, and nothing else."""

from typing import Any, Never

from refdist._core.autograph.loops import Turns
from refdist._core.autograph.state import as_tensor
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.operators import add_operators
from refdist._core.compilers.control_flow import number_of_steps


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
        raise self._unknown("was gone through")

    def __len__(self) -> Never:
        raise self._unknown("was asked for its length")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Never:
        raise self._unknown("was to become a tensor")

    def __getattr__(self, name: str) -> Never:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._unknown(f"was asked for {name}")

    @staticmethod
    def _unknown(what: str) -> UnknownLength:
        return UnknownLength(
            f"A range with a length that is not known before the program runs {what}; expected `for i in tf.range(n):`, because "
            f"a compiled program knows all shapes. Loop over it, or make a longer range and a mask."
        )


def _computed(range_: SymbolicRange) -> Never:
    return range_.__array__()


add_operators(SymbolicRange, _computed)

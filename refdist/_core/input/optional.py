"""The next element, or none at the end: `get_next` and `get_next_as_optional` of iterators."""

from collections.abc import Sequence
from typing import Any

from refdist._core.base.errors import OutOfRangeError
from refdist._core.base.where import HERE
from refdist._core.input.position import Loop
from refdist._core.replicas.specs import spec_of
from refdist._core.seam.draft import leave_draft_for_data


class Optional:
    """A value that may be missing.

    >>> Optional.empty().has_value(), Optional.from_value(3).get_value()
    (False, 3)
    """

    def __init__(self, values: Sequence[Any], spec: Any = None) -> None:
        self._values, self._spec = values, spec

    @classmethod
    def from_value(cls, value: Any) -> "Optional":
        """Make one that has a value."""
        return cls([value])

    @classmethod
    def empty(cls, element_spec: Any = None) -> "Optional":
        """Make one that has none."""
        return cls([], element_spec)

    @property
    def element_spec(self) -> Any:
        """Shape and dtype of the value."""
        return spec_of(self._values[0]) if self._values else self._spec

    def has_value(self, name: Any = None) -> bool:
        """Say whether there is a value."""
        return bool(self._values)

    def get_value(self, name: Any = None) -> Any:
        """Return the value, or raise an OutOfRangeError if there is none."""
        if not self._values:
            raise OutOfRangeError("The box is empty; expected a value. Ask has_value() first.")
        return self._values[0]


class AskedForNext(Loop):
    """A loop whose elements are asked for by the documented methods, too."""

    def get_next(self, name: Any = None) -> Any:
        """Return the next element, or raise an OutOfRangeError at the end."""
        if HERE.get().draft is not None:
            return next(self)
        mark = self._at[1]
        try:
            return next(self)
        except StopIteration as end:
            raise OutOfRangeError(
                "The iterator is at its end; expected a further element. Make a new one with iter()."
            ) from end
        except BaseException:
            self._settle(mark)
            raise

    def get_next_as_optional(self) -> Optional:
        """Return the next element as an Optional, which is empty at the end."""
        leave_draft_for_data()  # whether it is empty is known only when a program runs
        mark = self._at[1]
        try:
            return Optional([next(self)])
        except StopIteration:
            return Optional([])
        except BaseException:
            self._settle(mark)
            raise


def get_next_as_optional(iterator: Any) -> Optional:
    """Return the next element of an iterator as an Optional."""
    return iterator.get_next_as_optional()

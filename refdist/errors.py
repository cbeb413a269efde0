"""The error types that are not Python's own."""

from refdist.lockstep import MeetingError

__all__ = ["DataLossError", "MeetingError", "OutOfRangeError"]


class DataLossError(ValueError):
    """A file is damaged."""


class OutOfRangeError(IndexError):
    """An iterator has nothing more to give."""

"""The error types that are not Python's own."""

from refdist.lockstep import MeetingError

__all__ = ["DataLossError", "MeetingError", "NotFoundError", "OutOfRangeError"]


class DataLossError(ValueError):
    """A file is damaged."""


class NotFoundError(LookupError):
    """What was asked for is not there, such as a TPU."""


class OutOfRangeError(IndexError):
    """An iterator has nothing more to give."""

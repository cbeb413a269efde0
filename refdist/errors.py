"""The error types that are not Python's own."""

from refdist.lockstep import MeetingError

__all__ = ["MeetingError"]

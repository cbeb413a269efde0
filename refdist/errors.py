"""`tf.errors`: the error types that are not Python's own."""

from refdist._core.base.errors import DataLossError, MeetingError, NotFoundError, OutOfRangeError

__all__ = ["DataLossError", "MeetingError", "NotFoundError", "OutOfRangeError"]

"""Error types beyond Python's own."""


class MeetingError(RuntimeError):
    """Replicas that should meet are at different calls, or one of them has ended."""


class DataLossError(ValueError):
    """A file is damaged."""


class NotFoundError(LookupError):
    """What was asked for is not there, such as a TPU."""


class OutOfRangeError(IndexError):
    """An iterator has no more elements."""

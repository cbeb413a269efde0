"""The error types that are not Python's own."""


class MeetingError(RuntimeError):
    """Replicas that should meet are in different places, or one of them has gone."""


class DataLossError(ValueError):
    """A file is damaged."""


class NotFoundError(LookupError):
    """What was asked for is not there, such as a TPU."""


class OutOfRangeError(IndexError):
    """An iterator has nothing more to give."""

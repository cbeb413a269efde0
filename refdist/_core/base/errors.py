"""Error types beyond Python's own. Each is also the error of Python that says the same, so that both can be caught."""

from typing import Any


class MeetingError(RuntimeError):
    """Replicas that should meet are at different calls, or one of them has ended."""


class NumericsError(ArithmeticError):
    """A reduction has overflowed, or has got numbers that are not finite; told where `use(..., numerics="check")` asks for it."""


class NumericsWarning(UserWarning):
    """Rounding has lost a large part of what a reduction adds up."""


class HostEffectWarning(UserWarning):
    """Several replicas have changed one Python object, or several workers one file; told where `use(..., watch="python")` asks."""


class RandomnessWarning(UserWarning):
    """One line has drawn the same numbers on several replicas; told where `use(..., randomness="check")` asks for it."""


class OpError(Exception):
    """What all documented errors have in common.

    >>> error = NotFoundError("There is no such file.")
    >>> error.message, isinstance(error, FileNotFoundError), isinstance(error, LookupError)
    ('There is no such file.', True, True)
    """

    error_code = 2

    def __init__(self, *args: Any) -> None:
        # The documented form is (node_def, op, message); there are no nodes here, so that a message is enough.
        self.node_def, self.op, self.message = args[:3] if len(args) >= 3 else (None, None, args[0] if args else "")
        super().__init__(self.message)

    def __str__(self) -> str:
        return str(self.message)


class CancelledError(OpError):
    """What was going on has been cancelled."""

    error_code = 1


class UnknownError(OpError):
    """Nobody knows more."""


class InvalidArgumentError(OpError, ValueError):
    """An argument has a value, a shape or a dtype that is not taken."""

    error_code = 3


class DtypeError(InvalidArgumentError, TypeError):
    """An argument has a dtype that is not taken: for TensorFlow an invalid argument, and in a function a TypeError."""


class DeadlineExceededError(OpError, TimeoutError):
    """It took too long."""

    error_code = 4


class NotFoundError(OpError, LookupError, FileNotFoundError):
    """What was asked for is not there, such as a TPU or a file."""

    error_code = 5


class AlreadyExistsError(OpError, FileExistsError):
    """What was to be made is there already."""

    error_code = 6


class PermissionDeniedError(OpError, PermissionError):
    """It is not allowed."""

    error_code = 7


class ResourceExhaustedError(OpError, MemoryError):
    """There is no room left."""

    error_code = 8


class FailedPreconditionError(OpError, RuntimeError):
    """Something else has to be done before."""

    error_code = 9


class AbortedError(OpError):
    """What was going on has been given up, for example because others did something at the same time."""

    error_code = 10


class OutOfRangeError(OpError, IndexError):
    """An iterator has no more elements."""

    error_code = 11


class UnimplementedError(OpError, NotImplementedError):
    """There is no such thing yet."""

    error_code = 12


class InternalError(OpError):
    """Something is broken inside."""

    error_code = 13


class UnavailableError(OpError):
    """A worker cannot be reached at present."""

    error_code = 14


class DataLossError(OpError, ValueError):
    """A file is damaged."""

    error_code = 15


class UnauthenticatedError(OpError):
    """Nobody knows who asks."""

    error_code = 16


class WorkerLost(UnavailableError, RuntimeError):
    """A worker has died, or does not come to where the others wait for it."""

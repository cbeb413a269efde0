"""The documented error types are Python's too."""

import pickle

import pytest

import refdist as tf

# What TensorFlow 2.21 has, with its error codes, and the error of Python that says the same.
ERRORS = {
    "AbortedError": (10, Exception),
    "AlreadyExistsError": (6, FileExistsError),
    "CancelledError": (1, Exception),
    "DataLossError": (15, ValueError),
    "DeadlineExceededError": (4, TimeoutError),
    "FailedPreconditionError": (9, RuntimeError),
    "InternalError": (13, Exception),
    "InvalidArgumentError": (3, ValueError),
    "NotFoundError": (5, LookupError, FileNotFoundError),
    "OutOfRangeError": (11, IndexError),
    "PermissionDeniedError": (7, PermissionError),
    "ResourceExhaustedError": (8, MemoryError),
    "UnauthenticatedError": (16, Exception),
    "UnavailableError": (14, Exception),
    "UnimplementedError": (12, NotImplementedError),
    "UnknownError": (2, Exception),
}


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_both_forms_of_except_catch_an_error(name):
    kind, (code, *pythons) = getattr(tf.errors, name), ERRORS[name]

    for caught in (kind, tf.errors.OpError, *pythons):
        with pytest.raises(caught):
            raise kind("It failed.")
    assert (name, code) == (kind.__name__, kind.error_code)


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_an_error_says_its_message_in_both_forms(name):
    kind = getattr(tf.errors, name)

    assert ["It failed."] * 2 == [str(kind("It failed.")), str(kind(None, None, "It failed."))]
    assert "It failed." == kind(None, None, "It failed.").message == kind("It failed.").message
    assert "It failed." == str(pickle.loads(pickle.dumps(kind("It failed."))))


def test_nothing_but_the_documented_errors_and_meetings_is_there():
    ours = {"MeetingError", "WorkerLost", "NumericsError", "NumericsWarning", "HostEffectWarning", "RandomnessWarning"}
    assert {*ERRORS, "OpError", *ours} == {*tf.errors.__all__}

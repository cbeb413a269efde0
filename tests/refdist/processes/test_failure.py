import pytest

from refdist._core.base.errors import DeadlineExceededError, MeetingError, WorkerLost
from refdist._core.processes import failure
from refdist._core.processes.failure import Failure

ALL = {
    "not_met": (failure.not_met(2, "  worker 0: here"), MeetingError, "The 2 workers do not meet"),
    "other_programs": (failure.other_programs("  worker 0: a", "a.py:1"), MeetingError, "different programs at a.py:1"),
    "diverged": (failure.diverged("  worker 0: a"), MeetingError, "have done different things together"),
    "lost": (failure.lost("Worker 1 of 2", "is gone", "  worker 0: here"), WorkerLost, "Worker 1 of 2 is gone, while"),
    "silent": (
        failure.silent("Worker 1 of 2", 11.0, "  worker 0: here"),
        WorkerLost,
        "no sign of life for 11 s, while",
    ),
    "unreachable": (failure.unreachable("Worker 1 of 2", "a\nb"), WorkerLost, "coordination service any more (a);"),
    "forked": (
        failure.forked("Worker 1 of 2"),
        RuntimeError,
        "forked from Worker 1 of 2 was to meet the other workers",
    ),
    "over": (failure.over("Worker 1 of 2"), RuntimeError, "after the end of its program"),
    "too_late": (failure.too_late("Worker 1 of 2", "  worker 0: here"), DeadlineExceededError, "the timeout_seconds"),
    "stuck": (failure.stuck("Worker 1 of 2", 600.0, "  worker 0: here"), WorkerLost, "has not come for 600 s"),
}


@pytest.mark.parametrize("case", list(ALL))
def test_all_workers_raise_the_same_error(case):
    found, kind, words = ALL[case]
    own, others = found.error(), Failure.of(found.encoded()).error()

    assert (kind, kind) == (type(own), type(others))
    assert str(own) == str(others)
    assert words in str(own)
    assert "xpected" in str(own)

"""The ways in which a cluster can fail, and what has to come of each."""

import dataclasses
from collections.abc import Mapping

SECONDS = 15.0
START_LIMIT = 5.0


@dataclasses.dataclass(frozen=True)
class Way:
    """One way of failing."""

    name: str
    title: str
    kind: str  # of the error that the others raise; several if separated by "|"
    everyone: bool = False  # whether the odd one raises it, too
    seconds: float = SECONDS  # within which all have to raise it
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)


_STALL = {"REFDIST_STALL_SECONDS": "2", "REFDIST_STALL_LIMIT": "5"}

WHILE_RUNNING = (
    Way("killed-staged", "SIGKILL in a staged step", "WorkerLost"),
    Way("killed-between", "SIGKILL between steps", "WorkerLost"),
    Way("killed-eager", "SIGKILL in an eager exchange", "WorkerLost"),
    Way("killed-joining", "an end before it has joined", "WorkerLost"),
    Way("stopped", "SIGSTOP", "WorkerLost"),
    Way("exception", "an exception of Python", "WorkerLost"),
    Way("left", "os._exit(3)", "WorkerLost"),
    Way("left-well", "os._exit(0)", "WorkerLost|MeetingError"),
    Way("segfault", "a segmentation fault", "WorkerLost"),
    Way("early-end", "an early end of the program", "WorkerLost|MeetingError"),
    Way("other-program", "another program of equal shapes", "MeetingError", everyone=True),
    Way("other-shape", "another shape in a staged step", "MeetingError|ValueError", everyone=True),
    Way("other-shape-eager", "another shape in an eager exchange", "MeetingError|ValueError", everyone=True),
    Way("other-verb", "a sum against a gather, staged", "MeetingError", everyone=True),
    Way("other-verb-eager", "a sum against a gather, eager", "MeetingError", everyone=True),
    Way("skipped", "one step skipped, the same program", "MeetingError", everyone=True),
    Way("endless", "an endless loop (stall_limit of 5 s)", "WorkerLost", settings=_STALL),
)

SLOW = Way("slow", "a slow worker (stall_seconds of 2 s)", "", settings={"REFDIST_STALL_SECONDS": "2"})

OF_THE_LAUNCHER = (
    Way("SIGINT", "Ctrl-C", ""),
    Way("SIGTERM", "SIGTERM to the launcher", ""),
    Way("SIGKILL", "SIGKILL of the launcher", ""),
)

AT_THE_START = tuple(
    Way(name, title, "WorkerLost|RuntimeError", everyone=True, seconds=START_LIMIT + 2)
    for name, title in (
        ("missing", "a worker that does not start"),
        ("wrong-address", "a worker with a wrong address of worker 0"),
        ("twice", "two workers of one index"),
        ("port-in-use", "a port in use"),
        ("jax-started", "JAX started before"),
        ("disagreeing", "TF_CONFIGs that disagree"),
    )
)

ALL = (*WHILE_RUNNING, SLOW, *OF_THE_LAUNCHER, *AT_THE_START)

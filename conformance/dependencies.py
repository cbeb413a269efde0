"""Which behaviors the others build on: where one of these is broken, what needs it is not run.

So a `run` that calls no function shows as one failure, and not as sixty. The table is by area and short on purpose: a
behavior belongs here only if hardly anything else of the area can hold without it.
"""

from collections.abc import Mapping
from types import MappingProxyType

PREREQUISITES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "SCOPE": ("SCOPE-02",),  # the strategy is current in its scope
        "CTX": ("RUN-02", "CTX-01"),  # the function of run sees its replica context
        "VAR": ("SCOPE-02", "VAR-02"),  # a variable has a copy for each replica
        "RUN": ("RUN-02",),  # every replica runs the function
        "FUNC": ("RUN-02", "FUNC-01"),  # a decorated function can be run
        "REDUCE": ("RUN-02", "REDUCE-04"),  # SUM without axis adds
        "LOCAL": ("RUN-02",),
        "VALUES": ("VALUES-03",),  # there is a value for each replica
        "DATASET": ("DATASET-04",),  # what is distributed can be iterated
        "DATAFN": ("DATAFN-07",),  # each replica takes one batch
        "NUMPY": ("NUMPY-04",),  # a dataset of the arrays is returned
        "ITER": ("ITER-04",),  # a global batch is divided
        "V1RUN": ("V1RUN-04",),  # eager experimental_run executes at once
        "LOGICAL": ("RUN-02",),
        "ONE": ("RUN-02",),
        "MIRROR": ("RUN-02",),
        "CENTRAL": ("RUN-02",),
    }
)


def prerequisites(id: str) -> tuple[str, ...]:
    """Return the ids of what a behavior needs; one that is itself needed in its area needs only those named before it.

    >>> prerequisites("REDUCE-10"), prerequisites("REDUCE-04"), prerequisites("RUN-02")
    (('RUN-02', 'REDUCE-04'), ('RUN-02',), ())
    """
    needed = PREREQUISITES.get(id.rpartition("-")[0], ())
    return needed[: needed.index(id)] if id in needed else needed

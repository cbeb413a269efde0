"""Which behaviors the others build on: if one of these is broken, what needs it is not run.

So a `run` that forgets a replica shows as one failure, not as a hundred. The table is by area, and short on purpose: what
is left out is not checked, so a behavior belongs here only if most of the area breaks with it.
`python -m conformance faults --others all -k RUN-02` shows how much does.
"""

from collections.abc import Mapping
from types import MappingProxyType

RUNS = "RUN-02"  # every replica runs the function once, with its arguments
ADDS = "REDUCE-04"  # SUM without axis adds element by element
SHARES = "DATASET-09"  # the batch of a dataset is the global batch

PREREQUISITES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "CTX": (RUNS,),
        "RUN": (RUNS,),
        "FUNC": (RUNS,),
        "REDUCE": (RUNS, ADDS),
        "LOCAL": (RUNS,),
        "DATASET": (SHARES,),
        "V1RUN": (RUNS,),
        "LOGICAL": (RUNS,),
        "MIRROR": (RUNS,),
        "CENTRAL": (RUNS,),
    }
)


def prerequisites(id: str) -> tuple[str, ...]:
    """Return the ids that a behavior needs; one that its area needs depends only on those listed before it.

    >>> prerequisites("REDUCE-10"), prerequisites("REDUCE-04"), prerequisites("RUN-02")
    (('RUN-02', 'REDUCE-04'), ('RUN-02',), ())
    """
    needed = PREREQUISITES.get(id.rpartition("-")[0], ())
    return needed[: needed.index(id)] if id in needed else needed

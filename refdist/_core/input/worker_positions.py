"""The positions of one loop on all workers, as a checkpoint has them that one worker writes and every worker restores."""

import json
from typing import Any

from refdist._core.input.position import State, require_position
from refdist._core.input.replica_batches import StepSource

_ALL = "of_workers"


def everybodys(own: State, source: StepSource) -> State:
    """The position of a loop in a form that holds on every worker.

    Where all workers read the same data, it is this worker's own, and holds for any number of workers. Otherwise each worker
    has a part of the data and a position in it, and they are put together.
    """
    if source.shared:
        return own
    states = [json.loads(text) for text in source.worker.of_each("the position of an iterator", json.dumps(own))]
    return {_ALL: states} if len(states) > 1 else own


def own_part(saved: Any, source: StepSource) -> State | None:
    """This worker's position among those saved; None if that is the beginning of its data."""
    states = saved[_ALL] if isinstance(saved, dict) and list(saved) == [_ALL] else [saved]
    states, worker = [require_position(state) for state in states], source.worker
    if len(states) > 1 and len(states) == worker.pipelines and not source.shared:
        return states[worker.index]
    # A part of the data that the pipeline tells is compared with that of the position when it is restored.
    if len(states) == 1 and (source.shared or any(stage.share for stage in source.stage.walk())):
        return states[0]
    if not any(state["consumed"] or state.get("samples") for state in states):
        return None
    now = "this loop has one position for all of them" if source.shared else f"there are {worker.pipelines} workers"
    raise ValueError(
        f"The checkpoint has the positions of {len(states)} worker(s), each in its own part of the data, and now {now}; expected "
        f"as many workers, because which sample went to which worker is known to them only. Start {len(states)} worker(s) with "
        f"the same dataset, or distribute it with experimental_distribute_dataset() and AutoShardPolicy.DATA, whose positions "
        f"hold for any number of workers."
    )
